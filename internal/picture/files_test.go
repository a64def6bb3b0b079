package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	"github.com/mosey-web/mosey/crawl"
)

// fixture is a file of testdata.
func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	file, err := os.ReadFile("testdata/" + name)
	require.NoError(tb, err)
	return file
}

// file is a sound file of a picture, and what it is.
type file struct {
	name   string
	format crawl.ImageFormat
	bytes  []byte
}

// files makes a small file of every kind that is decoded.
func files(tb testing.TB) []file {
	tb.Helper()
	img := drawKind(1, 1, 120, 90)
	grey := image.NewGray(img.Bounds())
	deep, deepGrey := image.NewNRGBA64(img.Bounds()), image.NewGray16(img.Bounds())
	for _, to := range []draw.Image{grey, deep, deepGrey} {
		draw.Draw(to, to.Bounds(), img, image.Point{}, draw.Src)
	}
	deep.Set(0, 0, color.NRGBA64{0xffff, 0, 0, 0x8000})
	var bitmap, greyBitmap, tagged bytes.Buffer
	require.NoError(tb, bmp.Encode(&bitmap, img))
	require.NoError(tb, bmp.Encode(&greyBitmap, grey))
	require.NoError(tb, tiff.Encode(&tagged, img, &tiff.Options{Compression: tiff.Deflate, Predictor: true}))
	return []file{
		{"JPEG", crawl.ImageJPEG, encodeJPEG(tb, img, 90)},
		{"GreyJPEG", crawl.ImageJPEG, encodeJPEG(tb, grey, 90)},
		{"ProgressiveJPEG", crawl.ImageJPEG, fixture(tb, "small-progressive.jpg")},
		{"CMYKJPEG", crawl.ImageJPEG, fixture(tb, "cmyk.jpg")},
		{"PNG", crawl.ImagePNG, encodePNG(tb, img)},
		{"GreyPNG", crawl.ImagePNG, encodePNG(tb, grey)},
		{"DeepPNG", crawl.ImagePNG, encodePNG(tb, deep)},
		{"DeepGreyPNG", crawl.ImagePNG, encodePNG(tb, deepGrey)},
		{"InterlacedPNG", crawl.ImagePNG, fixture(tb, "interlaced.png")},
		{"AnimatedPNG", crawl.ImagePNG, fixture(tb, "animated.png")},
		{"GIF", crawl.ImageGIF, encodeGIF(tb, img, 1)},
		{"AnimatedGIF", crawl.ImageGIF, encodeGIF(tb, img, 3)},
		{"BMP", crawl.ImageBMP, bitmap.Bytes()},
		{"GreyBMP", crawl.ImageBMP, greyBitmap.Bytes()},
		{"TIFF", crawl.ImageTIFF, tagged.Bytes()},
		{"LZWTIFF", crawl.ImageTIFF, fixture(tb, "lzw.tiff")},
		{"BigEndianTIFF", crawl.ImageTIFF, fixture(tb, "big-endian.tiff")},
		{"LosslessWebP", crawl.ImageWebP, fixture(tb, "lossless.webp")},
		{"LossyWebP", crawl.ImageWebP, fixture(tb, "lossy.webp")},
		{"AlphaWebP", crawl.ImageWebP, fixture(tb, "alpha.webp")},
		{"AnimatedWebP", crawl.ImageWebP, fixture(tb, "animated.webp")},
	}
}

// encodeGIF makes a GIF whose frames are the same.
func encodeGIF(tb testing.TB, img image.Image, frames int) []byte {
	tb.Helper()
	shades := make(color.Palette, 256)
	for i := range shades {
		shades[i] = color.Gray{uint8(i)}
	}
	paletted := image.NewPaletted(img.Bounds(), shades)
	draw.Draw(paletted, paletted.Bounds(), img, image.Point{}, draw.Src)
	animation := &gif.GIF{}
	for range frames {
		animation.Image, animation.Delay = append(animation.Image, paletted), append(animation.Delay, 10)
	}
	var out bytes.Buffer
	require.NoError(tb, gif.EncodeAll(&out, animation))
	return out.Bytes()
}

// tag is one of an EXIF directory: a number, or a text, or another directory.
type tag struct {
	id    uint16
	value any
}

// exif makes EXIF of directories of tags.
func exif(tags ...tag) []byte {
	return append([]byte("II*\x00\x08\x00\x00\x00"), directory(8, tags)...)
}

