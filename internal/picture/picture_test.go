package picture_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/picture"
)

func Example() {
	reader := picture.New(picture.Limits{})
	var file bytes.Buffer
	if err := jpeg.Encode(&file, drawKind(1, 1, 640, 480), nil); err != nil {
		panic(err)
	}
	got, err := reader.Read(context.Background(), bytes.NewReader(file.Bytes()), int64(file.Len()), picture.Options{MinSize: 200})
	fmt.Println(got.Format, got.Width, got.Height, got.Flat, err)
	// Output: jpeg 640 480 false <nil>
}

func TestFormats(t *testing.T) {
	t.Parallel()
	frames := map[string]int{"AnimatedGIF": 3, "AnimatedPNG": 3, "AnimatedWebP": 3}
	for _, f := range files(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			got, err := picture.New(picture.Limits{}).
				Read(t.Context(), bytes.NewReader(f.bytes), int64(len(f.bytes)), picture.Options{Thumbnail: true})
			require.NoError(t, err)
			require.Empty(t, got.Undecoded)
			require.Equal(t, f.format, got.Format)
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(f.bytes)), got.SHA256)
			require.EqualValues(t, len(f.bytes), got.Bytes)
			require.Equal(t, max(frames[f.name], 1), got.Frames)
			require.NotNil(t, got.PHash)
			require.NotNil(t, got.DHash)
			small, err := jpeg.DecodeConfig(bytes.NewReader(got.Thumbnail))
			require.NoError(t, err)
			require.Equal(t, min(got.Width, 256), small.Width)
			require.Equal(t, min(got.Height, 256), small.Height)
		})
	}
	t.Run("SameHashInAll", func(t *testing.T) {
		t.Parallel()
		for original, same := range map[string][]string{
			"small.png": {"lossless.webp", "lzw.tiff", "big-endian.tiff", "interlaced.png", "animated.png", "cmyk.jpg", "small-progressive.jpg"},
			"alpha.png": {"alpha.webp", "animated.webp"},
		} {
			want := read(t, fixture(t, original))
			require.False(t, want.Flat)
			for _, name := range same {
				got := read(t, fixture(t, name))
				require.LessOrEqual(t, got.PHash.Distance(*want.PHash), 2, name)
				require.LessOrEqual(t, got.DHash.Distance(*want.DHash), 4, name)
			}
		}
	})
	t.Run("SizeWithoutDecoder", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			format        crawl.ImageFormat
			file          []byte
			width, height int
		}{
			{crawl.ImageAVIF, heif("avif", 640, 480, 0), 640, 480},
			{crawl.ImageAVIF, heif("avif", 640, 480, 1), 480, 640},
			{crawl.ImageHEIC, heif("heic", 4032, 3024, 2), 4032, 3024},
			{crawl.ImageHEIC, heif("mif1", 4032, 3024, 3), 3024, 4032},
		} {
			got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(c.file), int64(len(c.file)), picture.Options{})
			require.NoError(t, err)
			require.Equal(t, c.format, got.Format)
			require.Equal(t, []int{c.width, c.height}, []int{got.Width, got.Height})
			require.Equal(t, "no decoder for "+string(c.format), got.Undecoded)
			require.Nil(t, got.PHash)
			require.Len(t, got.SHA256, 64)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	sound := encodePNG(t, drawKind(1, 1, 120, 90))
	for name, c := range map[string]struct {
		file    []byte
		limits  picture.Limits
		options picture.Options
		err     error
		text    string
	}{
		"Nothing":     {nil, picture.Limits{}, picture.Options{}, picture.ErrUnsupported, "text/plain"},
		"HTML":        {[]byte("<!doctype html><p>no"), picture.Limits{}, picture.Options{}, picture.ErrUnsupported, "text/html"},
		"ICO":         {[]byte("\x00\x00\x01\x00\x01\x00"), picture.Limits{}, picture.Options{}, picture.ErrUnsupported, "image/x-icon"},
		"SVG":         {[]byte("<?xml version='1.0'?><svg/>"), picture.Limits{}, picture.Options{}, picture.ErrSVG, ""},
		"ManyPixels":  {sound, picture.Limits{MaxPixels: 120*90 - 1}, picture.Options{}, picture.ErrTooManyPixels, "120×90"},
		"Small":       {sound, picture.Limits{}, picture.Options{MinSize: 121}, picture.ErrTooSmall, "120×90"},
		"Low":         {sound, picture.Limits{}, picture.Options{MinSize: 91}, picture.ErrTooSmall, "120×90"},
		"CutOff":      {sound[:len(sound)/2], picture.Limits{}, picture.Options{}, picture.ErrMalformed, "png"},
		"OnlyAHeader": {sound[:33], picture.Limits{}, picture.Options{}, picture.ErrMalformed, "png"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := picture.New(c.limits).Read(t.Context(), bytes.NewReader(c.file), int64(len(c.file)), c.options)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.text)
		})
	}
	t.Run("KeepsWhatIsKnown", func(t *testing.T) {
		t.Parallel()
		got, err := picture.New(picture.Limits{}).
			Read(t.Context(), bytes.NewReader(sound), int64(len(sound)), picture.Options{MinSize: 1000})
		require.ErrorIs(t, err, picture.ErrTooSmall)
		require.Equal(t, crawl.ImagePNG, got.Format)
		require.Equal(t, 120, got.Width)
	})
	t.Run("NotDecodedWithoutTheMemory", func(t *testing.T) {
		t.Parallel()
		got, err := picture.New(picture.Limits{MaxMemory: 4 << 20}).
			Read(t.Context(), bytes.NewReader(sound), int64(len(sound)), picture.Options{Thumbnail: true})
		require.NoError(t, err)
		require.Contains(t, got.Undecoded, "bytes of memory")
		require.Nil(t, got.PHash)
		require.Nil(t, got.Thumbnail)
		require.Len(t, got.SHA256, 64)
	})
}

