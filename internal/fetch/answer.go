package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxEmptyLines bounds the empty lines before a status line, left over by sloppy servers.
const maxEmptyLines = 2

// maxChunkExcess bounds the bytes of chunk lines beyond 16 and twice the data of each chunk, as
// net/http does: no server needs more.
const maxChunkExcess = 16 << 10

// answer is the head of a final response to a GET, or of a protocol switch, and its unread body.
type answer struct {
	status        int
	header        http.Header
	contentLength int64 // of the encoded body; -1 means unknown
	body          io.Reader
	// interimBytes is the size of the interim responses and empty lines before it.
	interimBytes int64
	// headBytes is the size of all that precedes the body.
	headBytes int64
}

// readAnswer reads an HTTP/1.x response (RFC 9112) from source as browsers do. Where the standard
// has a client refuse a response, but a browser shows the page, it reads on:
//
//   - Header lines end in LF, too. A line without a colon or with an invalid name is skipped.
//     CR and NUL in a value become spaces (RFC 9110, section 5.5).
//   - A Content-Length that is no number is ignored. Different ones are an error.
//   - Only chunked counts in Transfer-Encoding, and counts once. Chunk lines end in LF, too.
//     Trailers are not read.
//
// It skips interim responses. All heads together take at most maxHeaderBytes.
func readAnswer(source *bufio.Reader) (*answer, error) {
	lines := &lineReader{source: source, left: maxHeaderBytes}
	for {
		status, isHTTP11, err := readStatusLine(lines)
		if err != nil {
			return nil, err
		}
		interimBytes := int64(maxHeaderBytes - lines.lineLeft)
		header, err := readHeader(lines)
		if err != nil {
			return nil, err
		}
		a := &answer{status: status, header: header, interimBytes: interimBytes, headBytes: int64(maxHeaderBytes - lines.left)}
		switch {
		case status == http.StatusSwitchingProtocols:
			return a, nil
		case status >= http.StatusOK:
			return a, a.frame(source, isHTTP11)
		}
	}
}

// frame sets the body and its length: RFC 9112, section 6.3.
func (a *answer) frame(source *bufio.Reader, isHTTP11 bool) error {
	isChunked := isHTTP11 && httpguts.HeaderValuesContainsToken(a.header["Transfer-Encoding"], "chunked")
	switch {
	case a.status == http.StatusNoContent || a.status == http.StatusNotModified:
		a.body = http.NoBody
		return nil
	case isChunked:
		a.body, a.contentLength = &chunkReader{lines: lineReader{source: source}}, -1
		return nil
	}
	var err error
	if a.contentLength, err = contentLength(a.header["Content-Length"]); err != nil {
		return err
	}
	a.body = source
	if a.contentLength >= 0 {
		a.body = &exactReader{source: source, left: a.contentLength}
	}
	return nil
}

// contentLength returns -1 for an unknown length.
func contentLength(values []string) (int64, error) {
	length := int64(-1)
	for value := range strings.SplitSeq(strings.Join(values, ","), ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
		if err != nil {
			return -1, nil
		}
		if length >= 0 && int64(n) != length {
			return 0, errors.New("different values of Content-Length")
		}
		length = int64(n)
	}
	return length, nil
}

// readStatusLine returns the status, of three digits, and whether the version is at least 1.1.
func readStatusLine(lines *lineReader) (status int, isHTTP11 bool, err error) {
	line, err := lines.next()
	for range maxEmptyLines {
		if len(line) == 0 && err == nil {
			line, err = lines.next()
		}
	}
	if err != nil {
		return 0, false, err
	}
	version, rest, _ := strings.Cut(string(line), " ")
	rest = strings.TrimLeft(rest, " ")
	name, number, _ := strings.Cut(version, "/")
	major, err := strconv.ParseFloat(number, 64)
	const digits = 3
	if !strings.EqualFold(name, "http") || err != nil || len(rest) < digits || len(rest) > digits && isDigit(rest[digits]) {
		return 0, false, errors.New("not a status line of HTTP")
	}
	status, err = strconv.Atoi(rest[:digits])
	if err != nil || status < http.StatusContinue {
		return 0, false, errors.New("not a status of HTTP")
	}
	return status, major > 1, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// readHeader reads header lines up to an empty line.
func readHeader(lines *lineReader) (http.Header, error) {
	all := make([]byte, 0, 1<<10) // in one piece, as all values stay in memory together
	count := 0
	for {
		line, err := lines.next()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return parseHeader(string(all), count), nil
		}
		all = append(append(all, line...), '\n')
		count++
	}
}

