package picture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/bep/imagemeta"
	"golang.org/x/image/bmp"

	"github.com/mosey-web/mosey/crawl"
)

// survey is the structure of a file before its pixels are decoded.
type survey struct {
	format crawl.ImageFormat
	// width and height are the stored size of the picture, before its orientation.
	width, height int
	frames        int
	// memory estimates the bytes for decoding, at most memoryMax.
	memory int64
	// undecodable is the reason why the file cannot be decoded, or empty.
	undecodable string
	// grey is set if a PNG has no colours.
	grey bool
	// first locates the first frame of an animated WebP.
	first webpFrame
	// exif and xmp are the metadata of a file of chunks.
	exif, xmp []byte
}

const (
	// sectionBytesMax caps a section of metadata. Longer sections are skipped.
	sectionBytesMax = 1 << 20
	// memoryMax caps estimates, which are products of numbers in the file.
	memoryMax = 1 << 60
	// heifIndexMax caps the bytes that are read of the index of an AVIF or HEIC file.
	heifIndexMax = 1 << 20
)

// readSurvey reads the structure of a file. Errors mean a malformed file, unless the source has an
// error.
func readSurvey(format crawl.ImageFormat, src *source) (*survey, error) {
	s := &survey{format: format, frames: 1}
	var err error
	switch format {
	case crawl.ImageJPEG:
		err = s.jpeg(src.buffered())
	case crawl.ImagePNG:
		err = s.png(src.buffered())
	case crawl.ImageGIF:
		err = s.gif(src.buffered())
	case crawl.ImageWebP:
		err = s.webp(src)
	case crawl.ImageBMP:
		err = s.bmp(src)
	case crawl.ImageTIFF:
		err = s.tiff(src)
	case crawl.ImageAVIF, crawl.ImageHEIC:
		err = s.heif(src)
	}
	if err == nil && (s.width <= 0 || s.height <= 0) {
		err = errors.New("the width or the height is zero")
	}
	return s, unexpectedEOF(err)
}

// unexpectedEOF converts io.EOF into io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pixels returns the number of pixels of a frame.
func (s *survey) pixels() int64 { return int64(s.width) * int64(s.height) }

// addMemory adds the product of some factors to the estimate.
func (s *survey) addMemory(factors ...int64) {
	s.memory = min(s.memory+product(factors...), memoryMax)
}

// product multiplies up to memoryMax. A negative factor has overflowed.
func product(factors ...int64) int64 {
	n := int64(1)
	for _, factor := range factors {
		if factor < 0 || factor > 0 && n > memoryMax/factor {
			return memoryMax
		}
		n *= factor
	}
	return n
}

// heif reads the displayed size of an AVIF or HEIC file (ISO/IEC 23008-12). Neither has a decoder.
func (s *survey) heif(src *source) error {
	s.undecodable = "no decoder for " + string(s.format)
	var head [12]byte
	if _, err := src.grantPass().ReadAt(head[:], 0); err != nil {
		return err
	}
	switch string(head[8:]) {
	case "avis", "msf1", "hevc", "hevx":
		s.frames = 0 // a sequence; only its samples show its length
	}
	return s.sizeOf(src.grant(heifIndexMax, metaReadsMax), imagemeta.HEIF)
}

// bmp reads the header of a BMP, including kinds without a decoder.
func (s *survey) bmp(src *source) error {
	head := make([]byte, 30)
	if _, err := io.ReadFull(src.grantPass(), head); err != nil {
		return err
	}
	le := binary.LittleEndian
	depth := int64(le.Uint16(head[28:]))
	s.width, s.height = int(int32(le.Uint32(head[18:]))), int(int32(le.Uint32(head[22:]))) //nolint:gosec // as it is signed there
	if head[14] == 12 {
		s.width, s.height = int(le.Uint16(head[18:])), int(le.Uint16(head[20:]))
	}
	s.height = max(s.height, -s.height) // a negative height means from the top down
	config, err := bmp.DecodeConfig(src.grantPass())
	if errors.Is(err, bmp.ErrUnsupported) {
		s.undecodable = "no decoder for this kind of bmp"
		return nil
	}
	// Rows are not compressed, so missing rows are detected before memory is allocated.
	if err == nil && int64(s.width)*depth/8*int64(s.height) > src.size {
		return io.ErrUnexpectedEOF
	}
	s.addMemory(bytesPerPixel(config.ColorModel), int64(s.width), int64(s.height))
	return err
}

