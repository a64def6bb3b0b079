package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Capture holds the bytes of an exchange as they were sent and received, below TLS. An exchange by
// HTTP/2 is written in the framing of HTTP/1.1.
type Capture struct {
	sent bytes.Buffer
	// received holds the response up to 64 KiB, and file the rest. size counts both.
	received bytes.Buffer
	file     *os.File
	size     int64
	// start is the size of the interim responses, which do not belong to the response.
	start int64
	// headEnd is the size of all that precedes the body.
	headEnd int64
	err     error
}

// Request returns the request.
func (c *Capture) Request() io.Reader { return bytes.NewReader(c.sent.Bytes()) }

// Received returns the response: its final head, and the body if it was read.
func (c *Capture) Received() io.Reader { return c.section(c.start, c.size) }

// Head returns the final head.
func (c *Capture) Head() io.Reader { return c.section(c.start, c.headEnd) }

// Payload returns the body as it was received, with its codings.
func (c *Capture) Payload() io.Reader { return c.section(c.headEnd, c.size) }

func (c *Capture) section(from, to int64) io.Reader {
	if c.file == nil {
		return io.NewSectionReader(bytes.NewReader(c.received.Bytes()), from, to-from)
	}
	return io.NewSectionReader(c.file, from, to-from)
}

// Write adds received bytes. It never fails, because the caller is reading a connection: an error
// of the file is kept for check.
//
//nolint:nilerr // see above
func (c *Capture) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	if c.file == nil && c.received.Len()+len(p) > unsharedBodyBytes && c.err == nil {
		if c.file, c.err = createSpool(); c.err == nil {
			_, c.err = c.file.Write(c.received.Bytes())
		}
	}
	switch {
	case c.err != nil:
	case c.file != nil:
		_, c.err = c.file.Write(p)
	default:
		c.received.Write(p)
	}
	return len(p), nil
}

// writeHead adds the head of a response by HTTP/2.
func (c *Capture) writeHead(response *http.Response) {
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\n", response.StatusCode, http.StatusText(response.StatusCode))
	_ = response.Header.Write(c)
	_, _ = c.Write([]byte("\r\n"))
	c.headEnd = c.size
}

// check returns the error of the file, if any.
func (c *Capture) check() *Error {
	if c == nil || c.err == nil {
		return nil
	}
	return spoolError(c.err)
}

// trim drops the last unread bytes: they follow the response on the connection.
func (c *Capture) trim(unread int) {
	if c != nil {
		c.size -= int64(unread)
	}
}

func (c *Capture) close() {
	if c != nil && c.file != nil {
		closeSpool(c.file)
	}
}

// capturedBody is a body by HTTP/2 whose bytes are captured.
type capturedBody struct {
	io.Reader
	io.Closer
}
