package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Decoders and buffers are pooled, because they are larger than a page. Idle ones are bounded, and
// large ones are dropped, so that no site decides how much memory this process keeps.
const (
	// sparesMost is how many decoders of a coding idle at the most.
	sparesMost = 4
	// keptBody bounds the body whose decoder is kept: a brotli decoder has room for as much.
	keptBody = 256 << 10
	// keptWindow bounds the window, in bytes, of a zstd decoder that is kept.
	keptWindow = 1 << 20
)

var (
	// gzips have 40 KB each, whatever they have read.
	gzips   = make(spares[*gzip.Reader], sparesMost)
	brotlis = make(spares[*brotli.Reader], sparesMost)
	zstds   = make(spares[*zstd.Decoder], sparesMost)

	// sources are what decoders read from, 4 KB each.
	sources = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
	// bodies are the buffers that bodies are read into, of at most bufferKept.
	bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// bufferKept bounds, in bytes, the capacity of a buffer that is kept.
const bufferKept = 2 * shareFree

func newBuffer() *bytes.Buffer {
	b, _ := bodies.Get().(*bytes.Buffer) // there is nothing else
	b.Reset()
	return b
}

func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= bufferKept {
		bodies.Put(b)
	}
}

type spares[T any] chan T

// take returns a decoder, if one idles.
func (s spares[T]) take() (spare T, ok bool) {
	select {
	case spare = <-s:
		return spare, true
	default:
		return spare, false
	}
}

// give keeps one, unless there are enough.
func (s spares[T]) give(spare T) bool {
	select {
	case s <- spare:
		return true
	default:
		return false
	}
}

// decoder undoes a coding. Close gives back its memory.
type decoder struct {
	io.Reader

	source *bufio.Reader
	// read is how many bytes it has decoded, and ended whether that was all.
	read  int64
	ended bool
	// recycle takes a decoder that may be kept, drop any other.
	recycle, drop func()
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.read += int64(n)
	d.ended = errors.Is(err, io.EOF)
	return n, err
}

// Close is called once, when nothing reads any more.
func (d *decoder) Close() error {
	switch {
	case d.recycle != nil && d.ended && d.read <= keptBody:
		d.recycle()
	case d.drop != nil:
		d.drop()
	}
	d.source.Reset(nil)
	sources.Put(d.source)
	return nil
}

func newBrotli(source *bufio.Reader) (*decoder, error) {
	r, ok := brotlis.take()
	if !ok {
		r = new(brotli.Reader)
	}
	err := r.Reset(source)
	return &decoder{Reader: r, source: source, recycle: func() {
		_ = r.Reset(nil) // lets go of the source, and never fails
		brotlis.give(r)
	}}, err
}

func newGzip(source *bufio.Reader) (*decoder, error) {
	member, ok := gzips.take()
	if !ok {
		member = new(gzip.Reader)
	}
	if err := member.Reset(source); err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &decoder{
		Reader: &gzipReader{member: member, source: source}, source: source, recycle: func() { gzips.give(member) },
	}, nil
}

func newZstd(source *bufio.Reader) (*decoder, error) {
	var first zstd.Header
	head, _ := source.Peek(zstd.HeaderMaxSize) // what there is; the decoder meets the error
	kept := first.Decode(head) == nil && !first.Skippable && max(first.WindowSize, first.FrameContentSize) <= keptWindow
	var r *zstd.Decoder
	if kept {
		r, _ = zstds.take()
	}
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
	}
	frames := &frameCounter{source: source}
	if err := r.Reset(frames); err != nil {
		r.Close()
		return nil, err
	}
	return &decoder{Reader: r, source: source, drop: r.Close, recycle: func() {
		if !kept || frames.count > 1 || r.Reset(nil) != nil || !zstds.give(r) {
			r.Close()
		}
	}}, nil
}

// frameCounter counts the frames of zstd data by their magic number, at times too many. Each frame
// has a window of its own, and only the size of the first is known.
type frameCounter struct {
	source io.Reader
	last   uint32
	count  int
}

func (f *frameCounter) Read(p []byte) (int, error) {
	const magic = 0x28b52ffd
	n, err := f.source.Read(p)
	for _, octet := range p[:n] {
		if f.last = f.last<<8 | uint32(octet); f.last == magic {
			f.count++
		}
	}
	return n, err
}
