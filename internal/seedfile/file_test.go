package seedfile_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/internal/seedfile"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// zipped is an archive of files, each a name and a text one after the other. A name that
// ends in a slash is that of a directory.
func zipped(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		require.NoError(t, err)
		_, err = io.WriteString(f, files[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// asFile writes a file, and returns its path.
func asFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// pipe returns a reader that is not a file.
func pipe(text string) io.Reader { return iotest.HalfReader(strings.NewReader(text)) }

const someHosts = "a.example\nb.example\n"

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ packed, want string }{
		"Plain":        {someHosts, someHosts},
		"Nothing":      {"", ""},
		"AWord":        {"x", "x"},
		"GZIP":         {gzipped(t, someHosts), someHosts},
		"GZIPInParts":  {gzipped(t, "a.example\n") + gzipped(t, "b.example\n"), someHosts},
		"GZIPOfNone":   {gzipped(t, ""), ""},
		"ZIP":          {zipped(t, "list.csv", someHosts), someHosts},
		"ZIPBelow":     {zipped(t, "lists/", "", "lists/list.csv", someHosts), someHosts},
		"ZIPOfMacOS":   {zipped(t, "list.csv", someHosts, "__MACOSX/._list.csv", "\x00\x05"), someHosts},
		"ZIPOfNothing": {zipped(t, "list.csv", ""), ""},
	} {
		t.Run("Unpacks"+name, func(t *testing.T) {
			t.Parallel()
			f, err := seedfile.Open(t.Context(), asFile(t, c.packed))
			require.NoError(t, err)
			got, err := io.ReadAll(f)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
			read, total := f.Progress()
			require.Equal(t, total, read)
			require.LessOrEqual(t, total, int64(len(c.packed)))
			require.NoError(t, f.Close())
			require.NoError(t, f.Close())

			f, err = seedfile.From(t.Context(), pipe(c.packed))
			require.NoError(t, err)
			got, err = io.ReadAll(f)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
			require.NoError(t, f.Close())
		})
	}

	for name, c := range map[string]struct{ packed, want string }{
		"AnEmptyZIP":       {zipped(t), "the zip has no file"},
		"AZIPOfADirectory": {zipped(t, "lists/", ""), "the zip has no file"},
		"TwoFiles":         {zipped(t, "a.csv", "x", "b\x1b.csv", "y"), "the zip has 2 files: a.csv, b.csv; want only the list"},
		"ManyFiles": {
			zipped(t, "1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", ""),
			"the zip has 7 files: 1, 2, 3, 4, 5, and 2 others; want",
		},
		"AnEncryptedZIP": {encrypt(zipped(t, "a.csv", "x")), "the zip is encrypted; decrypt it"},
		"TwicePacked":    {zipped(t, "a.csv.gz", gzipped(t, someHosts)), "the list is compressed twice; decompress it once"},
		"TwiceGZIP":      {gzipped(t, gzipped(t, someHosts)), "the list is compressed twice"},
		"ZStandard":      {"\x28\xb5\x2f\xfd\x04\x00\x41\x00", "the list is compressed with zstd; decompress it, or use gzip or zip"},
		"BZIP2":          {"BZh91AY&SY", "the list is compressed with bzip2"},
		"XZ":             {"\xfd7zXZ\x00\x00", "the list is compressed with xz"},
		"SevenZIP":       {"7z\xbc\xaf\x27\x1c\x00", "the list is compressed with 7z"},
		"AZIPOfTooManyFiles": {
			zipped(t, many(10_000)...), "the zip has a directory of more than 1048576 bytes; want a zip with a single file",
		},
	} {
		t.Run("Refuses"+name, func(t *testing.T) {
			t.Parallel()
			path := asFile(t, c.packed)
			_, err := seedfile.Open(t.Context(), path)
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, path+": invalid input: "+c.want)
			_, err = seedfile.From(t.Context(), pipe(c.packed))
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, c.want)
		})
	}

	t.Run("TellsWhatCannotBeOpened", func(t *testing.T) {
		t.Parallel()
		_, err := seedfile.Open(t.Context(), filepath.Join(t.TempDir(), "none"))
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = seedfile.Open(t.Context(), t.TempDir())
		require.ErrorContains(t, err, "is a directory")
		_, err = seedfile.Open(t.Context(), asFile(t, "\x1f\x8bx"))
		require.ErrorContains(t, err, "decompress the list")
		_, err = seedfile.Open(t.Context(), asFile(t, "PK\x03\x04x"))
		require.ErrorContains(t, err, "decompress the list")
	})

	t.Run("TellsThatItIsCutOff", func(t *testing.T) {
		t.Parallel()
		var list strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&list, "%x.example\n", uint32(i)*2654435761)
		}
		packed := gzipped(t, list.String())
		f, err := seedfile.Open(t.Context(), asFile(t, packed[:len(packed)/2]))
		require.NoError(t, err)
		defer f.Close()
		got, err := read(t, seedfile.Options{Source: seeds.URLs}, f)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "decompress the list")
		require.Greater(t, len(got), 10_000)
	})

	t.Run("ClosesWhatItOpened", func(t *testing.T) {
		t.Parallel()
		f, err := seedfile.Open(t.Context(), asFile(t, strings.Repeat("#", 1<<20)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		_, err = io.ReadAll(f)
		require.ErrorIs(t, err, os.ErrClosed)
	})

	t.Run("UnpacksALargeFile", func(t *testing.T) {
		t.Parallel()
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		w, err := z.CreateHeader(&zip.FileHeader{Name: "list", Method: zip.Store})
		require.NoError(t, err)
		_, err = io.Copy(w, repeated("a.example\n", 4<<20))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		f, err := seedfile.Open(t.Context(), asFile(t, packed.String()))
		require.NoError(t, err)
		size, err := io.Copy(io.Discard, f)
		require.NoError(t, err)
		require.Equal(t, int64(4<<20), size)
		require.NoError(t, f.Close())
	})

	t.Run("LeavesOpenWhatItIsGiven", func(t *testing.T) {
		t.Parallel()
		in, err := os.Open(asFile(t, "skip "+zipped(t, "a", someHosts)))
		require.NoError(t, err)
		defer in.Close()
		_, err = in.Seek(int64(len("skip ")), io.SeekStart)
		require.NoError(t, err)
		f, err := seedfile.From(t.Context(), in)
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, someHosts, string(got))
		require.NoError(t, f.Close())
		_, err = in.Stat()
		require.NoError(t, err)
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&list, "%x.example\n", uint32(i)*2654435761)
	}
	for name, packed := range map[string]string{
		"Plain": list.String(), "GZIP": gzipped(t, list.String()), "ZIP": zipped(t, "list", list.String()),
	} {
		t.Run("GrowsFromNothingToAllOf"+name, func(t *testing.T) {
			t.Parallel()
			f, err := seedfile.Open(t.Context(), asFile(t, packed))
			require.NoError(t, err)
			defer f.Close()
			before, total := f.Progress()
			require.Less(t, before, total/2)
			require.InDelta(t, len(packed), total, 200)
			count := 0
			require.NoError(t, seedfile.Read(t.Context(), f, seedfile.Options{Source: seeds.URLs}, func(seedfile.Entry) error {
				now, all := f.Progress()
				require.GreaterOrEqual(t, now, before)
				require.Equal(t, total, all)
				if count++; count == 20_000 {
					require.InDelta(t, total/2, now, float64(total/4))
				}
				before = now
				return nil
			}, nil))
			require.Equal(t, total, before)
		})
	}

	t.Run("KnowsNoTotalOfAPipe", func(t *testing.T) {
		t.Parallel()
		packed := gzipped(t, list.String())
		f, err := seedfile.From(t.Context(), pipe(packed))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, f)
		require.NoError(t, err)
		read, total := f.Progress()
		require.Equal(t, int64(len(packed)), read)
		require.Zero(t, total)
		require.NoError(t, f.Close())
	})
}

