package picture

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"runtime"

	"golang.org/x/image/draw"
	"golang.org/x/sync/semaphore"

	"github.com/mosey-web/mosey/crawl"
)

// Limits bounds the work of a Reader. Zero fields mean the defaults.
type Limits struct {
	// MaxPixels caps the pixels declared in a header. More are an error. Defaults to 40,000,000.
	MaxPixels int64

	// MaxMemory caps the estimated bytes of all pictures that are decoded at a time, without
	// garbage. A picture that alone takes more is not decoded. Defaults to 320,000,000.
	MaxMemory int64

	// MaxDecodes caps the concurrent decodes. Defaults to half of GOMAXPROCS, at least 1.
	MaxDecodes int
}

// Options are the options for one picture.
type Options struct {
	MinSize   int // the least displayed width and height, in pixels
	Thumbnail bool
}

// Result holds the data of a file.
type Result struct {
	crawl.ImageContent
	// Thumbnail is a JPEG with the longest side of at most 256 pixels, the right way up and on
	// white. It is nil if it was not requested or the picture was not decoded.
	Thumbnail []byte
}

// Reader reads pictures, within its limits for all reads together. It is safe for concurrent use.
type Reader struct {
	limits   Limits
	memory   *semaphore.Weighted
	slots    *semaphore.Weighted
	decoders map[crawl.ImageFormat]decoder
}

// New returns a Reader with the given limits.
func New(limits Limits) *Reader {
	limits.MaxPixels = cmp.Or(limits.MaxPixels, 40_000_000)
	limits.MaxMemory = cmp.Or(limits.MaxMemory, 320_000_000)
	limits.MaxDecodes = cmp.Or(limits.MaxDecodes, max(1, runtime.GOMAXPROCS(0)/2))
	return &Reader{
		limits:   limits,
		memory:   semaphore.NewWeighted(limits.MaxMemory),
		slots:    semaphore.NewWeighted(int64(limits.MaxDecodes)),
		decoders: decoders,
	}
}

// Read reads a file of size bytes in small pieces. With an error of this package, the result still
// has the format and the size of the picture if known.
func (r *Reader) Read(ctx context.Context, file io.ReaderAt, size int64, options Options) (Result, error) {
	src := newSource(ctx, file, size)
	result := Result{ImageContent: crawl.ImageContent{Bytes: size}}
	if err := r.read(ctx, src, options, &result); err != nil {
		return result, fmt.Errorf("picture: %w", err)
	}
	return result, nil
}

func (r *Reader) read(ctx context.Context, src *source, options Options, result *Result) error {
	head := make([]byte, min(headBytes, src.size))
	if _, err := io.ReadFull(src.grantPass(), head); err != nil {
		return src.readError(err)
	}
	format, ok := Format(head)
	switch {
	case !ok && isSVG(head):
		return ErrSVG
	case !ok:
		return fmt.Errorf("%w: found %s", ErrUnsupported, http.DetectContentType(head))
	}
	result.Format = format
	found, err := recoverPanic(func() (*survey, error) { return readSurvey(format, src) })
	if err != nil {
		return src.readError(fmt.Errorf("%s: %w", format, err))
	}
	// The metadata library allocates the memory that a file claims to need.
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	meta := readMetadata(found, src)
	r.slots.Release(1)
	if src.err != nil {
		return src.err
	}
	width, height := meta.orientation.apply(found.width, found.height)
	result.Width, result.Height, result.Frames, result.Meta = width, height, found.frames, meta.ImageMeta
	switch {
	case int64(width) > r.limits.MaxPixels/int64(height):
		return fmt.Errorf("%w: found %d×%d, more than the limit of %d", ErrTooManyPixels, width, height, r.limits.MaxPixels)
	case min(width, height) < options.MinSize:
		return fmt.Errorf("%w: found %d×%d, want at least %d in both dimensions", ErrTooSmall, width, height, options.MinSize)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, src.buffered()); err != nil {
		return src.readError(err)
	}
	result.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return r.readPixels(ctx, src, found, meta.orientation, options, result)
}

// readPixels waits for memory and adds the data that depends on the pixels.
func (r *Reader) readPixels(
	ctx context.Context, src *source, found *survey, turned orientation, options Options, result *Result,
) error {
	memory := found.memory + overheadBytes
	if (memory < 0 || memory > r.limits.MaxMemory) && found.undecodable == "" {
		found.undecodable = fmt.Sprintf("decoding needs %d bytes of memory, more than the limit of %d", memory, r.limits.MaxMemory)
	}
	if result.Undecoded = found.undecodable; result.Undecoded != "" {
		return nil
	}
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.slots.Release(1)
	if err := r.memory.Acquire(ctx, memory); err != nil {
		return err
	}
	defer r.memory.Release(memory)
	if memory >= minCollectedBytes {
		defer runtime.GC() // before the next decode acquires the memory
	}
	return r.addFingerprints(src, found, turned, options, result)
}

// minCollectedBytes is the size, in bytes, of the smallest picture whose memory is collected at
// once. That is cheap compared with decoding, and keeps a few large pictures from raising the
// heap's target.
const minCollectedBytes = 64 << 20

// addFingerprints decodes the picture and adds its fingerprints and its thumbnail. All of that can
// panic.
func (r *Reader) addFingerprints(src *source, found *survey, turned orientation, options Options, result *Result) error {
	output, err := recoverPanic(func() (fingerprints, error) {
		picture, err := r.decode(found, src)
		if err != nil {
			return fingerprints{}, err
		}
		p := fingerprint(picture, turned)
		if options.Thumbnail {
			p.thumbnail, err = thumbnail(picture, turned)
		}
		return p, err
	})
	if unsupported, ok := errors.AsType[unsupportedError](err); ok {
		result.Undecoded = unsupported.Error()
		return nil
	}
	if err != nil {
		return src.readError(fmt.Errorf("%s: %w", found.format, err))
	}
	result.PHash, result.DHash, result.Flat = &output.pHash, &output.dHash, output.flat
	result.Thumbnail = output.thumbnail
	return nil
}

// readError returns the error of the storage or the context, if any, or else ErrMalformed.
func (s *source) readError(err error) error {
	if s.err != nil {
		return s.err
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// The faults of a file. Other errors of [Reader.Read] come from the file's storage or the context.
var (
	ErrUnsupported   = errors.New("not an image in a supported format")
	ErrSVG           = errors.New("svg is not supported") // it is text and may contain scripts
	ErrTooManyPixels = errors.New("too many pixels")      // see Limits.MaxPixels
	ErrTooSmall      = errors.New("too small")            // see Options.MinSize
	ErrMalformed     = errors.New("malformed")            // truncated, or a violation of its format
)

// The longest side of a thumbnail in pixels, and its quality as a JPEG.
const (
	thumbnailSide    = 256
	thumbnailQuality = 80
)

// thumbnail returns a JPEG of a picture, the right way up, on white, and not enlarged.
func thumbnail(p pixels, turned orientation) ([]byte, error) {
	width, height := turned.apply(p.width, p.height)
	longest := max(width, height)
	if longest > thumbnailSide {
		width, height = max(1, width*thumbnailSide/longest), max(1, height*thumbnailSide/longest)
	}
	reduced := reduce(p, turned, 3, 2*thumbnailSide)
	from := image.NewRGBA(image.Rect(0, 0, reduced.width, reduced.height))
	for i := range reduced.width * reduced.height {
		copy(from.Pix[4*i:], reduced.cells[3*i:3*i+3])
		from.Pix[4*i+3] = 255
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.CatmullRom.Scale(small, small.Bounds(), from, from.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: thumbnailQuality}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
