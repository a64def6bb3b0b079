package imagestore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "images")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := imagestore.Open(ctx, "file://"+filepath.ToSlash(dir))
	if err != nil {
		panic(err)
	}
	data := []byte("GIF89a…")
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	if err := store.Put(ctx, sha, bytes.NewReader(data), int64(len(data)), "image/gif"); err != nil {
		panic(err)
	}
	others, err := store.List(ctx, func(o imagestore.Object) error {
		fmt.Println(o.SHA256, o.Bytes)
		return nil
	})
	fmt.Println(others, err)
	// Output:
	// 13beba533898395aa5f6f25ca3d291dcf15b96b6190fed83c456f4b1ce9fcafc 9
	// 0 <nil>
}

func TestStore(t *testing.T) {
	t.Parallel()

	t.Run("GivesBackWhatWasPut", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			for i, size := range []int{0, 1, 100_000, 9 << 20, 16 << 20, 17 << 20} {
				data, sha := image(uint64(i), size)
				requireMissing(t, s, sha)
				require.NoError(t, put(t.Context(), s, data, sha))
				requireStored(t, s, data, sha)
			}
			objects, others := list(t, s)
			require.Len(t, objects, 6)
			require.Zero(t, others)
		})
	})

	t.Run("KeepsAnImageAndItsThumbnail", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			data, sha := image(1, 1000)
			_, _, err := s.Thumbnail(t.Context(), sha)
			require.ErrorIs(t, err, crawl.ErrNotFound)
			require.ErrorContains(t, err, s.String())
			for _, thumbnail := range []string{"small", "smaller", "other"} {
				require.NoError(t, s.PutThumbnail(t.Context(), sha, []byte(thumbnail)))
				in, size, err := s.Thumbnail(t.Context(), sha)
				require.NoError(t, err)
				got, err := io.ReadAll(in)
				require.NoError(t, err)
				require.NoError(t, in.Close())
				require.EqualValues(t, len(thumbnail), size)
				require.Equal(t, thumbnail, string(got))
			}
			require.NoError(t, put(t.Context(), s, data, sha))
			objects, _ := list(t, s)
			require.Len(t, objects, 2)
			for _, again := range []bool{false, true} {
				for _, o := range objects {
					gone, err := s.Delete(t.Context(), o)
					require.NoError(t, err, "again: %t", again)
					require.True(t, gone)
				}
			}
			requireMissing(t, s, sha)
			objects, others := list(t, s)
			require.Empty(t, objects)
			require.Zero(t, others)
		})
	})

	t.Run("ErasesWhatWasJustWritten", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			data, sha := image(1, 1000)
			kept, keptSHA := image(2, 1000)
			require.NoError(t, put(t.Context(), s, data, sha))
			require.NoError(t, s.PutThumbnail(t.Context(), sha, []byte("small")))
			require.NoError(t, put(t.Context(), s, kept, keptSHA))
			for range 2 { // what is not there is gone
				require.NoError(t, s.Erase(t.Context(), sha))
				objects, _ := list(t, s)
				require.Len(t, objects, 1)
				require.Equal(t, keptSHA, objects[0].SHA256)
			}
			require.ErrorIs(t, s.Erase(t.Context(), "../../etc/passwd"), crawl.ErrInvalid)
		})
	})

	t.Run("RefusesWhatTheKeyDoesNotSay", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			data, sha := image(1, 1000)
			other, otherSHA := image(2, 1000)
			for name, err := range map[string]error{
				"other bytes": put(t.Context(), s, other, sha),
				"too short":   s.Put(t.Context(), sha, bytes.NewReader(data[:999]), 1000, "image/png"),
				"too long":    s.Put(t.Context(), sha, bytes.NewReader(data), 999, "image/png"),
				"negative":    s.Put(t.Context(), sha, bytes.NewReader(data), -1, "image/png"),
				"media type":  s.Put(t.Context(), sha, bytes.NewReader(data), 1000, "text/html"),
				"no type":     s.Put(t.Context(), sha, bytes.NewReader(data), 1000, ""),
				"upper case":  put(t.Context(), s, data, strings.ToUpper(sha)),
				"no hash":     put(t.Context(), s, data, "../../etc/passwd"),
				"no digits":   s.PutThumbnail(t.Context(), strings.Repeat("g", 64), data),
			} {
				require.ErrorIs(t, err, crawl.ErrInvalid, name)
			}
			_, _, err := s.Get(t.Context(), sha+"/")
			require.ErrorIs(t, err, crawl.ErrInvalid)
			_, err = s.Delete(t.Context(), imagestore.Object{SHA256: sha})
			require.ErrorIs(t, err, crawl.ErrInvalid, "what List has not found")
			// bytes that change between the two times that they are read
			err = s.Put(t.Context(), sha, &changing{Reader: bytes.NewReader(data), next: bytes.NewReader(other)}, 1000, "image/png")
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, otherSHA)
			big, bigSHA := image(3, 17<<20)
			otherBig, _ := image(4, 17<<20)
			err = s.Put(t.Context(), bigSHA, &changing{Reader: bytes.NewReader(big), next: bytes.NewReader(otherBig)}, 17<<20, "image/png")
			require.ErrorIs(t, err, crawl.ErrInvalid)
			objects, others := list(t, s)
			require.Empty(t, objects)
			require.Zero(t, others, "nothing is left of what was given up")
		})
	})

	t.Run("SaysThatItIsTheBodyThatCannotBeRead", func(t *testing.T) {
		t.Parallel()
		s := open(t, t.TempDir())
		data, sha := image(1, 1000)
		gone := errors.New("gone")
		next := iotest.ErrReader(gone)
		err := s.Put(t.Context(), sha, &changing{Reader: bytes.NewReader(data), next: next}, 1000, "image/png")
		require.ErrorIs(t, err, gone)
		require.ErrorContains(t, err, "read the bytes")
		requireMissing(t, s, sha)
	})

	t.Run("LeavesAloneWhatIsThere", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		s := open(t, server.url(bucket))
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		writes := countWrites(server)
		require.NoError(t, put(t.Context(), s, data, sha))
		require.Zero(t, writes.Load())
	})

	t.Run("TakesTheSameImageManyTimesAtOnce", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			data, sha := image(1, 1<<20)
			together(t, 16, func(int) error { return put(t.Context(), s, data, sha) })
			requireStored(t, s, data, sha)
			objects, others := list(t, s)
			require.Len(t, objects, 1)
			require.Zero(t, others)
		})
	})

	t.Run("ChecksThatItCanBeUsed", func(t *testing.T) {
		t.Parallel()
		onBoth(t, func(t *testing.T, s *imagestore.Store) {
			together(t, 8, func(int) error { return s.Check(t.Context(), 0) })
			_, others := list(t, s)
			require.Zero(t, others)
		})
	})
}

