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
	// maxPooled bounds the idle decoders of a coding.
	maxPooled = 4
	// maxPooledBody bounds the body of a pooled decoder: a brotli decoder's memory grows with it.
	maxPooledBody = 256 << 10
	// maxPooledWindow bounds the window, in bytes, of a pooled zstd decoder.
	maxPooledWindow = 1 << 20
)

var (
	// gzips have 40 KB each, whatever they have read.
	gzips   = make(pool[*gzip.Reader], maxPooled)
	brotlis = make(pool[*brotli.Reader], maxPooled)
	zstds   = make(pool[*zstd.Decoder], maxPooled)

	// sources are the input buffers of responses and decoders, 4 KB each.
	sources = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
	// bodies are the buffers for bodies, of at most maxPooledBuffer.
	bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

const maxPooledBuffer = 2 * unsharedBodyBytes

func newBuffer() *bytes.Buffer {
	b, _ := bodies.Get().(*bytes.Buffer) // there is nothing else
	b.Reset()
	return b
}

func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		bodies.Put(b)
	}
}

func newSource(from io.Reader) *bufio.Reader {
	b, _ := sources.Get().(*bufio.Reader) // there is nothing else
	b.Reset(from)
	return b
}

func releaseSource(b *bufio.Reader) {
	b.Reset(nil)
	sources.Put(b)
}

type pool[T any] chan T

func (s pool[T]) get() (item T, ok bool) {
	select {
	case item = <-s:
		return item, true
	default:
		return item, false
	}
}

func (s pool[T]) put(item T) bool {
	select {
	case s <- item:
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
	case d.recycle != nil && d.ended && d.read <= maxPooledBody:
		d.recycle()
	case d.drop != nil:
		d.drop()
	}
	releaseSource(d.source)
	return nil
}

func newBrotli(source *bufio.Reader) (*decoder, error) {
	r, ok := brotlis.get()
	if !ok {
		r = new(brotli.Reader)
	}
	err := r.Reset(source)
	return &decoder{Reader: r, source: source, recycle: func() {
		_ = r.Reset(nil) // releases the source, and never fails
		brotlis.put(r)
	}}, err
}

func newGzip(source *bufio.Reader) (*decoder, error) {
	member, ok := gzips.get()
	if !ok {
		member = new(gzip.Reader)
	}
	if err := member.Reset(source); err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &decoder{
		Reader: &gzipReader{member: member, source: source}, source: source, recycle: func() { gzips.put(member) },
	}, nil
}

func newZstd(source *bufio.Reader) (*decoder, error) {
	var first zstd.Header
	head, _ := source.Peek(zstd.HeaderMaxSize) // incomplete data is the decoder's error
	poolable := first.Decode(head) == nil && !first.Skippable && max(first.WindowSize, first.FrameContentSize) <= maxPooledWindow
	var r *zstd.Decoder
	if poolable {
		r, _ = zstds.get()
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
		if !poolable || frames.count > 1 || r.Reset(nil) != nil || !zstds.put(r) {
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
