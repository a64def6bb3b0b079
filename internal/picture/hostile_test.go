package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/test/race"
)

func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for eighth := range 8 {
				part := f.bytes[:len(f.bytes)*eighth/8]
				got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(part), int64(len(part)), picture.Options{})
				if eighth == 0 {
					require.ErrorIs(t, err, picture.ErrUnsupported)
					continue
				}
				require.ErrorIs(t, err, picture.ErrMalformed, eighth)
				require.Equal(t, f.format, got.Format)
			}
		})
	}
}

func TestRandomBytesAfterTheMagicNumber(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			random := rand.NewChaCha8([32]byte{1})
			for _, kept := range []int{16, 64, 256, len(f.bytes) / 2} {
				file := bytes.Clone(f.bytes)
				_, err := random.Read(file[kept:])
				require.NoError(t, err)
				_, err = picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
				if err != nil { // pixels that are not compressed can be anything
					requireOurs(t, err)
				}
			}
		})
	}
}

// requireOurs requires an error to be of one of the kinds that are said against a file.
func requireOurs(t *testing.T, err error) {
	t.Helper()
	require.NotContains(t, err.Error(), "panicked")
	for _, kind := range []error{
		picture.ErrUnsupported, picture.ErrSVG, picture.ErrTooManyPixels, picture.ErrTooSmall, picture.ErrMalformed,
	} {
		if errors.Is(err, kind) {
			return
		}
	}
	require.NoError(t, err, "of no kind")
}

// claiming is a file whose header says that its picture has another size.
func claiming(tb testing.TB, f file, width, height uint32) []byte {
	tb.Helper()
	out := bytes.Clone(f.bytes)
	le, be := binary.LittleEndian, binary.BigEndian
	switch f.format {
	case crawl.ImageJPEG:
		at := bytes.Index(out, []byte("\xff\xc0"))
		if f.name == "ProgressiveJPEG" {
			at = bytes.Index(out, []byte("\xff\xc2"))
		}
		be.PutUint16(out[at+5:], uint16(height))
		be.PutUint16(out[at+7:], uint16(width))
	case crawl.ImagePNG:
		header := append(be.AppendUint32(be.AppendUint32(nil, width), height), out[24:29]...)
		out = withChunk(out, "IHDR", header) // after the first one, which goes
		out = slices.Delete(out, 8, 33)
	case crawl.ImageGIF:
		le.PutUint16(out[6:], uint16(width))
		le.PutUint16(out[8:], uint16(height))
		at := bytes.Index(out[13+3*256:], []byte{0x2c}) + 13 + 3*256
		copy(out[at+5:], out[6:10])
	case crawl.ImageBMP:
		le.PutUint32(out[18:], width)
		le.PutUint32(out[22:], height)
	case crawl.ImageTIFF:
		order := binary.ByteOrder(le)
		if out[0] == 'M' {
			order = be
		}
		at := order.Uint32(out[4:]) + 2
		for _, value := range map[uint16]uint32{256: width, 257: height} {
			order.PutUint16(out[at+2:], 4)
			order.PutUint32(out[at+8:], value)
			at += 12
		}
	case crawl.ImageWebP:
		if string(out[12:16]) != "VP8X" {
			return nil
		}
		copy(out[24:], le.AppendUint32(nil, width-1)[:3])
		copy(out[27:], le.AppendUint32(nil, height-1)[:3])
	case crawl.ImageAVIF, crawl.ImageHEIC:
		return heif(f.name, width, height, 0)
	}
	return out
}

func TestBombs(t *testing.T) {
	t.Parallel()
	all := append(files(t), file{"avif", crawl.ImageAVIF, nil}, file{"heic", crawl.ImageHEIC, nil})
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			most := uint32(100_000)
			if f.format == crawl.ImageJPEG || f.format == crawl.ImageGIF {
				most = 65_535
			}
			large := claiming(t, f, most, most)
			if large == nil {
				t.Skip("its size cannot be more than 16,384")
			}
			_, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(large), int64(len(large)), picture.Options{})
			if f.format == crawl.ImageBMP { // that its rows are missing is known from their number
				require.ErrorIs(t, err, picture.ErrMalformed)
			} else {
				require.ErrorIs(t, err, picture.ErrTooManyPixels)
				require.ErrorContains(t, err, "limit of 40000000")
			}

			// As large as may be: it takes its memory, and is found to be wrong.
			allowed := claiming(t, f, 2_000, 2_000)
			got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(allowed), int64(len(allowed)), picture.Options{})
			if f.bytes == nil || f.name == "AnimatedWebP" { // it is not decoded, or on a canvas
				require.NoError(t, err)
				require.Equal(t, 2_000, got.Width)
				return
			}
			require.ErrorIs(t, err, picture.ErrMalformed)
		})
	}
}

