package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
	"golang.org/x/sync/semaphore"
)

const (
	// acceptEncoding omits the supported deflate, because sites disagree about its meaning.
	acceptEncoding = "gzip, br, zstd"

	// maxCodings bounds the content codings stacked on one body.
	maxCodings = 2

	// maxWindow bounds a zstd decoder's memory, in bytes: RFC 9659, section 3.
	maxWindow = 8 << 20

	// maxRatio limits the ratio of a body's decoded and encoded length, past its first
	// unlimitedRatioBytes bytes: short repetitive pages compress better, and do no harm.
	maxRatio = 200

	// unlimitedRatioBytes bounds the decoded bytes without a limit of the ratio.
	unlimitedRatioBytes = 1 << 20

	// wireSlack bounds the bytes of an encoded body past the limit for the decoded body. Only empty
	// blocks can lengthen data by more.
	wireSlack = 64 << 10

	// sniffedBytes are the bytes of a body in which binary data is looked for.
	sniffedBytes = 1445 // MIME Sniffing standard, section 5.2

	// maxFirstBuffer bounds, in bytes, the buffer for a Content-Length, which may lie.
	maxFirstBuffer = 64 << 10
)

type bodyLimits struct {
	bytes  int64
	idle   time.Duration
	share  *memoryShare
	link   *link
	toFile bool
}

// readBody reads and decodes a response body, and sets Body or File, FileSize and Truncated. Body
// shares the buffer's memory. It returns errors of the connection unchanged, and others as *Error.
func readBody(response *Response, source io.Reader, buffer *bytes.Buffer, limits bodyLimits) error {
	limit := limits.bytes
	codings, unknown, err := contentCodings(response.Header.Values("Content-Encoding"))
	if err != nil {
		return fail(CauseDecode, "unusable Content-Encoding", err)
	}
	wire := &wireReader{source: source, left: limit + wireSlack, idle: limits.idle, link: limits.link}
	var decoded io.Reader = wire
	var decoders []io.Closer
	defer func() {
		for _, decoder := range decoders {
			_ = decoder.Close() // frees memory, reports nothing new
		}
	}()
	for _, coding := range slices.Backward(codings) {
		decoder, err := decode(coding, decoded)
		if err != nil {
			return classifyBodyError(response, wire, nil, err)
		}
		decoders = append(decoders, decoder)
		decoded = &ratioReader{source: decoder, wire: wire}
	}
	reserve := min(max(response.ContentLength, 0), limit, maxFirstBuffer)
	buffer.Grow(int(reserve) + bytes.MinRead)
	_, err = buffer.ReadFrom(io.LimitReader(decoded, min(limit+1, unsharedBodyBytes)))
	head := buffer.Bytes()[:min(buffer.Len(), sniffedBytes)]
	if err == nil && unknown != "" && isText(response.MediaType) && slices.ContainsFunc(head, isBinary) {
		return fail(CauseDecode, fmt.Sprintf("the body has the unknown Content-Encoding %.20q", unknown), nil)
	}
	if err == nil && buffer.Len() == unsharedBodyBytes {
		if limits.toFile {
			file, size, err := spool(buffer, decoded, limit+1)
			if err != nil {
				return classifyBodyError(response, wire, nil, err)
			}
			response.File, response.FileSize, response.Truncated = file, min(size, limit), size > limit
			return nil
		}
		if err = limits.share.acquire(); err == nil {
			_, err = buffer.ReadFrom(io.LimitReader(decoded, limit+1-unsharedBodyBytes))
		}
	}
	body := buffer.Bytes()
	if err != nil {
		return classifyBodyError(response, wire, body, err)
	}
	response.Truncated = int64(len(body)) > limit
	response.Body = body[:min(int64(len(body)), limit)]
	return nil
}

// classifyBodyError classifies the error that ended a partly decoded body: a broken connection or a
// broken body. A decoder reports both as its own errors.
func classifyBodyError(response *Response, wire *wireReader, part []byte, err error) error {
	known, ok := errors.AsType[*Error](err)
	switch {
	case ok:
		return known
	case errors.Is(wire.err, errWireLimit):
		response.Body, response.Truncated = part, true
		return nil
	case wire.err != nil:
		return wire.err
	default:
		return fail(CauseDecode, "the body does not match its Content-Encoding", err)
	}
}

// contentCodings returns the codings to decode, in the order of their application, and an unknown
// name. Browsers decode nothing for an unknown name: charsets, media types and codings of a store
// between are common mistakes, and the body is plain.
func contentCodings(values []string) (codings []string, unknown string, err error) {
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding = strings.ToLower(strings.TrimSpace(coding))
		switch coding {
		case "", "identity", "none", "binary":
		case "br", "deflate", "gzip", "zstd":
			codings = append(codings, coding)
		case "x-gzip":
			codings = append(codings, "gzip")
		default:
			if encoding, _ := charset.Lookup(coding); encoding == nil {
				unknown = coding
			}
		}
		if len(codings) > maxCodings {
			return nil, "", fmt.Errorf("more than %d codings", maxCodings)
		}
	}
	return codings, unknown, nil
}

