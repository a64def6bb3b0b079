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

// Decoders and buffers are pooled, because they are larger than a page. The pools bound idle ones
// and drop large ones, so that no site controls the memory of this process.
const (
	// sparesMost bounds the idle decoders of a coding.
	sparesMost = 4
	// keptBody bounds the body of a pooled decoder: a brotli decoder's memory grows with it.
	keptBody = 256 << 10
	// keptWindow bounds the window, in bytes, of a pooled zstd decoder.
	keptWindow = 1 << 20
)

var (
	// gzips have 40 KB each, whatever they have read.
	gzips   = make(spares[*gzip.Reader], sparesMost)
	brotlis = make(spares[*brotli.Reader], sparesMost)
	zstds   = make(spares[*zstd.Decoder], sparesMost)

	// sources are the decoders' input buffers, 4 KB each.
	sources = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
	// bodies are the buffers for bodies, of at most bufferKept.
	bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

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

func (s spares[T]) take() (spare T, ok bool) {
	select {
	case spare = <-s:
		return spare, true
	default:
		return spare, false
	}
}

func (s spares[T]) give(spare T) bool {
	select {
	case s <- spare:
		return true
	default:
		return false
	}
}

type decoder struct {
	io.Reader

	source *bufio.Reader
	// read counts the decoded bytes, and ended is set at the end of the data.
	read  int64
	ended bool
	// recycle pools the decoder, and drop discards it.
	recycle, drop func()
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.read += int64(n)
	d.ended = errors.Is(err, io.EOF)
	return n, err
}

// Close is called once, after all reads.
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
		_ = r.Reset(nil) // releases the source, and never fails
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
	head, _ := source.Peek(zstd.HeaderMaxSize) // incomplete data is the decoder's error
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

// frameCounter counts the frames of zstd data by their magic number, sometimes too many. Each frame
// has its own window, and only the size of the first is known.
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
