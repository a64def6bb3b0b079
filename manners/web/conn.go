package web

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// writeChunk bounds what one write hands to the kernel, so that the stamp
// before the last one is close to the end of the answer.
const writeChunk = 64 << 10

// listener stamps connections as they are accepted.
type listener struct {
	net.Listener
	tls *tls.Config // nil: none is spoken
	// either has clients speak TLS or not, as they like
	either bool
	web    *Web
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
	case l.either:
		return &eitherConn{conn: c, tls: l.tls}, nil
	}
	return &secureConn{Conn: tls.Server(c, l.tls), conn: c}, nil
}

// secureConn is TLS over a conn, which keeps the time of what is on the wire.
// It is no *tls.Conn to net/http, which would log the clients that refuse the
// certificate.
type secureConn struct {
	net.Conn
	conn *conn
}

// Close sends an alert, which is not part of the answer.
func (c *secureConn) Close() error {
	c.conn.mu.Lock()
	c.conn.closing = true
	c.conn.mu.Unlock()
	return c.Conn.Close()
}

// wireOf is what a connection of a listener is on the wire.
func wireOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *secureConn:
		return c.conn
	case *eitherConn:
		return c.conn
	}
	return c.(*conn)
}

// conn is a connection that knows when what happened on it.
type conn struct {
	net.Conn
	accepted time.Duration
	id       int64
	secure   bool // TLS is spoken over it
	web      *Web

	mu      sync.Mutex
	closing bool          // what is written now is no answer any more
	failed  bool          // a write has failed
	first   time.Duration // first byte since the last request began
	gone    time.Duration // the connection was seen to be closed
	last    time.Duration // before the last write
	rec     *Record       // the request in flight
	retry   time.Time     // the date of its Retry-After
	served  int
	written int64
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	now := c.web.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.first == 0 {
		c.first = now
	}
	// net/http ends its own reads by a deadline; anything else is the client.
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.leave(now)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		chunk := p[written:min(len(p), written+writeChunk)]
		c.mu.Lock()
		if !c.closing {
			c.last = c.web.now()
		}
		c.mu.Unlock()
		n, err := c.Conn.Write(chunk)
		written += n
		c.mu.Lock()
		c.written += int64(n)
		if err != nil {
			c.failed = true
			c.leave(c.web.now())
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
	c.leave(c.web.now())
	c.finish()
	if c.served == 0 {
		c.served++
		c.web.record(c.blank())
	}
	c.mu.Unlock()
	c.web.forget(c)
	return c.Conn.Close()
}

// leave notes when the connection was first seen to be closed.
func (c *conn) leave(now time.Duration) {
	if c.gone == 0 {
		c.gone = now
	}
}

// cut notes that the server ends the answer here, complete or not.
func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(c.last)
}

// blank is the record of a connection on which no request came.
func (c *conn) blank() Record {
	return Record{
		Aborted:    true,
		Accepted:   c.accepted,
		Bytes:      c.written,
		Conn:       c.id,
		End:        c.gone,
		FirstByte:  c.first,
		LocalAddr:  addrPort(c.LocalAddr()),
		RemoteAddr: addrPort(c.RemoteAddr()),
		Start:      c.accepted,
		Time:       c.web.epoch.Add(c.accepted),
	}
}

// begin opens the record of a request whose head has been read.
func (c *conn) begin(r *http.Request, attempt int) {
	now := c.web.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	rec := c.blank()
	rec.Read = now
	if c.served > 0 {
		// A byte from before the last answer's end was part of that request.
		rec.Start = max(c.first, c.last)
		rec.Time = c.web.epoch.Add(rec.Start)
	}
	rec.Attempt = attempt
	rec.Headers = c.web.headers(r)
	rec.Host = strings.ToLower(r.Host)
	rec.Method = r.Method
	rec.Target = r.RequestURI
	rec.TLS = c.secure
	rec.UserAgent = r.UserAgent()
	c.rec, c.first, c.written, c.failed, c.retry = &rec, 0, 0, false, time.Time{}
}

// answer notes the head of the answer.
func (c *conn) answer(status int, head http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec == nil || c.rec.Status != 0 || status < 200 {
		return
	}
	c.rec.Status = status
	c.rec.RetryAfter, c.retry = parseRetryAfter(head.Get("Retry-After"))
}

// complete notes that the handler has answered in full.
func (c *conn) complete() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec != nil {
		c.rec.Aborted = false
	}
}

// idle ends the request in flight on a connection that stays open.
func (c *conn) idle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish()
}

// finish hands the record of the request in flight to the log. c.mu is held.
func (c *conn) finish() {
	if c.rec == nil {
		return
	}
	rec := *c.rec
	c.rec = nil
	c.served++
	rec.Bytes = c.written
	// What is written to a client that has left is not an answer, even if the
	// kernel takes it.
	left := c.gone != 0 && c.gone < c.last
	rec.Aborted = rec.Aborted || c.failed || left
	rec.End = c.last
	if rec.Aborted {
		rec.End = c.gone
	}
	if c.written == 0 {
		rec.Status = 0
	}
	if !c.retry.IsZero() {
		rec.RetryAfter = until(c.retry, c.web.epoch.Add(rec.End))
	}
	c.web.record(rec)
}

// pending is the record of the request in flight, or of a connection on which
// none has come yet.
func (c *conn) pending(now time.Duration) (Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rec := c.blank()
	switch {
	case c.rec != nil:
		rec = *c.rec
		rec.Bytes = c.written
	case c.served > 0:
		return Record{}, false
	}
	rec.End, rec.InFlight, rec.Aborted = now, true, false
	return rec, true
}

// resetOnClose makes Close send a reset and drop what was not sent yet.
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