// isBinary reports whether octet is a binary data byte: MIME Sniffing standard, section 3.
func isBinary(octet byte) bool {
	return octet <= 0x08 || octet == 0x0B || 0x0E <= octet && octet <= 0x1A || 0x1C <= octet && octet <= 0x1F
}

// isCoded reports whether the head of a body can be of coding. gzip (RFC 1952, section 2.3.1) and
// zstd (RFC 8878, section 3.1) begin with magic numbers; a body with another beginning is plain.
func isCoded(coding string, head []byte) bool {
	begins := func(magic string) bool {
		n := min(len(head), len(magic))
		return string(head[:n]) == magic[:n]
	}
	switch coding {
	case "gzip":
		return begins("\x1f\x8b")
	case "zstd":
		const skippable = 0x50
		return begins("\x28\xb5\x2f\xfd") || head[0]&0xf0 == skippable && begins(string(head[:1])+"\x2a\x4d\x18")
	default:
		return true
	}
}

// decode decodes one coding. An empty source is an empty body in any coding.
func decode(coding string, from io.Reader) (*decoder, error) {
	source := newSource(from)
	head, err := source.Peek(4)
	if len(head) == 0 && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) == 0 || !isCoded(coding, head) {
		return &decoder{Reader: source, source: source}, nil
	}
	switch coding {
	case "br":
		return newBrotli(source)
	case "deflate":
		// "deflate" means zlib (RFC 1950). Many sites send the bare data instead.
		isZlib := len(head) >= 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0
		if !isZlib {
			return &decoder{Reader: flate.NewReader(source), source: source}, nil
		}
		r, err := zlib.NewReader(source)
		return &decoder{Reader: r, source: source}, err
	case "zstd":
		return newZstd(source)
	default:
		return newGzip(source)
	}
}

// gzipReader reads gzip members, and ignores padding after the last, as browsers do.
type gzipReader struct {
	member *gzip.Reader
	source *bufio.Reader
}

func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.member.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	magic, err := g.source.Peek(2)
	if len(magic) < 2 && !errors.Is(err, io.EOF) {
		return n, err
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return n, io.EOF
	}
	if err := g.member.Reset(g.source); err != nil {
		return n, err
	}
	g.member.Multistream(false)
	return n, nil
}

// unsharedBodyBytes is the body length without a share of the memory: most pages are shorter.
const unsharedBodyBytes = 64 << 10

// memoryShare is a body's part of Config.MaxBytesInFlight, acquired at once to avoid deadlocks.
type memoryShare struct {
	ctx      context.Context //nolint:containedctx // the context of the body's request
	memory   *semaphore.Weighted
	size     int64
	acquired bool
}

// acquire waits for the share. A timeout is our fault, not the site's.
func (s *memoryShare) acquire() error {
	if err := s.memory.Acquire(s.ctx, s.size); err != nil {
		return fail(CauseLocal, fmt.Sprintf("no memory available in time for a body of up to %d bytes", s.size), err)
	}
	s.acquired = true
	return nil
}

var errWireLimit = errors.New("fetch: too many encoded bytes")

// wireReader reads, counts and limits the encoded body, and stores the connection's error.
type wireReader struct {
	err    error
	left   int64
	read   int64
	source io.Reader

	idle time.Duration
	link *link
}

// minRate is the minimum average rate of a long body, in bytes a second.
const minRate = 1000

// setReadDeadline limits the next read. A closed connection needs no limit: the rest is in a
// buffer.
func (w *wireReader) setReadDeadline() {
	if w.link == nil { // a capture
		return
	}
	now := time.Now()
	first := now
	if t := w.link.firstByte.Load(); t != nil {
		first = *t
	}
	minRateTime := time.Duration(w.read) * time.Second / minRate
	deadline := first.Add(max(w.idle, minRateTime))
	if idle := now.Add(w.idle); idle.Before(deadline) {
		deadline = idle
	}
	_ = w.link.SetReadDeadline(deadline)
}

func (w *wireReader) Read(p []byte) (int, error) {
	if w.left <= 0 {
		w.err = errWireLimit
		return 0, w.err
	}
	w.setReadDeadline()
	n, err := w.source.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	w.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// ratioReader ends a decoder's output that is too large for the received bytes. Each decoder has
// its own, because an enormous output may decode to nothing in the next.
type ratioReader struct {
	out    int64
	source io.Reader
	wire   *wireReader
}

func (r *ratioReader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	r.out += int64(n)
	if r.out > unlimitedRatioBytes && r.out/maxRatio > r.wire.read {
		return n, fail(CauseBomb, fmt.Sprintf("the body decompresses more than %d-fold", maxRatio), nil)
	}
	return n, err
}
