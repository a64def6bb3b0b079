package archive_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/test/bucket"
	"github.com/mosey-web/mosey/test/wait"
)

func objectsOf(t *testing.T, b *bucket.Bucket) *imagestore.Files {
	t.Helper()
	store, err := imagestore.Open(t.Context(), b.Anonymous())
	require.NoError(t, err)
	return &imagestore.Files{Store: store, Prefix: "warc/"}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return paths
}

// bucketed archives pages in small files of a bucket, and has end close the archive.
func bucketed(t *testing.T, dir string, objects archive.Objects, end func(*archive.Archive)) (rows, string) {
	t.Helper()
	url := site(t)
	a, _ := open(t, archive.Config{Dir: dir, Bucket: objects, MaxFileBytes: 3000, Logger: slog.New(slog.DiscardHandler)})
	index := rows{}
	for range 4 {
		x, _ := get(t, url+"/random/1000", nil)
		at, err := a.Write(x)
		require.NoError(t, err)
		index[url] = append(index[url], report.ArchivedResponse{URL: x.URL, StatusCode: 200, Archived: at})
	}
	end(a)
	return index, url
}

// An archive in a bucket has the same records as one in a directory. Its files leave the directory.
func TestBucket(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), bucket.Start(t)
	objects := objectsOf(t, b)
	place := archive.Bucket{Objects: objects}
	index, url := bucketed(t, dir, objects, func(a *archive.Archive) { require.NoError(t, a.Close(t.Context())) })
	require.Empty(t, names(t, dir))
	stored, err := objects.Names(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(stored), 1)
	require.Empty(t, verifyIn(t, place, index))
	var packed bytes.Buffer
	n, err := archive.WriteWACZ(t.Context(), place, index, nil, "Title", "Mosey", &packed)
	require.NoError(t, err)
	require.Equal(t, 4, n)

	first := &index[url][0]
	require.NoError(t, archive.Erase(t.Context(), place, first.Archived.File, []crawl.Archived{first.Archived}))
	require.Len(t, verifyIn(t, place, index), 1, "the others keep their places")
	for _, at := range []crawl.Archived{
		{File: "nothing" + archive.Suffix, Length: 10}, {File: first.Archived.File, Offset: 1 << 30, Length: 10},
	} {
		err := archive.Read(t.Context(), place, at, nil)
		require.ErrorIs(t, err, crawl.ErrNotFound)
		require.ErrorContains(t, err, "its worker may not have uploaded it yet")
	}
	b.Deny(http.MethodGet)
	_, err = archive.Verify(t.Context(), place, index, nil, nil, func(archive.Verification) {})
	require.ErrorContains(t, err, "the service denies access")
	require.NotErrorIs(t, err, archive.ErrDamaged)
}

// A service that cannot be written loses nothing: the files stay, and the next start uploads them.
func TestBucketDenies(t *testing.T) {
	t.Parallel()
	dir, b := t.TempDir(), bucket.Start(t)
	objects := objectsOf(t, b)
	b.Deny(http.MethodPut)
	index, _ := bucketed(t, dir, objects, func(a *archive.Archive) {
		err := a.Close(t.Context())
		require.ErrorContains(t, err, "files are left")
		require.ErrorContains(t, err, "the service denies access")
	})
	require.NotEmpty(t, names(t, dir))
	require.Empty(t, verify(t, dir, index))
	b.Deny("")
	a, _ := open(t, archive.Config{Dir: dir, Bucket: objects, Logger: slog.New(slog.DiscardHandler)})
	wait.Until(t, func() bool { return len(names(t, dir)) == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, a.Close(t.Context()))
	require.Empty(t, verifyIn(t, archive.Bucket{Objects: objects}, index))
}

// A file that was uploaded before its process was killed is not uploaded again, because its records
// may be erased since.
func TestBucketKeepsWhatIsErased(t *testing.T) {
	t.Parallel()
	dir, killed, b := t.TempDir(), t.TempDir(), bucket.Start(t)
	objects := objectsOf(t, b)
	place := archive.Bucket{Objects: objects}
	b.Deny(http.MethodPut)
	index, url := bucketed(t, dir, objects, func(a *archive.Archive) { require.Error(t, a.Close(t.Context())) })
	require.NoError(t, os.CopyFS(killed, os.DirFS(dir)))
	b.Deny("")
	for _, from := range []string{dir, killed} {
		a, _ := open(t, archive.Config{Dir: from, Bucket: objects, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, a.Close(t.Context()))
		require.Empty(t, names(t, from))
		first := index[url][0].Archived
		if from == dir {
			require.NoError(t, archive.Erase(t.Context(), place, first.File, []crawl.Archived{first}))
		}
		require.Len(t, verifyIn(t, place, index), 1)
	}
}