// changing has other bytes the second time that it is read.
type changing struct {
	io.Reader

	next  io.Reader
	seeks int
}

func (c *changing) Seek(int64, int) (int64, error) {
	c.seeks++
	if c.seeks == 2 {
		c.Reader = c.next
	}
	return 0, nil
}

func TestFilesByRange(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *imagestore.Store) {
		t.Helper()
		f := imagestore.Files{Store: s, Prefix: "warc/"}
		data, sha := image(1, 1000)
		require.NoError(t, f.Write(t.Context(), "a", sha, 1000, bytes.NewReader(data)))
		size, err := f.Size(t.Context(), "a")
		require.NoError(t, err)
		require.EqualValues(t, 1000, size)
		for span, want := range map[[2]int64][]byte{{0, 0}: data, {0, 10}: data[:10], {500, 100}: data[500:600], {990, 100}: data[990:]} {
			in, err := f.ReadRange(t.Context(), "a", span[0], span[1])
			require.NoError(t, err)
			got, err := io.ReadAll(in)
			require.NoError(t, err)
			require.NoError(t, in.Close())
			require.True(t, bytes.Equal(want, got), span)
		}
		_, err = f.ReadRange(t.Context(), "b", 0, 10)
		require.ErrorIs(t, err, crawl.ErrNotFound)
		_, err = f.Size(t.Context(), "b")
		require.ErrorIs(t, err, crawl.ErrNotFound)
		for _, name := range []string{"", "../a", "/a"} {
			_, err = f.ReadRange(t.Context(), name, 0, 10)
			require.ErrorIs(t, err, crawl.ErrInvalid)
			_, err = f.Size(t.Context(), name)
			require.ErrorIs(t, err, crawl.ErrInvalid)
		}
	})
}

