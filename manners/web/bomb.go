package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// bombBytes is the unpacked size of a bomb: with the copies of a growing buffer, it exceeds the
// memory limit of a worker.
const bombBytes = 256 << 20

// Bomb responds with a page of zeros that unpacks to at least a thousand times the bytes sent.
// Bombs lists them.
type Bomb struct {
	body     func() []byte
	encoding string
}

// Serve implements Behaviour.
func (b Bomb) Serve(v *Visit) {
	body := b.body()
	v.W.Header().Set("Content-Encoding", b.encoding)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.W.Header().Set("Content-Type", contentHTML)
	v.Write(body)
}

// Truth implements Behaviour.
func (Bomb) Truth() Truth { return Truth{} }

// The bodies are packed at the first request, and shared by all webs.
var (
	gzipBomb    = sync.OnceValue(func() []byte { return repeatStreams(newGzip) })
	brotliBomb  = sync.OnceValue(brotliZeros)
	zstdBomb    = sync.OnceValue(func() []byte { return repeatStreams(newZstd) })
	nestedBomb  = sync.OnceValue(func() []byte { return pack(newGzip, bytes.NewReader(gzipBomb())) })
	mixedBomb   = sync.OnceValue(func() []byte { return pack(newBrotli, bytes.NewReader(zstdBomb())) })
	tenfoldBomb = sync.OnceValue(func() []byte {
		body := gzipBomb()
		for range 9 {
			body = pack(newGzip, bytes.NewReader(body))
		}
		return body
	})
)

// Bombs returns one bomb of every coding and some that are packed twice.
func Bombs() []Named {
	return []Named{
		{Name: "bomb-gzip", Behaviour: Bomb{body: gzipBomb, encoding: "gzip"}},
		{Name: "bomb-brotli", Behaviour: Bomb{body: brotliBomb, encoding: "br"}},
		{Name: "bomb-zstd", Behaviour: Bomb{body: zstdBomb, encoding: "zstd"}},
		{Name: "bomb-nested", Behaviour: Bomb{body: nestedBomb, encoding: "gzip, gzip"}},
		{Name: "bomb-mixed", Behaviour: Bomb{body: mixedBomb, encoding: "zstd, br"}},
		{Name: "bomb-tenfold", Behaviour: Bomb{
			body: tenfoldBomb, encoding: strings.TrimSuffix(strings.Repeat("gzip, ", 10), ", "),
		}},
	}
}

// packedBytes is the size that is really packed, because the rest repeats it.
const packedBytes = 1 << 20

// repeatStreams returns a bomb in a coding that allows several streams in a row: the members of RFC
// 1952 section 2.2 and the frames of RFC 8878 section 3.
func repeatStreams(coder func(io.Writer) io.WriteCloser) []byte {
	return bytes.Repeat(pack(coder, io.LimitReader(zeroReader{}, packedBytes)), bombBytes/packedBytes)
}

// brotliZeros repeats zeros from one flush to the next within one stream, because RFC 7932 does not
// allow several streams.
func brotliZeros() []byte {
	var out bytes.Buffer
	w := brotli.NewWriterLevel(&out, brotliLevel)
	var flushed [2]int
	for i := range flushed {
		_, err := w.Write(make([]byte, packedBytes))
		if err = errors.Join(err, w.Flush()); err != nil {
			panic(err) // memory takes every write
		}
		flushed[i] = out.Len()
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	first, repeatable, end := out.Bytes()[:flushed[0]], out.Bytes()[flushed[0]:flushed[1]], out.Bytes()[flushed[1]:]
	return slices.Concat(first, bytes.Repeat(repeatable, bombBytes/packedBytes-1), end)
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func newGzip(w io.Writer) io.WriteCloser {
	return gzip.NewWriter(w)
}

const brotliLevel = 5

func newBrotli(w io.Writer) io.WriteCloser {
	return brotli.NewWriterLevel(w, brotliLevel)
}

func newZstd(w io.Writer) io.WriteCloser {
	enc, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are valid constants
	}
	return enc
}

// pack compresses the bytes of a reader. Writing to memory does not fail.
func pack(coder func(io.Writer) io.WriteCloser, from io.Reader) []byte {
	var out bytes.Buffer
	w := coder(&out)
	_, err := io.CopyBuffer(struct{ io.Writer }{w}, from, make([]byte, 1<<20))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

// HalfGzip responds with the first half of a page's gzip, as if it were complete.
type HalfGzip struct{}

// Serve implements Behaviour.
func (HalfGzip) Serve(v *Visit) {
	contentType, page := v.content()
	body := pack(newGzip, bytes.NewReader(page))
	body = body[:len(body)/2]
	v.W.Header().Set("Content-Encoding", "gzip")
	v.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	v.W.Header().Set("Content-Type", contentType)
	v.W.WriteHeader(http.StatusOK)
	v.Write(body)
}

// Truth implements Behaviour.
func (HalfGzip) Truth() Truth { return Truth{} }
