package imagestore_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/imagestore"
)

// many puts 2,500 images and a thumbnail.
func many(t *testing.T, s *imagestore.Store) (shas []string) {
	t.Helper()
	const each = 250
	shas = make([]string, 10*each)
	together(t, 10, func(worker int) error {
		for i := worker * each; i < (worker+1)*each; i++ {
			data, sha := image(uint64(i), 10+i%7)
			shas[i] = sha
			if err := put(t.Context(), s, data, sha); err != nil {
				return err
			}
		}
		return s.PutThumbnail(t.Context(), shas[worker*each], []byte("small"))
	})
	slices.Sort(shas)
	return shas
}

// requireAll asserts that each image is listed once, in order, and each thumbnail.
func requireAll(t *testing.T, s *imagestore.Store, shas []string) (others int) {
	t.Helper()
	before := time.Now().Add(-time.Hour)
	objects, others := list(t, s)
	var images []string
	thumbnails := 0
	for _, o := range objects {
		require.True(t, o.Written.After(before))
		require.Equal(t, time.UTC, o.Written.Location())
		if o.Thumbnail {
			require.EqualValues(t, 5, o.Bytes)
			require.Contains(t, shas, o.SHA256)
			thumbnails++
			continue
		}
		require.GreaterOrEqual(t, o.Bytes, int64(10))
		images = append(images, o.SHA256)
	}
	require.Equal(t, shas, images)
	require.Equal(t, 10, thumbnails)
	return others
}

func TestList(t *testing.T) {
	t.Parallel()

	t.Run("ReadsABucketPageByPage", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		shas := many(t, s)
		var pages atomic.Int64
		server.on(func(_ http.ResponseWriter, r *http.Request) {
			require.True(t, r.URL.Query().Has("list-type"))
			pages.Add(1)
		})
		require.Zero(t, requireAll(t, s, shas))
		require.EqualValues(t, 3, pages.Load())
	})

	t.Run("LeavesOthersInABucketAlone", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		names := strangers(sha)
		for _, name := range names {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/"+bucket+"/"+name, strings.NewReader("theirs"))
			require.NoError(t, err)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusOK, answer.StatusCode)
		}
		objects, others := list(t, s)
		require.Len(t, objects, 1)
		require.Equal(t, len(names), others)
		remove(t, s, sha)
		objects, others = list(t, s)
		require.Empty(t, objects)
		require.Equal(t, len(names), others)
	})

	t.Run("ReadsADirectoryAndLeavesOthersAlone", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := open(t, dir)
		shas := many(t, s)
		require.Zero(t, requireAll(t, s, shas))
		names := strangers(shas[0])
		for _, name := range names {
			path := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("theirs"), 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "lost+found", "2"), nil, 0o600)) // a folder counts once
		require.Equal(t, len(names), requireAll(t, s, shas))
		remove(t, s, shas[0])
		for _, name := range names {
			require.FileExists(t, filepath.Join(dir, filepath.FromSlash(name)))
		}
	})

	t.Run("TellsWhatAKilledProcessHasLeft", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := open(t, dir)
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		key := sha[:2] + "/" + sha[2:4] + "/" + sha
		left := []string{
			key + ".18a5c1d2e3f40516.tmp",
			"mosey-check-" + strings.Repeat("A2", 13),
			"mosey-check-" + strings.Repeat("7Z", 13) + ".18a5c1d2e3f40516.tmp",
			"thumbnails/" + key + ".jpg.18a5c1d2e3f40516.tmp",
		}
		for _, name := range left {
			path := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("left"), 0o600))
		}
		objects, others := list(t, s)
		require.Zero(t, others)
		require.Len(t, objects, 1+len(left))
		for _, o := range objects {
			if o.Leftover {
				require.EqualValues(t, 4, o.Bytes)
				gone, err := s.Delete(t.Context(), o)
				require.NoError(t, err)
				require.True(t, gone)
			}
		}
		objects, _ = list(t, s)
		require.Len(t, objects, 1)
		requireStored(t, s, data, sha)
	})

	t.Run("LeavesAloneWhatWasWrittenSince", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := open(t, dir)
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		path := filepath.Join(dir, sha[:2], sha[2:4], sha)
		old := time.Now().Add(-2 * time.Hour)
		require.NoError(t, os.Chtimes(path, old, old))
		objects, _ := list(t, s)
		require.NoError(t, put(t.Context(), s, data, sha))
		gone, err := s.Delete(t.Context(), objects[0])
		require.NoError(t, err)
		require.False(t, gone)
		requireStored(t, s, data, sha)
	})

	t.Run("EndsWhereItsReaderDoes", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			for i := range 3 {
				data, sha := image(uint64(i), 10)
				require.NoError(t, put(t.Context(), s, data, sha))
			}
			enough := errors.New("enough")
			seen := 0
			_, err := s.List(t.Context(), func(imagestore.Object) error {
				seen++
				return enough
			})
			require.Equal(t, enough, err)
			require.Equal(t, 1, seen)
		})
	})
}

// strangers are keys that are not ours, some of them nearly.
func strangers(sha string) []string {
	a, b := sha[:2], sha[2:4]
	return []string{
		"README",
		"lost+found/1",
		sha,
		"zz/zz/" + sha,
		a + "/" + sha,
		a + "/" + b + "/" + sha + ".18a.tmp",
		a + "/" + b + "/" + sha + ".98a5c1d2e3f40516.tmp", // nobody's time
		a + "/" + b + "/" + sha + ".18a5c1d2e3f4051G.tmp",
		a + "/" + b + "/" + sha + ".18a5c1d2e3f40516.tmp.gz",
		a + "/" + b + "/" + sha + ".jpg.18a5c1d2e3f40516.tmp",
		sha + ".18a5c1d2e3f40516.tmp",
		"notes.18a5c1d2e3f40516.tmp",
		"thumbnails/" + a + "/" + b + "/" + sha + ".18a5c1d2e3f40516.tmp",
		"mosey-check-",
		"mosey-check-list.txt",
		"mosey-check-" + strings.Repeat("a", 26),
		"mosey-check-" + strings.Repeat("A", 25),
		a + "/mosey-check-" + strings.Repeat("A", 26),
		a + "/" + b + "/" + strings.ToUpper(sha) + ".",
		a + "/zz/" + sha,
		"thumbnails/" + a + "/" + b + "/" + sha,
		"thumbnails/" + sha + ".jpg",
		"thumbnails/" + a + "/" + b + "/" + sha + ".png",
	}
}