func TestFaultsThatAreNotTheFiles(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			// The storage fails, or the context ends, at any read.
			for at := 1; ; at++ {
				broken := &failing{file: bytes.NewReader(f.bytes), at: at}
				_, err := picture.New(picture.Limits{}).Read(t.Context(), broken, int64(len(f.bytes)), picture.Options{})
				if broken.reads < at {
					require.NoError(t, err)
					break
				}
				require.ErrorIs(t, err, errStorage)
				require.NotErrorIs(t, err, picture.ErrMalformed)

				ctx, cancel := context.WithCancel(t.Context())
				ending := &failing{file: bytes.NewReader(f.bytes), at: at, instead: cancel}
				_, err = picture.New(picture.Limits{}).Read(ctx, ending, int64(len(f.bytes)), picture.Options{})
				if err != nil { // else it was the last read
					require.ErrorIs(t, err, context.Canceled)
				}
			}
		})
	}
}

var errStorage = errors.New("the disk is on fire")

// failing is a file with a read that fails, or before which something else happens.
type failing struct {
	file      *bytes.Reader
	reads, at int
	instead   func()
}

func (f *failing) ReadAt(p []byte, offset int64) (int, error) {
	f.reads++
	if f.reads == f.at {
		if f.instead == nil {
			return 0, errStorage
		}
		f.instead()
	}
	return f.file.ReadAt(p, offset)
}

func TestDecodersPanicCostsOnePicture(t *testing.T) {
	t.Parallel()
	file := encodePNG(t, drawKind(1, 1, 120, 90))
	reader := picture.WithDecoder(picture.Limits{MaxDecodes: 1, MaxMemory: 5 << 20}, crawl.ImagePNG, func(io.Reader) (image.Image, error) {
		panic("index out of range")
	})
	for range 3 { // its place and its memory are free again
		_, err := reader.Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
		require.ErrorIs(t, err, picture.ErrMalformed)
		require.ErrorContains(t, err, "panicked: index out of range")
	}
}

func TestDecodesAreBounded(t *testing.T) {
	t.Parallel()
	file := encodePNG(t, drawKind(1, 1, 120, 90))
	entered, leave := make(chan int), make(chan int)
	reader := picture.WithDecoder(picture.Limits{MaxDecodes: 2}, crawl.ImagePNG, func(io.Reader) (image.Image, error) {
		entered <- 1
		<-leave
		return image.NewGray(image.Rect(0, 0, 120, 90)), nil
	})
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	for range 3 {
		go func() {
			_, err := reader.Read(ctx, bytes.NewReader(file), int64(len(file)), picture.Options{})
			done <- err
		}()
	}
	<-entered
	<-entered
	cancel()
	require.ErrorIs(t, <-done, context.Canceled) // the third, which has no place
	leave <- 1
	leave <- 1
	require.NoError(t, <-done)
	require.NoError(t, <-done)
}

