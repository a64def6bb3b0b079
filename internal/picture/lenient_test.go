package picture_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/draw"

	"github.com/mosey-web/mosey/internal/picture"
)

// Browsers show these files as if nothing was wrong.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	img := drawKind(1, 1, 120, 90)
	jpeg, png, gif := encodeJPEG(t, img, 90), encodePNG(t, img), encodeGIF(t, img, 3)
	// spoilt gives a PNG one more chunk, with a wrong checksum.
	spoilt := func(kind string, data []byte) []byte {
		file := withChunk(png, kind, data)
		file[8+25+8+len(data)] ^= 0xff
		return file
	}
	const gifHead = 13 // the palette is the frame's
	require.Equal(t, byte(0x21), gif[gifHead])
	require.Equal(t, []byte{0xff, 0xd9}, jpeg[len(jpeg)-2:])
	comment := []byte("\x21\xfe\x05hello\x00")
	for name, c := range map[string]struct{ sound, odd []byte }{
		"PNGWithAWrongChecksumOfItsProfile": {png, spoilt("iCCP", bytes.Repeat([]byte("p"), 100_000))},
		"PNGWithAWrongChecksumOfItsGamma":   {png, spoilt("gAMA", []byte{0, 0, 0xb1, 0x8f})},
		"PNGWithAWrongChecksumOfATextChunk": {png, spoilt("tEXt", nil)},
		"GIFWithAStrayZero":                 {gif, bytes.Join([][]byte{gif[:gifHead], {0}, gif[gifHead:]}, nil)},
		"GIFWithZerosAroundAComment":        {gif, bytes.Join([][]byte{gif[:gifHead], {0, 0}, comment, {0, 0, 0}, gif[gifHead:]}, nil)},
		"GIFWithAZeroBetweenFrames":         {gif, bytes.ReplaceAll(gif, []byte("\x00\x21\xf9"), []byte("\x00\x00\x21\xf9"))},
		"JPEGWithoutEnd":                    {jpeg, jpeg[:len(jpeg)-2]},
		"JPEGWithHalfAnEnd":                 {jpeg, jpeg[:len(jpeg)-1]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEqual(t, c.sound, c.odd)
			want, got := read(t, c.sound), read(t, c.odd)
			require.NotNil(t, want.PHash)
			require.Equal(t, want.PHash, got.PHash)
			require.Equal(t, want.DHash, got.DHash)
			require.Equal(t, want.Frames, got.Frames)
		})
	}

	t.Run("KeepsTheTransparencyOfAPalette", func(t *testing.T) {
		t.Parallel()
		shades := make(color.Palette, 256)
		for i := range shades {
			shades[i] = color.NRGBA{uint8(i), uint8(i), uint8(i), uint8(255 - i/2)}
		}
		paletted := image.NewPaletted(img.Bounds(), shades)
		draw.Draw(paletted, paletted.Bounds(), img, image.Point{}, draw.Src)
		file := encodePNG(t, paletted)
		at := bytes.Index(file, []byte("tRNS"))
		odd := bytes.Clone(file)
		odd[at+4+int(binary.BigEndian.Uint32(file[at-4:]))] ^= 0xff
		without := bytes.Replace(file, []byte("tRNS"), []byte("tRNs"), 1)
		require.Equal(t, read(t, file).PHash, read(t, odd).PHash)
		require.NotEqual(t, read(t, file).PHash, read(t, without).PHash)
	})

	t.Run("RefusesBrokenPixels", func(t *testing.T) {
		t.Parallel()
		odd := bytes.Clone(png)
		odd[len(odd)-12-1] ^= 0xff // the checksum of IDAT
		for _, file := range [][]byte{odd, jpeg[:len(jpeg)/2], gif[:len(gif)/2]} {
			_, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
			require.ErrorIs(t, err, picture.ErrMalformed)
		}
	})
}
