package picture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/mosey-web/mosey/crawl"
)

// bufferBytes is the size of a read.
const bufferBytes = 64 << 10

// errReadTooOften reports a file that points at its own bytes repeatedly, as a TIFF can.
var errReadTooOften = errors.New("the file makes its decoder read the same bytes too often")

// source reads a file within its grant until the context ends. It is not safe for concurrent use.
type source struct {
	ctxErr func() error
	file   io.ReaderAt
	size   int64
	// bytes and reads are the rest of the grant.
	bytes, reads int64
	// err is the first error of the storage or the context, not of the file's contents.
	err error
}

func newSource(ctx context.Context, file io.ReaderAt, size int64) *source {
	return &source{ctxErr: func() error { return context.Cause(ctx) }, file: file, size: size}
}

// grant returns a reader of the file for the given bytes and reads.
func (s *source) grant(bytes, reads int64) *io.SectionReader {
	s.bytes, s.reads = bytes, reads
	return io.NewSectionReader(s, 0, s.size)
}

// grantPass grants one pass through the file, and a second read of its headers.
func (s *source) grantPass() *io.SectionReader {
	return s.grant(2*s.size+bufferBytes, s.size+bufferBytes)
}

// buffered is like grantPass, in larger pieces.
func (s *source) buffered() *bufio.Reader { return bufio.NewReaderSize(s.grantPass(), bufferBytes) }

// ReadAt implements io.ReaderAt within the grant.
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if err := s.ctxErr(); err != nil {
		s.err = err
		return 0, err
	}
	s.reads--
	if s.bytes < int64(len(p)) || s.reads < 0 {
		return 0, errReadTooOften
	}
	n, err := s.file.ReadAt(p, offset)
	s.bytes -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// overheadBytes is the memory of a picture besides its pixels: buffers, tables, reduced pictures.
const overheadBytes = 4 << 20

// decoder decodes the first frame of a file.
type decoder func(io.Reader) (image.Image, error)

var decoders = map[crawl.ImageFormat]decoder{
	crawl.ImageJPEG: jpeg.Decode,
	crawl.ImagePNG:  png.Decode,
	crawl.ImageGIF:  gif.Decode,
	crawl.ImageWebP: webp.Decode,
	crawl.ImageBMP:  bmp.Decode,
	crawl.ImageTIFF: tiff.Decode,
}

// unsupportedError reports a feature of a file that its decoder does not support.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }

// recoverPanic converts a panic into an error. A hostile file must cost one picture, not the
// worker.
func recoverPanic[T any](do func() (T, error)) (result T, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the decoder panicked: %v", panicked)
		}
	}()
	return do()
}

func (r *Reader) decode(found *survey, src *source) (pixels, error) {
	var in io.Reader
	switch {
	case found.format == crawl.ImageTIFF: // needs random access
		in = src.grantPass()
	case found.first.at > 0:
		in = found.first.reader(src)
	case found.format == crawl.ImagePNG:
		in = lenientPNG(src.buffered())
	case found.format == crawl.ImageGIF:
		in = lenientGIF(src.buffered())
	case found.format == crawl.ImageJPEG:
		// The file may lack its end. A scan that ends early remains an error.
		in = io.MultiReader(src.buffered(), bytes.NewReader([]byte{0xff, jpegEOI}))
	default:
		in = src.buffered()
	}
	img, err := r.decoders[found.format](in)
	if err != nil {
		return pixels{}, unsupported(err)
	}
	if found.format == crawl.ImageWebP {
		toFullRange(img)
	}
	at := img.Bounds().Min // the position of a GIF's frame on its canvas
	if found.first.at > 0 {
		at = image.Pt(found.first.x, found.first.y)
	}
	return onCanvas(img, at, found.width, found.height)
}

// unsupported converts a decoder's error for an unsupported feature into an unsupportedError.
func unsupported(err error) error {
	if no, ok := errors.AsType[jpeg.UnsupportedError](err); ok {
		return unsupportedError("no decoder for this kind of jpeg: " + string(no))
	}
	if no, ok := errors.AsType[png.UnsupportedError](err); ok {
		return unsupportedError("no decoder for this kind of png: " + string(no))
	}
	if no, ok := errors.AsType[tiff.UnsupportedError](err); ok {
		return unsupportedError("no decoder for this kind of tiff: " + string(no))
	}
	return unexpectedEOF(err)
}

// reader returns a file with only the frame: a header and the frame's chunks unchanged.
func (f webpFrame) reader(src *source) io.Reader {
	section := io.NewSectionReader(src.grantPass(), f.at, f.bytes)
	var first [4]byte
	_, _ = section.ReadAt(first[:], 0) // the decoder reports the same fault
	flags := byte(0)
	if string(first[:]) == "ALPH" {
		flags = 0x10
	}
	le := binary.LittleEndian
	head := append(le.AppendUint32([]byte("RIFF"), uint32(f.bytes)+22), "WEBPVP8X"...) //nolint:gosec // it is in the file
	head = append(le.AppendUint32(head, 10), flags, 0, 0, 0)
	for _, side := range []int{f.width - 1, f.height - 1} {
		head = append(head, byte(side), byte(side>>8), byte(side>>16)) //nolint:gosec // it was read from 24 bits
	}
	return io.MultiReader(bytes.NewReader(head), bufio.NewReaderSize(section, bufferBytes))
}