// A progressive JPEG has its picture gone over by each scan, and a scan can be short.
func TestManyScans(t *testing.T) {
	t.Parallel()
	jpeg := fixture(t, "small-progressive.jpg")
	at := bytes.LastIndex(jpeg, []byte("\xff\xda"))
	scan := jpeg[at : len(jpeg)-2]
	many := append(bytes.Clone(jpeg[:at]), bytes.Repeat(scan, 200)...)
	many = append(many, 0xff, 0xd9)
	got, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(many), int64(len(many)), picture.Options{})
	require.NoError(t, err)
	require.Contains(t, got.Undecoded, "scans, more than the limit of 100")
}

// The strips of a TIFF can all be the same bytes, which would be read once for each.
func TestStripsOverEachOther(t *testing.T) {
	t.Parallel()
	const rows, junk = 4_000, 1 << 20
	le := binary.LittleEndian
	entry := func(id, kind uint16, count, value uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(nil, id), kind), count), value)
	}
	const head, directory = 8, 2 + 9*12 + 4
	offsets, counts := uint32(head+directory), uint32(head+directory+4*rows)
	data := counts + 4*rows
	file := append([]byte("II*\x00\x08\x00\x00\x00"), 9, 0)
	file = append(file, bytes.Join([][]byte{
		entry(256, 3, 1, 8), entry(257, 3, 1, rows), entry(258, 3, 1, 8), entry(259, 3, 1, 32773), entry(262, 3, 1, 1),
		entry(273, 4, rows, offsets), entry(277, 3, 1, 1), entry(278, 3, 1, 1), entry(279, 4, rows, counts),
		{0, 0, 0, 0},
	}, nil)...)
	for range rows {
		file = le.AppendUint32(file, data)
	}
	for range rows {
		file = le.AppendUint32(file, junk+9)
	}
	file = append(file, bytes.Repeat([]byte{0x80}, junk)...) // of PackBits: nothing
	file = append(file, 7, 1, 2, 3, 4, 5, 6, 7, 8)
	_, err := picture.New(picture.Limits{}).Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{})
	require.ErrorIs(t, err, picture.ErrMalformed)
	require.ErrorContains(t, err, "too often")
}

// Directories of a TIFF can point at the same tags over and over, which the library that
// reads metadata follows.
func TestDirectoriesOverAndOver(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	entry := func(out []byte, id, kind uint16, count, value uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(out, id), kind), count), value)
	}
	const pointers, tags, end = 490, 5_000, 8 + 2 + 5*12 + 4
	file := append([]byte("II*\x00\x08\x00\x00\x00"), 5, 0)
	file = entry(file, 256, 3, 1, 10)
	file = entry(file, 257, 3, 1, 10)
	file = entry(file, 259, 3, 1, 7) // a compression that is not known
	file = entry(file, 262, 3, 1, 6) // as are its colours
	file = entry(file, 0x14a, 4, pointers, end)
	file = append(file, 0, 0, 0, 0)
	for range pointers {
		file = le.AppendUint32(file, end+4*pointers)
	}
	file = le.AppendUint16(file, tags)
	for range tags {
		file = entry(file, 1, 1, 1<<17, 0)
	}
	counted := &failing{file: bytes.NewReader(file)}
	got, err := picture.New(picture.Limits{}).Read(t.Context(), counted, int64(len(file)), picture.Options{})
	require.NoError(t, err)
	require.Equal(t, 10, got.Width)
	require.Contains(t, got.Undecoded, "tiff")
	require.Less(t, counted.reads, 5_000)

	// The same in a picture that is decoded.
	got = read(t, withChunk(encodePNG(t, drawKind(1, 1, 16, 12)), "eXIf", file))
	require.Empty(t, got.Meta)
}

// Not parallel: what is allocated is counted for the whole process.
//
//nolint:paralleltest // see above
func TestMemoryIsEstimated(t *testing.T) {
	if race.Enabled { // sync.Pool forgets then what it was given
		t.Skip("more is allocated under the race detector")
	}
	img := drawKind(1, 1, 1_000, 700)
	grey, deep, deepGrey := image.NewGray(img.Bounds()), image.NewNRGBA64(img.Bounds()), image.NewGray16(img.Bounds())
	for _, to := range []draw.Image{grey, deep, deepGrey} {
		draw.Draw(to, to.Bounds(), img, image.Point{}, draw.Src)
	}
	deep.Set(0, 0, color.NRGBA64{0xffff, 0, 0, 0x8000})
	encodeBMP := func(img image.Image) []byte {
		var out bytes.Buffer
		require.NoError(t, bmp.Encode(&out, img))
		return out.Bytes()
	}
	encodeTIFF := func(img image.Image, compression tiff.CompressionType) []byte {
		var out bytes.Buffer
		require.NoError(t, tiff.Encode(&out, img, &tiff.Options{Compression: compression}))
		return out.Bytes()
	}
	all := append(
		files(t),
		file{"large JPEG", "", encodeJPEG(t, img, 85)},
		file{"large grey JPEG", "", encodeJPEG(t, grey, 85)},
		file{"large progressive JPEG", "", fixture(t, "progressive.jpg")},
		file{"large PNG", "", encodePNG(t, img)},
		file{"large grey PNG", "", encodePNG(t, grey)},
		file{"large deep PNG", "", encodePNG(t, deep)},
		file{"large deep grey PNG", "", encodePNG(t, deepGrey)},
		file{"large GIF", "", encodeGIF(t, img, 1)},
		file{"large BMP", "", encodeBMP(img)},
		file{"large grey BMP", "", encodeBMP(grey)},
		file{"large TIFF", "", encodeTIFF(img, tiff.Uncompressed)},
		file{"large deflated TIFF", "", encodeTIFF(img, tiff.Deflate)},
		file{"large deep TIFF", "", encodeTIFF(deep, tiff.Deflate)},
		file{"large WebP", "", fixture(t, "lossy.webp")},
	)
	for _, f := range append(all, unpackingTIFFs(t)...) {
		estimated, taken, err := picture.Memory(f.bytes)
		require.NoError(t, err, f.name)
		t.Logf("%-24s estimated %9d, taken %9d", f.name, estimated, taken)
		require.Less(t, taken, estimated+picture.Overhead, f.name)
	}
}

