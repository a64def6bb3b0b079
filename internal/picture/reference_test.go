package picture_test

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/test/race"
)

var write = flag.String("write", "", "folder to write the pictures of TestReference to")

// sizes are the sizes of the pictures for comparison with the reference.
var sizes = []image.Point{
	{120, 90}, {160, 200}, {257, 255}, {320, 240}, {400, 400}, {511, 300}, {640, 480}, {500, 700}, {800, 600}, {1024, 768},
}

// reference is a picture whose hashes are in golden.txt.
type reference struct {
	name string
	file []byte
}

// references makes 200 pictures: of each kind one a size, larger ones for a few, and for
// each tenth a JPEG, whose bytes another version of Go may encode otherwise.
func references(t *testing.T) (all []reference) {
	t.Helper()
	for n := range 200 {
		kind, size := n%len(kinds), sizes[n/2/len(kinds)%len(sizes)]
		if n >= 190 {
			size = image.Pt(1600, 1200)
		}
		name := fmt.Sprintf("%03d-%s-%dx%d", n, kinds[kind].name, size.X, size.Y)
		img := drawKind(kind, uint64(n), size.X, size.Y)
		if n%11 == 10 {
			all = append(all, reference{name + ".jpg", encodeJPEG(t, img, 85)})
		} else {
			all = append(all, reference{name + ".png", encodePNG(t, img)})
		}
	}
	return all
}

func encodePNG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img))
	return out.Bytes()
}

func encodeJPEG(tb testing.TB, img image.Image, quality int) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, jpeg.Encode(&out, img, &jpeg.Options{Quality: quality}))
	return out.Bytes()
}

// read reads a file that is sound.
func read(tb testing.TB, file []byte) picture.Result {
	tb.Helper()
	got, err := picture.New(picture.Limits{}).Read(tb.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
	require.NoError(tb, err)
	require.Empty(tb, got.Undecoded)
	return got
}

// Golden.txt is the output of testdata/reference.py, which computes the hashes with
// Pillow and SciPy.
func TestReference(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	golden, err := os.ReadFile("testdata/golden.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	all := references(t)
	if *write != "" {
		for _, r := range all {
			require.NoError(t, os.WriteFile(filepath.Join(*write, r.name), r.file, 0o600))
		}
		t.Skip("wrote the pictures")
	}
	require.Len(t, lines, len(all))
	var pDistances, dDistances [65]int
	for i, line := range lines {
		var name, p, d string
		_, err := fmt.Sscan(line, &name, &p, &d)
		require.NoError(t, err)
		require.Equal(t, name, all[i].name)
		pHash, err := crawl.ParseImageHash(p)
		require.NoError(t, err)
		dHash, err := crawl.ParseImageHash(d)
		require.NoError(t, err)
		got := read(t, all[i].file)
		pDistances[got.PHash.Distance(pHash)]++
		dDistances[got.DHash.Distance(dHash)]++
		if got.PHash.Distance(pHash) > 2 || got.DHash.Distance(dHash) > 2 {
			t.Errorf("%s: pHash %s, want %s; dHash %s, want %s", name, got.PHash, pHash, got.DHash, dHash)
		}
	}
	t.Logf("pictures by distance from the reference, 0, 1, 2…: pHash %v, dHash %v", pDistances[:6], dDistances[:6])
}

// What ImageHash publishes for its own picture (tests/test_hash_is_constant.py of version
// 4.3.2).
func TestPublishedVectors(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/imagehash.png")
	require.NoError(t, err)
	got := read(t, file)
	require.Equal(t, "ba8c84536bd3c366", got.PHash.String())
	require.Equal(t, "0026273b2b19550e", got.DHash.String())
}
