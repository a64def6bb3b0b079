package picture_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/tiff"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/picture"
)

// chunked is a PNG of a header and of chunks that follow it.
func chunked(width, height uint32, depth, colour, interlaced byte, chunks ...string) []byte {
	be := binary.BigEndian
	header := append(be.AppendUint32(be.AppendUint32(nil, width), height), depth, colour, 0, 0, interlaced)
	file := []byte("\x89PNG\r\n\x1a\n")
	for _, chunk := range append(append([]string{"IHDR" + string(header)}, chunks...), "IEND") {
		file = append(be.AppendUint32(file, uint32(len(chunk)-4)), chunk...)
		file = be.AppendUint32(file, crc32.ChecksumIEEE([]byte(chunk)))
	}
	return file
}

// riff is a WebP of chunks, of which each is its kind and its data.
func riff(chunks ...string) []byte {
	file := []byte("RIFF\x00\x00\x00\x00WEBP")
	for _, chunk := range chunks {
		file = append(file, chunk[:4]...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(chunk)-4)), chunk[4:]...)
		file = append(file, make([]byte, len(chunk)%2)...)
	}
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

// The chunks of a WebP that say its size: 200×200, and the largest that there is.
const (
	smallCanvas  = "VP8X\x10\x00\x00\x00\xc7\x00\x00\xc7\x00\x00"
	largeCanvas  = "VP8X\x10\x00\x00\x00\xff\xff\xff\xff\xff\xff"
	smallPicture = "VP8 \x00\x00\x00\x9d\x01\x2a\xc8\x00\xc8\x00"
	someAlpha    = "ALPH"
)

// transparentPNG is one whose estimate would be negative, were it multiplied for each of
// its chunks.
func transparentPNG() []byte { return chunked(103, 101, 8, 2, 0, repeated("tRNS", 30)...) }

// transparentWebP is one whose estimate would be negative, were it added to for each of
// its chunks.
func transparentWebP() []byte {
	chunks := append([]string{largeCanvas}, repeated(someAlpha, 3_300)...)
	return riff(append(chunks, smallCanvas, smallPicture)...)
}

func repeated(text string, times int) (list []string) {
	for range times {
		list = append(list, text)
	}
	return list
}

func TestEstimatesDoNotWrap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file      []byte
		malformed string
		undecoded string
	}{
		"NegativePNG":       {transparentPNG(), "png", ""},
		"NothingPNG":        {chunked(8_000, 4_900, 16, 2, 1, append([]string{"IDAT"}, repeated("tRNS", 31)...)...), "", "631"},
		"TransparentPNG":    {chunked(8_000, 4_900, 8, 0, 0, "tRNS\x00\x00", "IDAT"), "png", ""},
		"TransparentRGBPNG": {chunked(8_000, 4_900, 8, 2, 0, "tRNS\x00\x00\x00\x00\x00\x00", "IDAT"), "png", ""},
		"DeepGreyPNG":       {chunked(8_000, 4_900, 16, 0, 0, "tRNS\x00\x00", "IDAT"), "png", ""},
		"DeepInterlacedPNG": {chunked(8_000, 4_900, 16, 0, 1, "tRNS\x00\x00", "IDAT"), "", "631"},
		"WidePNG":           {chunked(39_000_000, 1, 16, 6, 1, "IDAT"), "", "628"},
		"NegativeWebP":      {transparentWebP(), "occurs twice", ""},
		"TwoCanvases":       {riff(smallCanvas, largeCanvas, smallPicture), `"VP8X" occurs twice`, ""},
		"TwoAlphas":         {riff(smallCanvas, someAlpha, someAlpha, smallPicture), `"ALPH" occurs twice`, ""},
		"TwoPictures":       {riff(smallPicture, smallPicture), `"VP8 " occurs twice`, ""},
		"TwoKindsOfPicture": {riff(smallPicture, "VP8L\x2f\x00\x00\x00\x00"), `"VP8L" occurs twice`, ""},
		"CanvasAtTheEnd":    {riff("VP8L\x2f\xff\xff\xff\x0f", smallCanvas), "canvas", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(c.file), int64(len(c.file)), picture.Options{})
			if c.malformed != "" {
				require.ErrorIs(t, err, picture.ErrMalformed)
				require.ErrorContains(t, err, c.malformed)
				require.NotContains(t, err.Error(), "panicked")
				require.Empty(t, got.Undecoded)
				return
			}
			require.NoError(t, err)
			require.Contains(t, got.Undecoded, "decoding needs "+c.undecoded)
			require.Contains(t, got.Undecoded, "bytes of memory")
		})
	}
}