func TestDirectory(t *testing.T) {
	t.Parallel()

	t.Run("IsMadeForItsOwnerAndGroup", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "new", "er")
		s := open(t, dir)
		require.Equal(t, dir, s.String())
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		require.NoError(t, s.PutThumbnail(t.Context(), sha, data))
		var names []string
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			require.NoError(t, err)
			if entry.IsDir() {
				info, err := entry.Info()
				require.NoError(t, err)
				require.Zero(t, info.Mode().Perm()&0o027, path)
				return nil
			}
			name, err := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
			return err
		}))
		a, b := sha[:2], sha[2:4]
		require.Equal(t, []string{a + "/" + b + "/" + sha, "thumbnails/" + a + "/" + b + "/" + sha + ".jpg"}, names)
	})

	t.Run("IsAPathOrAURL", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "with space")
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), open(t, dir), data, sha))
		requireStored(t, open(t, "file://"+strings.ReplaceAll(filepath.ToSlash(dir), " ", "%20")), data, sha)
		requireStored(t, open(t, "FILE://localhost"+strings.ReplaceAll(filepath.ToSlash(dir), " ", "%20")), data, sha)
	})

	t.Run("TellsOfBytesThatHaveChanged", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := open(t, dir)
		data, sha := image(1, 1000)
		require.NoError(t, put(t.Context(), s, data, sha))
		other, _ := image(2, 1000)
		path := filepath.Join(dir, sha[:2], sha[2:4], sha)
		require.NoError(t, os.WriteFile(path, other, 0o600))
		in, _, err := s.Get(t.Context(), sha)
		require.NoError(t, err)
		_, err = io.ReadAll(in)
		require.ErrorIs(t, err, imagestore.ErrCorrupt)
		require.ErrorContains(t, err, sha)
		require.NoError(t, in.Close())
		// a file that was cut off, as by a copy that was stopped, is written anew
		require.NoError(t, os.Truncate(path, 500))
		require.NoError(t, put(t.Context(), s, data, sha))
		requireStored(t, s, data, sha)
	})

	t.Run("HasNothingOfAPutThatWasStopped", func(t *testing.T) {
		t.Parallel()
		s := open(t, t.TempDir())
		data, sha := image(1, 1<<20)
		ctx, cancel := context.WithCancel(t.Context())
		half := &stopping{Reader: bytes.NewReader(data), at: 3 << 19, stop: cancel} // in the second pass
		require.ErrorIs(t, s.Put(ctx, sha, half, int64(len(data)), "image/png"), context.Canceled)
		for _, err := range []error{
			put(ctx, s, data, sha), s.PutThumbnail(ctx, sha, data), s.Check(ctx, 0),
		} {
			require.ErrorIs(t, err, context.Canceled)
		}
		_, _, err := s.Get(ctx, sha)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.List(ctx, func(imagestore.Object) error { return nil })
		require.ErrorIs(t, err, context.Canceled)
		requireMissing(t, s, sha)
		objects, others := list(t, s)
		require.Empty(t, objects)
		require.Zero(t, others)
		require.NoError(t, put(t.Context(), s, data, sha))
		objects, _ = list(t, s)
		_, err = s.Delete(ctx, objects[0])
		require.ErrorIs(t, err, context.Canceled)
		requireStored(t, s, data, sha)
	})
}

// stopping calls stop after so many bytes were read.
type stopping struct {
	*bytes.Reader

	at   int
	stop func()
}

func (s *stopping) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.at -= n
	if s.at <= 0 {
		s.stop()
	}
	return n, err
}

// WriteTo hides that of bytes.Reader.
func (s *stopping) WriteTo(io.Writer) (int64, error) { panic("is to be read") }