// turned is a picture as it is stored for an orientation.
func turned(img image.Image, orientation int) image.Image {
	b := img.Bounds()
	width, height := b.Dx(), b.Dy()
	if orientation >= 5 {
		width, height = height, width
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			// Where row 0 and column 0 are as they are seen (EXIF 2.32, 4.6.4).
			right, below := b.Dx()-1, b.Dy()-1
			seen := []image.Point{
				1: {x, y}, 2: {right - x, y}, 3: {right - x, below - y}, 4: {x, below - y},
				5: {y, x}, 6: {right - y, x}, 7: {right - y, below - x}, 8: {y, below - x},
			}[orientation]
			out.Set(x, y, img.At(seen.X, seen.Y))
		}
	}
	return out
}

func TestOrientation(t *testing.T) {
	t.Parallel()
	upright := drawKind(5, 3, 1100, 530) // large enough to be reduced in one direction
	want := read(t, encodePNG(t, upright))
	for orientation := 1; orientation <= 8; orientation++ {
		block := exif(tag{tagOrientation, orientation})
		stored := turned(upright, orientation)
		got := read(t, withChunk(encodePNG(t, stored), "eXIf", block))
		require.Equal(t, []int{1100, 530}, []int{got.Width, got.Height}, orientation)
		require.Equal(t, *want.PHash, *got.PHash, orientation)
		require.Equal(t, *want.DHash, *got.DHash, orientation)

		got = read(t, withSegment(encodeJPEG(t, stored, 95), 0xe1, "Exif\x00\x00"+string(block)))
		require.Equal(t, []int{1100, 530}, []int{got.Width, got.Height}, orientation)
		require.LessOrEqual(t, got.PHash.Distance(*want.PHash), 2, orientation)
	}
	t.Run("Thumbnail", func(t *testing.T) {
		t.Parallel()
		file := withChunk(encodePNG(t, turned(upright, 6)), "eXIf", exif(tag{tagOrientation, 6}))
		got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{Thumbnail: true})
		require.NoError(t, err)
		small := read(t, got.Thumbnail)
		require.Equal(t, []int{256, 123}, []int{small.Width, small.Height})
		require.LessOrEqual(t, small.PHash.Distance(*want.PHash), 4)
	})
}

const xmpPacket = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/" xmlns:plus="http://ns.useplus.org/ldf/xmp/1.0/"
 xmlns:cc="http://creativecommons.org/ns#" xmlns:exif="http://ns.adobe.com/exif/1.0/"
 photoshop:Credit="An Agency" exif:GPSLatitude="52,31.2N" exif:DateTimeOriginal="2024-05-06T07:08:09+02:00">
 <dc:creator><rdf:Seq><rdf:li>Ana Ruiz</rdf:li><rdf:li>Bo Li</rdf:li></rdf:Seq></dc:creator>
 <dc:rights><rdf:Alt><rdf:li xml:lang="x-default">© 2024 Ana Ruiz</rdf:li></rdf:Alt></dc:rights>
 <cc:license rdf:resource="https://creativecommons.org/licenses/by/4.0/"/>
 <plus:Licensor><rdf:Seq><rdf:li rdf:parseType="Resource">
  <plus:LicensorURL>https://agency.example/licence</plus:LicensorURL></rdf:li></rdf:Seq></plus:Licensor>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`

// iptcInUTF8 is the record at the beginning of IPTC data that declares UTF-8.
const iptcInUTF8 = "\x1c\x01\x5a\x00\x03\x1b%G"