// discard skips n bytes, which may exceed an int.
func discard(r *bufio.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

// section returns a section of n bytes without its mark. It skips other marks and longer sections.
func section(r *bufio.Reader, n int64, mark string) ([]byte, error) {
	if n > sectionBytesMax || n < int64(len(mark)) {
		return nil, discard(r, n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	if string(data[:len(mark)]) != mark {
		return nil, nil
	}
	return data[len(mark):], nil
}

// The blocks of a GIF (GIF89a, section 20 and following).
const (
	gifExtension = 0x21
	gifImage     = 0x2c
	gifTrailer   = 0x3b
)

// gif reads the blocks of a GIF. Its trailer may be missing, but not the end of a block.
func (s *survey) gif(r *bufio.Reader) error {
	head := make([]byte, 13)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	s.width, s.height = int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:]))
	s.memory = 2 * s.pixels() // an interlaced frame is reordered into a second one
	if err := discard(r, gifPalette(head[10])); err != nil {
		return err
	}
	for s.frames = 0; ; {
		kind, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && s.frames > 0, kind == gifTrailer && s.frames > 0:
			return nil
		case err != nil:
			return err
		case kind == 0: // left over from a block
			continue
		case kind == gifExtension:
			err = discard(r, 1) // its label
		case kind == gifImage:
			s.frames++
			if _, err = io.ReadFull(r, head[:9]); err == nil {
				err = discard(r, gifPalette(head[8])+1) // and the length of its codes
			}
		default:
			return errors.New("a block has an unknown type, or the frame is missing")
		}
		if err == nil {
			err = gifSubBlocks(r)
		}
		if err != nil {
			return err
		}
	}
}

// gifPalette returns the bytes of the palette that the flags announce.
func gifPalette(flags byte) int64 {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// gifSubBlocks skips data in pieces of up to 255 bytes. The last piece is empty.
func gifSubBlocks(r *bufio.Reader) error {
	for {
		n, err := r.ReadByte()
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if err := discard(r, int64(n)); err != nil {
			return err
		}
	}
}

// xmpKeyword begins the text chunk of a PNG with XMP, uncompressed and without a language.
const xmpKeyword = "XML:com.adobe.xmp\x00\x00\x00\x00\x00"

// png reads the chunks of a PNG up to its end.
func (s *survey) png(r *bufio.Reader) error {
	if err := discard(r, 8); err != nil {
		return err
	}
	for first := true; ; first = false {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		n, kind := int64(binary.BigEndian.Uint32(head[:])), string(head[4:])
		if first != (kind == "IHDR") {
			return errors.New("the file does not begin with a single header")
		}
		if kind == "IEND" {
			return nil
		}
		if err := s.pngChunk(r, kind, n); err != nil {
			return err
		}
		if err := discard(r, 4); err != nil { // the checksum
			return err
		}
	}
}

func (s *survey) pngChunk(r *bufio.Reader, kind string, n int64) (err error) {
	var data []byte
	switch kind {
	case "IHDR":
		if data, err = section(r, n, ""); err == nil {
			err = s.pngHeader(data)
		}
	case "acTL": // Animated PNG
		if data, err = section(r, n, ""); len(data) >= 4 {
			s.frames = int(min(binary.BigEndian.Uint32(data), 1<<20))
		}
	case "tRNS": // converts grey to colours with alpha; the decoder accepts only one such chunk
		if s.grey {
			s.addMemory(3, s.memory)
			s.grey = false
		}
		err = discard(r, n)
	case "eXIf":
		s.exif, err = section(r, n, "")
	case "iTXt":
		if data, err = section(r, n, xmpKeyword); data != nil {
			s.xmp = data
		}
	default:
		err = discard(r, n)
	}
	return err
}

// pngHeader reads IHDR. The decoder has a picture type for each depth and kind of colour. It
// allocates another picture for a pass of an interlaced one.
func (s *survey) pngHeader(data []byte) error {
	if len(data) != 13 {
		return errors.New("the header has the wrong length")
	}
	width, height := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return errors.New("the size is negative")
	}
	s.width, s.height = int(width), int(height)
	depth, colour, interlaced := data[8], data[9], data[12] != 0
	perPixel := int64(4)
	switch {
	case colour == 3, colour == 0 && depth <= 8:
		perPixel = 1
	case colour == 0:
		perPixel = 2
	case depth == 16:
		perPixel = 8
	}
	if interlaced {
		perPixel *= 2
	}
	s.grey = colour == 0
	s.addMemory(perPixel, int64(s.width), int64(s.height))
	return nil
}
