package picture_test

import (
	"bytes"
	"encoding/binary"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"
)

// The longest metadata that fit into a segment are read, and such of chunks up to a bound.
func TestLongMetadata(t *testing.T) {
	t.Parallel()
	img := drawKind(1, 1, 120, 90)
	padded := func(text string, n int) string { return text + string(make([]byte, n-len(text))) }
	block := string(exif(tag{tagOrientation, 6}, tag{tagArtist, "Ana"}))
	const longest = 65_533
	resource := func(id, data string) string {
		return "8BIM" + id + "\x00\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) + data
	}
	iptc := resource("\x04\x04", "\x1c\x02\x50\x00\x03Ana")
	rest := longest - len("Photoshop 3.0\x00") - len(iptc) - len(resource("\x04\x25", ""))
	jpegFile, pngFile, webp := encodeJPEG(t, img, 90), encodePNG(t, img), fixture(t, "alpha.webp")
	upright := read(t, webp)
	for name, c := range map[string]struct {
		file []byte
		read bool
		want []int
	}{
		"JPEGWithEXIF": {withSegment(jpegFile, 0xe1, padded("Exif\x00\x00"+block, longest)), true, []int{90, 120}},
		"JPEGWithIPTC": {withSegment(jpegFile, 0xed, "Photoshop 3.0\x00"+resource("\x04\x25", padded("", rest))+iptc), true, []int{120, 90}},
		"PNGWithEXIF":  {withChunk(pngFile, "eXIf", []byte(padded(block, 1<<20))), true, []int{90, 120}},
		"WebPWithEXIF": {withRIFF(webp, "EXIF", []byte(padded(block, 1<<20))), true, []int{upright.Height, upright.Width}},
		"PNGBeyond":    {withChunk(pngFile, "eXIf", []byte(padded(block, 1<<20+1))), false, []int{120, 90}},
		"WebPBeyond":   {withRIFF(webp, "EXIF", []byte(padded(block, 1<<20+1))), false, []int{upright.Width, upright.Height}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, c.file)
			require.Equal(t, c.want, []int{got.Width, got.Height})
			require.Equal(t, c.read, got.Meta.Creator == "Ana")
		})
	}
	_, err := jpeg.Decode(bytes.NewReader(withSegment(jpegFile, 0xe1, padded("", longest))))
	require.NoError(t, err, "a segment can be as long")
}