// directory makes one that is at a place in the file, followed by what it points at.
func directory(at int, tags []tag) []byte {
	le := binary.LittleEndian
	out := le.AppendUint16(nil, uint16(len(tags)))
	after := at + 2 + 12*len(tags) + 4
	var rest []byte
	for _, t := range tags {
		out = le.AppendUint16(out, t.id)
		switch v := t.value.(type) {
		case int:
			out = le.AppendUint32(le.AppendUint32(le.AppendUint16(out, 3), 1), uint32(v))
			continue
		case string:
			v += "\x00\x00\x00\x00"
			out = le.AppendUint32(le.AppendUint16(out, 2), uint32(len(v)))
			out = le.AppendUint32(out, uint32(after+len(rest)))
			rest = append(rest, v...)
		case [3]uint32: // degrees, minutes and seconds
			out = le.AppendUint32(le.AppendUint16(out, 5), 3)
			out = le.AppendUint32(out, uint32(after+len(rest)))
			for _, n := range v {
				rest = le.AppendUint32(le.AppendUint32(rest, n), 1)
			}
		case []tag:
			out = le.AppendUint32(le.AppendUint16(out, 4), 1)
			out = le.AppendUint32(out, uint32(after+len(rest)))
			rest = append(rest, directory(after+len(rest), v)...)
		}
	}
	return append(append(out, 0, 0, 0, 0), rest...)
}

// The tags of EXIF that the tests write.
const (
	tagMake        = 0x010f
	tagModel       = 0x0110
	tagOrientation = 0x0112
	tagArtist      = 0x013b
	tagCopyright   = 0x8298
	tagExif        = 0x8769
	tagGPS         = 0x8825
	tagTaken       = 0x9003
)

// withChunk is a PNG with one more chunk after its header.
func withChunk(png []byte, kind string, data []byte) []byte {
	chunk := append([]byte(kind), data...)
	sum := crc32.ChecksumIEEE(chunk)
	chunk = append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), chunk...)
	chunk = binary.BigEndian.AppendUint32(chunk, sum)
	const header = 8 + 25
	return bytes.Join([][]byte{png[:header], chunk, png[header:]}, nil)
}

// withSegment is a JPEG with one more segment at its beginning.
func withSegment(jpeg []byte, marker byte, data string) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(data)))
	return bytes.Join([][]byte{jpeg[:2], segment, []byte(data), jpeg[2:]}, nil)
}

// withRIFF is a WebP that has a canvas, with one more chunk at its end.
func withRIFF(webp []byte, kind string, data []byte) []byte {
	if len(data)%2 == 1 {
		data = append(data, 0)
	}
	out := binary.LittleEndian.AppendUint32(append(bytes.Clone(webp), kind...), uint32(len(data)))
	out = append(out, data...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// box makes a box of an ISO base media file.
func box(kind string, content ...[]byte) []byte {
	inner := bytes.Join(content, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(inner))), kind...), inner...)
}

// numbers are big-endian, of 4 bytes each.
func numbers(all ...uint32) (out []byte) {
	for _, n := range all {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return out
}

// heif makes the boxes of an AVIF or HEIC file whose picture is turned by quarters, with
// more of them in its index.
func heif(brand string, width, height uint32, quarters byte, more ...[]byte) []byte {
	properties := box("ipco", box("ispe", numbers(0, width, height)), box("irot", []byte{quarters}))
	of := box("ipma", numbers(0, 1), []byte{0, 1, 2, 1, 2})
	return bytes.Join([][]byte{
		box("ftyp", []byte(brand), numbers(0), []byte("mif1"), []byte(brand)),
		box("meta", append([][]byte{numbers(0), box("pitm", numbers(0), []byte{0, 1}), box("iprp", properties, of)}, more...)...),
		box("mdat", []byte("not decoded")),
	}, nil)
}

// heifWith is an AVIF with EXIF and XMP, which are after all else.
func heifWith(exif, xmp []byte) []byte {
	exif = append(numbers(0), exif...) // it begins at once
	items := box("iinf", numbers(0), []byte{0, 2},
		box("infe", numbers(2<<24), []byte{0, 2, 0, 0}, []byte("Exif\x00")),
		box("infe", numbers(2<<24), []byte{0, 3, 0, 0}, []byte("mime\x00application/rdf+xml\x00")))
	at := func(offset int) []byte {
		return box("iloc", numbers(0), []byte{0x44, 0, 0, 2},
			[]byte{0, 2, 0, 0, 0, 1}, numbers(uint32(offset), uint32(len(exif))),
			[]byte{0, 3, 0, 0, 0, 1}, numbers(uint32(offset+len(exif)), uint32(len(xmp))))
	}
	end := len(heif("avif", 640, 480, 0, items, at(0)))
	return bytes.Join([][]byte{heif("avif", 640, 480, 0, items, at(end)), exif, xmp}, nil)
}