func FuzzRead(f *testing.F) {
	for _, sound := range files(f) {
		if len(sound.bytes) < 20<<10 { // larger ones take long to make smaller
			f.Add(sound.bytes)
		}
	}
	f.Add(heif("avif", 640, 480, 1))
	f.Add(heif("heic", 640, 480, 1))
	f.Add(heifWith(exif(tag{tagModel, "Phone"}), []byte(xmpPacket)))
	f.Add([]byte("<svg/>"))
	png, jpeg := encodePNG(f, drawKind(1, 1, 16, 12)), encodeJPEG(f, drawKind(1, 1, 16, 12), 50)
	gps := exif(tag{tagOrientation, 6}, tag{tagExif, []tag{{tagTaken, "2023:02:03 04:05:06"}}}, tag{tagGPS, []tag{{1, "N"}}})
	f.Add(withChunk(png, "eXIf", gps))
	f.Add(withSegment(jpeg, 0xe1, "Exif\x00\x00"+string(gps)))
	f.Add(withSegment(jpeg, 0xe1, "http://ns.adobe.com/xap/1.0/\x00"+xmpPacket))
	f.Add(withSegment(jpeg, 0xed, iptcBlock(map[byte]string{80: "Cy Poe"})))
	f.Add(encodeGIF(f, drawKind(1, 1, 16, 12), 2))
	f.Add(transparentPNG())
	f.Add(transparentWebP())
	for _, unpacking := range unpackingTIFFs(f) {
		f.Add(unpacking.bytes)
	}
	reader := picture.New(picture.Limits{MaxPixels: 200_000, MaxMemory: 32 << 20})
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := reader.Read(t.Context(), bytes.NewReader(file), int64(len(file)), picture.Options{Thumbnail: true})
		if err != nil {
			requireOurs(t, err)
			require.Nil(t, got.PHash)
			return
		}
		require.Len(t, got.SHA256, 64)
		require.Positive(t, got.Width)
		require.Positive(t, got.Height)
		require.Equal(t, got.Undecoded == "", got.PHash != nil)
		require.Equal(t, got.Undecoded == "", got.Thumbnail != nil)
		for _, text := range []string{got.Meta.Camera, got.Meta.Creator, got.Meta.Credit, got.Meta.Copyright, got.Meta.License} {
			require.LessOrEqual(t, len(text), 500)
			require.Equal(t, crawl.CleanText(text, 500), text)
		}
	})
}

// The index of an AVIF or HEIC file can have items of no bytes, and count more of them than
// there are.
func TestIndexOfNothing(t *testing.T) {
	t.Parallel()
	be := binary.BigEndian
	locations := box("iloc", numbers(0), []byte{0, 0, 0xff, 0xff}, bytes.Repeat([]byte{0, 2, 0, 0, 0xff, 0xff}, 20_000))
	items := box("iinf", numbers(1<<24, 1<<31), box("infe", numbers(2<<24), []byte{0, 2, 0, 0}, []byte("Exif\x00")))
	for name, more := range map[string][]byte{
		"Extents":    locations,
		"Items":      append(items, box("infe", bytes.Repeat(numbers(2<<24), 50_000))...),
		"Length":     be.AppendUint32(be.AppendUint32(nil, 1), be.Uint32([]byte("free"))),
		"Properties": box("iprp", box("ipco", bytes.Repeat(box("irot", []byte{1}), 100_000)), box("ipma", numbers(1, 1<<31))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := heif("avif", 640, 480, 0, more)
			counted := &failing{file: bytes.NewReader(file)}
			start := time.Now()
			got, err := picture.New(picture.Limits{}).Read(t.Context(), counted, int64(len(file)), picture.Options{})
			t.Logf("%d bytes: %d reads, %v", len(file), counted.reads, time.Since(start).Round(time.Millisecond))
			require.Less(t, counted.reads, 5_000)
			if err != nil {
				requireOurs(t, err)
				return
			}
			require.Equal(t, 640, got.Width)
		})
	}
}
