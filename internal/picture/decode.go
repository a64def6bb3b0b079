package picture

import (
	"bufio"
	"bytes"
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

// overheadBytes is what a picture takes beside its pixels: buffers, tables, what its
// hashes and its thumbnail are made of.
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

// unsupportedError says that a decoder does not know what a file uses.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }

// guarded makes an error of a panic. The decoders are not ours, and what they read is a
// stranger's: what they do not expect must cost one picture, not the worker.
func guarded[T any](do func() (T, error)) (result T, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("reading it panicked: %v", panicked)
		}
	}()
	return do()
}

// decode decodes the first frame.
func (r *Reader) decode(found *survey, src *source) (pixels, error) {
	var in io.Reader
	switch {
	case found.format == crawl.ImageTIFF: // read here and there
		in = src.whole()
	case found.first.at > 0:
		in = found.first.reader(src)
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
	at := img.Bounds().Min // of a GIF, where the frame is on its canvas
	if found.first.at > 0 {
		at = image.Pt(found.first.x, found.first.y)
	}
	return onCanvas(img, at, found.width, found.height)
}

// unsupported tells the decoders' errors that a file is of a kind they do not know from
// those that it is wrong.
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
	return noEOF(err)
}

// reader returns a file of the frame alone: a header, and the chunks of the frame as
// they are in the animation.
func (f webpFrame) reader(src *source) io.Reader {
	section := io.NewSectionReader(src.whole(), f.at, f.bytes)
	var first [4]byte
	_, _ = section.ReadAt(first[:], 0) // the decoder meets the same fault
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