// iptcBlock is IPTC in a resource of Photoshop's.
func iptcBlock(records map[byte]string, before ...string) string {
	var data strings.Builder
	data.WriteString(strings.Join(before, ""))
	for _, id := range []byte{80, 110, 116} {
		fmt.Fprintf(&data, "\x1c\x02%c\x00%c%s", id, len(records[id]), records[id])
	}
	return fmt.Sprintf("Photoshop 3.0\x008BIM\x04\x04\x00\x00\x00\x00\x00%c%s", data.Len(), data.String())
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	img := drawKind(1, 1, 120, 90)
	block := exif(
		tag{tagMake, "NIKON CORPORATION"},
		tag{tagModel, "NIKON D850"},
		tag{tagArtist, "Ana\u202eRuiz\x1b[2J"},
		tag{tagCopyright, strings.Repeat("©", 600)},
		tag{tagExif, []tag{{tagTaken, "2023:02:03 04:05:06"}}},
		tag{tagGPS, []tag{{1, "N"}, {2, [3]uint32{52, 31, 12}}, {3, "E"}, {4, [3]uint32{13, 24, 18}}}},
	)
	fromExif := crawl.ImageMeta{
		Camera: "NIKON D850", TakenAt: time.Date(2023, 2, 3, 4, 5, 6, 0, time.UTC),
		Creator: "AnaRuiz[2J", Copyright: strings.Repeat("©", 250),
	}
	fromXMP := crawl.ImageMeta{
		TakenAt: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Creator: "Ana Ruiz", Credit: "An Agency",
		Copyright: "© 2024 Ana Ruiz", License: "https://creativecommons.org/licenses/by/4.0/",
	}
	png, jpeg, webp := encodePNG(t, img), encodeJPEG(t, img, 90), fixture(t, "alpha.webp")
	t.Run("AVIF", func(t *testing.T) {
		t.Parallel()
		file := heifWith(exif(tag{tagOrientation, 6}, tag{tagModel, "Phone"}), []byte(xmpPacket))
		got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
		require.NoError(t, err)
		want := fromXMP
		want.Camera = "Phone"
		require.Equal(t, want, got.Meta)
		require.Equal(t, 640, got.Width) // a box turns it, or nothing does
	})
	for name, c := range map[string]struct {
		file []byte
		want crawl.ImageMeta
	}{
		"JPEGWithEXIF": {withSegment(jpeg, 0xe1, "Exif\x00\x00"+string(block)), fromExif},
		"PNGWithEXIF":  {withChunk(png, "eXIf", block), fromExif},
		"WebPWithEXIF": {withRIFF(webp, "EXIF", block), fromExif},
		"JPEGWithXMP":  {withSegment(jpeg, 0xe1, "http://ns.adobe.com/xap/1.0/\x00"+xmpPacket), fromXMP},
		"PNGWithXMP":   {withChunk(png, "iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"+xmpPacket)), fromXMP},
		"WebPWithXMP":  {withRIFF(webp, "XMP ", []byte(xmpPacket)), fromXMP},
		"JPEGWithIPTC": {
			withSegment(jpeg, 0xed, iptcBlock(map[byte]string{80: "Cy Poe", 110: "Wire", 116: "(c) Wire"})),
			crawl.ImageMeta{Creator: "Cy Poe", Credit: "Wire", Copyright: "(c) Wire"},
		},
		"JPEGWithIPTCInUTF8": {
			withSegment(jpeg, 0xed, iptcBlock(map[byte]string{80: "José", 116: "© Wire"}, iptcInUTF8)),
			crawl.ImageMeta{Creator: "José", Copyright: "© Wire"},
		},
		"JPEGWithIPTCInLatin1": {
			withSegment(jpeg, 0xed, iptcBlock(map[byte]string{80: "Jos\xe9", 116: "\xa9 Wire"})),
			crawl.ImageMeta{Creator: "José", Copyright: "© Wire"},
		},
		"EXIFBeforeXMP": {
			withSegment(withSegment(jpeg, 0xe1, "http://ns.adobe.com/xap/1.0/\x00"+xmpPacket), 0xe1,
				"Exif\x00\x00"+string(exif(tag{tagArtist, "Di Oz"}))),
			crawl.ImageMeta{
				TakenAt: fromXMP.TakenAt, Creator: "Di Oz", Credit: fromXMP.Credit, Copyright: fromXMP.Copyright, License: fromXMP.License,
			},
		},
		"None":         {jpeg, crawl.ImageMeta{}},
		"GarbledEXIF":  {withSegment(jpeg, 0xe1, "Exif\x00\x00"+strings.Repeat("\xff", 500)), crawl.ImageMeta{}},
		"GarbledXMP":   {withChunk(png, "iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00<a<b><<")), crawl.ImageMeta{}},
		"GarbledICC":   {withSegment(jpeg, 0xe2, "ICC_PROFILE\x00\x01\x01"+strings.Repeat("\xff", 500)), crawl.ImageMeta{}},
		"DeepXMP":      {withChunk(png, "iTXt", []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00"+strings.Repeat("<a>", 20_000))), crawl.ImageMeta{}},
		"NoDate":       {withChunk(png, "eXIf", exif(tag{tagExif, []tag{{tagTaken, "0000:00:00 00:00:00"}}})), crawl.ImageMeta{}},
		"WrongTurning": {withChunk(png, "eXIf", exif(tag{tagOrientation, 9})), crawl.ImageMeta{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, c.file)
			require.Equal(t, c.want, got.Meta)
		})
	}
}