// parseHeader parses count lines, each with its end.
func parseHeader(text string, count int) http.Header {
	header := make(http.Header, count)
	values := make([]string, 0, count)
	last := "" // the name of the line before, if that is valid
	for line := range strings.Lines(text) {
		line = line[:len(line)-1]
		if line[0] == ' ' || line[0] == '\t' { // a folded line: RFC 9112, section 5.2
			if values := header[last]; len(values) > 0 {
				values[len(values)-1] += " " + cleanValue(line)
			}
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimRight(name, " \t")
		if last = ""; !found || !httpguts.ValidHeaderFieldName(name) {
			continue
		}
		last = textproto.CanonicalMIMEHeaderKey(name)
		if header[last] != nil {
			header[last] = append(header[last], cleanValue(value))
			continue
		}
		values = append(values, cleanValue(value))
		header[last] = values[len(values)-1 : len(values) : len(values)]
	}
	return header
}

func cleanValue(value string) string {
	if strings.ContainsAny(value, "\r\x00") {
		value = strings.NewReplacer("\r", " ", "\x00", " ").Replace(value)
	}
	return strings.Trim(value, " \t")
}

// lineReader reads lines that end in LF or CRLF, of at most left bytes together. A line is valid
// until the next is read.
type lineReader struct {
	source *bufio.Reader
	left   int
	// lineLeft is left before the last line.
	lineLeft int
}

var errTooLong = errors.New("the header is too long")

// next returns a line without its end. The end of the source is io.ErrUnexpectedEOF.
func (l *lineReader) next() ([]byte, error) {
	l.lineLeft = l.left
	var line []byte
	for {
		part, err := l.source.ReadSlice('\n')
		if l.left -= len(part); l.left < 0 {
			return nil, errTooLong
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			line = append(line, part...)
			continue
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if line != nil {
			part = append(line, part...)
		}
		return bytes.TrimSuffix(part[:len(part)-1], []byte("\r")), nil
	}
}

// exactReader reads left bytes, and fails if source ends before.
type exactReader struct {
	source io.Reader
	left   int64
}

func (r *exactReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.source.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if errors.Is(err, io.EOF) && r.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// chunkReader decodes chunks: RFC 9112, section 7.1.
type chunkReader struct {
	lines  lineReader
	chunk  exactReader
	began  bool
	excess int64
	err    error
}

func (c *chunkReader) Read(p []byte) (int, error) {
	if c.err == nil && c.chunk.left == 0 {
		c.err = c.next()
	}
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	var n int
	n, c.err = c.chunk.Read(p)
	return n, c.err
}

// next reads the lines between two chunks. It returns io.EOF after the last chunk.
func (c *chunkReader) next() error {
	c.lines.left = maxChunkExcess
	var line []byte
	var err error
	if c.began {
		line, err = c.lines.next()
	}
	if err == nil && len(line) > 0 {
		return errors.New("a chunk is longer than its size")
	}
	if err == nil {
		line, err = c.lines.next()
	}
	if err != nil {
		return err
	}
	c.began = true
	text, _, _ := strings.Cut(string(line), ";")
	size, err := strconv.ParseUint(strings.Trim(text, " \t"), 16, 63)
	switch {
	case err != nil:
		return errors.New("not the size of a chunk")
	case size == 0:
		c.skipEnd()
		return io.EOF
	}
	c.excess = max(0, c.excess+int64(maxChunkExcess-c.lines.left)-16-2*int64(min(size, maxChunkExcess)))
	if c.excess > maxChunkExcess {
		return errors.New("too many bytes between chunks")
	}
	c.chunk = exactReader{source: c.lines.source, left: int64(size)}
	return nil
}

// skipEnd skips the end of a body without trailers, if it is here already: nothing waits for it.
func (c *chunkReader) skipEnd() {
	source := c.lines.source
	if end, err := source.Peek(min(2, source.Buffered())); err == nil && string(end) == "\r\n" {
		_, _ = source.Discard(2)
	}
}
