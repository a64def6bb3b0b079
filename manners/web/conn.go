package web

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// writeChunk bounds one write to the kernel, so that the time stamp before the last write is close
// to the end of the response.
const writeChunk = 64 << 10

// listener stamps each connection with its time of acceptance.
type listener struct {
	net.Listener
	tls *tls.Config // nil: no TLS
	// tlsOrHTTP lets clients choose between TLS and plain HTTP
	tlsOrHTTP bool
	web       *Web
}

func (l listener) Accept() (net.Conn, error) {
	raw, err := l.web.outage.accept(l.Listener)
	if err != nil {
		return nil, err
	}
	c := l.web.newConn(raw, l.tls != nil)
	switch {
	case l.tls == nil:
		return c, nil
	case l.tlsOrHTTP:
		return &eitherConn{conn: c, tls: l.tls}, nil
	}
	return &secureConn{Conn: tls.Server(c, l.tls), conn: c}, nil
}

// secureConn is TLS over a conn, which stamps the bytes on the wire. It hides the *tls.Conn from
// net/http, which would log every client that refuses the certificate.
type secureConn struct {
	net.Conn
	conn *conn
}

// Close sends an alert, which is not part of the response.
func (c *secureConn) Close() error {
	c.conn.mu.Lock()
	c.conn.closing = true
	c.conn.mu.Unlock()
	return c.Conn.Close()
}

// wireOf returns the conn below a connection of a listener.
func wireOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *secureConn:
		return c.conn
	case *eitherConn:
		return c.conn
	}
	return c.(*conn)
}

// conn is a connection that stamps its events.
type conn struct {
	net.Conn
	acceptedAt time.Duration
	id         int64
	secure     bool // the connection uses TLS
	web        *Web

	mu           sync.Mutex
	closing      bool          // later writes are not part of the response
	failed       bool          // a write has failed
	firstByte    time.Duration // firstByte byte since the last request began
	closedAt     time.Duration // when the connection was seen to be closed
	lastWrite    time.Duration // before the last write
	rec          *Record       // the request in flight
	retry        time.Time     // the date of its Retry-After
	servedCount  int
	writtenBytes int64
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	now := c.web.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.firstByte == 0 {
		c.firstByte = now
	}
	// net/http ends its own reads by a deadline; the client causes any other error.
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
	case errors.Is(err, io.EOF):
		c.markClosed(max(now-sinceLastSegment(c.Conn), c.lastWrite))
	default:
		c.markClosed(now)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		chunk := p[written:min(len(p), written+writeChunk)]
		c.mu.Lock()
		if !c.closing {
			c.lastWrite = c.web.now()
		}
		c.mu.Unlock()
		n, err := c.Conn.Write(chunk)
		written += n
		c.mu.Lock()
		c.writtenBytes += int64(n)
		if err != nil {
			c.failed = true
			c.markClosed(c.web.now())
		}
		c.mu.Unlock()
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// Close ends the request in flight, if any.
func (c *conn) Close() error {
	c.mu.Lock()
	c.markClosed(c.web.now())
	c.finish()
	if c.servedCount == 0 {
		c.servedCount++
		c.web.record(c.emptyRecord())
	}
	c.mu.Unlock()
	c.web.mu.Lock()
	delete(c.web.live, c)
	c.web.mu.Unlock()
	return c.Conn.Close()
}

// markClosed records when the connection was first seen to be closed.
func (c *conn) markClosed(now time.Duration) {
	if c.closedAt == 0 {
		c.closedAt = now
	}
}

// emptyRecord returns the record of a connection without a request.
func (c *conn) emptyRecord() Record {
	return Record{
		Aborted:    true,
		Accepted:   c.acceptedAt,
		Bytes:      c.writtenBytes,
		Conn:       c.id,
		End:        c.closedAt,
		FirstByte:  c.firstByte,
		LocalAddr:  addrPort(c.LocalAddr()),
		RemoteAddr: addrPort(c.RemoteAddr()),
		Start:      c.acceptedAt,
		Time:       c.web.epoch.Add(c.acceptedAt),
	}
}

// begin opens the record of a request after its head was read.
func (c *conn) begin(r *http.Request, attempt int) {
	now := c.web.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	rec := c.emptyRecord()
	rec.HeadRead = now
	if c.servedCount > 0 {
		// A byte from before the last response's end belonged to the earlier request.
		rec.Start = max(c.firstByte, c.lastWrite)
		rec.Time = c.web.epoch.Add(rec.Start)
	}
	rec.Attempt = attempt
	rec.Headers = c.web.headers(r)
	rec.Host = strings.ToLower(r.Host)
	rec.Method = r.Method
	rec.Target = r.RequestURI
	rec.TLS = c.secure
	rec.UserAgent = r.UserAgent()
	c.rec, c.firstByte, c.writtenBytes, c.failed, c.retry = &rec, 0, 0, false, time.Time{}
}

// answer records the head of the response.
func (c *conn) answer(status int, head http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec == nil || c.rec.Status != 0 || status < 200 {
		return
	}
	c.rec.Status = status
	c.rec.RetryAfter, c.retry = parseRetryAfter(head.Get("Retry-After"))
}

// complete records that the handler has responded in full.
func (c *conn) complete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec != nil {
		c.rec.Aborted = false
	}
}

// finish hands the record of the request in flight to the log. The caller holds c.mu.
func (c *conn) finish() {
	if c.rec == nil {
		return
	}
	rec := *c.rec
	c.rec = nil
	c.servedCount++
	rec.Bytes = c.writtenBytes
	// Bytes written after the client left are not a response, even if the kernel takes them.
	clientLeft := c.closedAt != 0 && c.closedAt < c.lastWrite
	rec.Aborted = rec.Aborted || c.failed || clientLeft
	rec.End = c.lastWrite
	if rec.Aborted {
		rec.End = c.closedAt
	}
	if c.writtenBytes == 0 {
		rec.Status = 0
	}
	if !c.retry.IsZero() {
		rec.RetryAfter = remainingWait(c.retry, c.web.epoch.Add(rec.End))
	}
	c.web.record(rec)
}

// pending returns the record of the request in flight, or of a connection without one so far.
func (c *conn) pending(now time.Duration) (Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rec := c.emptyRecord()
	switch {
	case c.rec != nil:
		rec = *c.rec
		rec.Bytes = c.writtenBytes
	case c.servedCount > 0:
		return Record{}, false
	}
	rec.End, rec.InFlight, rec.Aborted = now, true, false
	return rec, true
}

// resetOnClose makes Close send a reset and drop unsent bytes.
func (c *conn) resetOnClose() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		// An error means that the connection is closed already.
		_ = tcp.SetLinger(0)
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}