func TestOpenEndsABomb(t *testing.T) {
	t.Parallel()
	const bound = 1 << 20
	exact, bomb := strings.Repeat("#", bound), strings.Repeat("#", bound+1)
	for name, pack := range map[string]func(string) string{
		"GZIP": func(s string) string { return gzipped(t, s) },
		"ZIP":  func(s string) string { return zipped(t, "list", s) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := seedfile.FromBounded(t.Context(), pipe(pack(exact)), bound)
			require.NoError(t, err)
			got, err := io.ReadAll(f)
			require.NoError(t, err)
			require.Equal(t, exact, string(got))
			require.NoError(t, f.Close())

			f, err = seedfile.FromBounded(t.Context(), pipe(pack(bomb)), bound)
			if name == "GZIP" { // which does not say at once
				require.NoError(t, err)
				got, err = io.ReadAll(f)
				require.Equal(t, exact, string(got))
				require.NoError(t, f.Close())
			}
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, "the list decompresses to more than 1048576 bytes; split it")
		})
	}

	t.Run("ZIPThatLiesAboutItsSize", func(t *testing.T) {
		t.Parallel()
		packed := []byte(zipped(t, "list", bomb))
		// The size once unpacked, in the directory.
		at := bytes.LastIndex(packed, []byte("PK\x01\x02")) + 24
		copy(packed[at:], []byte{9, 0, 0, 0})
		_, err := seedfile.FromBounded(t.Context(), bytes.NewReader(packed), bound)
		require.ErrorIs(t, err, zip.ErrFormat)
	})

	t.Run("ZIPThatIsTooLongToBeCopied", func(t *testing.T) {
		t.Parallel()
		_, err := seedfile.FromBounded(t.Context(), io.MultiReader(strings.NewReader("PK\x03\x04"), &endless{text: []byte("x")}), bound)
		require.ErrorIs(t, err, crawl.ErrInvalid)
		require.ErrorContains(t, err, "the zip is longer than 1048576 bytes; split the list")
	})
}

func TestFromLeavesNoCopy(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	empty := func(t *testing.T) {
		t.Helper()
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	f, err := seedfile.From(t.Context(), pipe(zipped(t, "list", someHosts)))
	require.NoError(t, err)
	got, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, someHosts, string(got))
	require.NoError(t, f.Close())
	empty(t)

	_, err = seedfile.From(t.Context(), pipe(zipped(t)+"x"))
	require.Error(t, err)
	empty(t)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = seedfile.From(ctx, pipe(zipped(t, "list", someHosts)))
	require.ErrorIs(t, err, context.Canceled)
	empty(t)
}

// encrypt marks the files of an archive as encrypted.
func encrypt(archive string) string {
	b := []byte(archive)
	b[bytes.LastIndex(b, []byte("PK\x01\x02"))+8] |= 1
	return string(b)
}

// many are the names and texts of files.
func many(count int) []string {
	files := make([]string, 0, 2*count)
	for i := range count {
		files = append(files, fmt.Sprintf("%d%s", i, strings.Repeat("x", 100)), "")
	}
	return files
}