// A decoder can return what only taking the fingerprints is surprised by.
func TestPixelsThatPanicCostOnePicture(t *testing.T) {
	t.Parallel()
	file := encodePNG(t, drawKind(1, 1, 120, 90))
	reader := picture.WithDecoder(picture.Limits{MaxDecodes: 1, MaxMemory: 5 << 20}, crawl.ImagePNG, func(io.Reader) (image.Image, error) {
		return &image.Gray{Stride: 120, Rect: image.Rect(0, 0, 120, 90)}, nil
	})
	for range 3 {
		got, err := reader.Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{Thumbnail: true})
		require.ErrorIs(t, err, picture.ErrMalformed)
		require.ErrorContains(t, err, "panicked: runtime error")
		require.Nil(t, got.PHash)
	}
}

// tagged is a TIFF of a directory of numbers, by their tags, and of data that the first
// strip or tile is.
func tagged(numbers map[uint16]uint32, data []byte) []byte {
	le := binary.LittleEndian
	file := le.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), uint16(len(numbers)))
	for id := range uint16(400) {
		value, ok := numbers[id]
		switch id {
		case 273, 324: // where it is
			value = uint32(8 + 2 + 12*len(numbers) + 4)
		case 279, 325:
			value = uint32(len(data))
		}
		if ok {
			file = le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(file, id), 4), 1), value)
		}
	}
	return append(append(file, 0, 0, 0, 0), data...)
}

// unpacksTo is so many bytes, deflated.
func unpacksTo(tb testing.TB, n int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, err := w.Write(make([]byte, n))
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// unpackingTIFFs unpack to eight bytes a pixel, though they have one.
func unpackingTIFFs(tb testing.TB) []file {
	tb.Helper()
	return []file{
		{"unpacking TIFF", crawl.ImageTIFF, tagged(map[uint16]uint32{
			256: 1_000, 257: 700, 258: 8, 259: 8, 262: 1, 273: 0, 277: 1, 278: 700, 279: 0,
		}, unpacksTo(tb, 8*1_000*700))},
		{"unpacking tiled TIFF", crawl.ImageTIFF, tagged(map[uint16]uint32{
			256: 1_000, 257: 8, 258: 8, 259: 8, 262: 1, 277: 1, 322: 1_000, 323: 1_024, 324: 0, 325: 0,
		}, unpacksTo(tb, 8*1_000*1_024))},
	}
}

func TestTIFFsWithinMemory(t *testing.T) {
	t.Parallel()
	large := map[uint16]uint32{256: 8_000, 257: 4_900, 258: 8, 259: 8, 262: 1, 273: 0, 277: 1, 278: 4_900, 279: 0}
	inStrips := map[uint16]uint32{256: 8_000, 257: 4_900, 258: 8, 259: 8, 262: 1, 273: 0, 277: 1, 278: 64, 279: 0}
	stored := map[uint16]uint32{256: 8_000, 257: 4_900, 258: 8, 259: 1, 262: 1, 273: 0, 277: 1, 278: 4_900, 279: 0}
	tiled := map[uint16]uint32{256: 8_000, 257: 4_900, 258: 8, 259: 8, 262: 1, 277: 1, 322: 256, 323: 256, 324: 0, 325: 0}
	padded := map[uint16]uint32{256: 39_000_000, 257: 1, 258: 8, 259: 8, 262: 1, 277: 1, 322: 39_000_000, 323: 1_024, 324: 0, 325: 0}
	flat := map[uint16]uint32{256: 8_000, 257: 4_900, 258: 8, 259: 8, 262: 1, 277: 1, 322: 8_000, 323: 0, 324: 0, 325: 0}
	// a page of A4 at 600 dots an inch, as scanners store it
	fax := map[uint16]uint32{256: 4_960, 257: 7_016, 258: 1, 259: 4, 262: 0, 273: 0, 277: 1, 278: 7_016, 279: 0}
	for name, c := range map[string]struct {
		numbers map[uint16]uint32
		decoded bool
	}{
		"Fax": {fax, true}, "OneStrip": {large, false}, "Strips": {inStrips, true}, "NotCompressed": {stored, true},
		"Tiles": {tiled, true}, "PaddedTile": {padded, false}, "TileOfNoHeight": {flat, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := tagged(c.numbers, unpacksTo(t, 1_000))
			got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
			if c.decoded { // and found to lack its pixels
				require.ErrorIs(t, err, picture.ErrMalformed)
				return
			}
			require.NoError(t, err)
			require.Contains(t, got.Undecoded, "bytes of memory")
		})
	}
	t.Run("OrdinaryInOneStrip", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		img := image.NewRGBA(image.Rect(0, 0, 3_000, 2_000))
		require.NoError(t, tiff.Encode(&out, img, &tiff.Options{Compression: tiff.Deflate}))
		require.Empty(t, read(t, out.Bytes()).Undecoded)
	})
}
