package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// dial connects x and, for https, does the TLS handshake, within ConnectTimeout. http.Transport
// would continue an abandoned dial, but when Do returns, nothing may be in flight.
func (c *Client) dial(caller, total context.Context, x *exchange) *Error {
	ctx, cancel := context.WithTimeout(total, c.config.ConnectTimeout)
	defer cancel()

	dialer := net.Dialer{
		// Check the address here, because the kernel gets this very value.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return c.admit(x, address)
		},
		KeepAlive: -1,
	}
	raw, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(x.request.Addr, x.target.port).String())
	if err != nil && isOtherFamilyOnly(ctx, err, x.request.Addr, Routes) {
		return fail(CauseFamily, "this machine has no route to "+familyOf(x.request.Addr)+" addresses", err)
	}
	if err != nil {
		return classify(caller, total, CauseConnect, "no connection", err)
	}
	x.guard = &guard{Conn: raw, deadline: x.request.Deadline}
	x.link = &link{Conn: x.guard, requestWritten: make(chan struct{})}
	if x.target.url.Scheme != "https" {
		return nil
	}
	config := c.tls.Clone()
	config.ServerName = x.target.url.Hostname()
	secure := tls.Client(x.guard, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		op, ok := errors.AsType[*net.OpError](err)
		// the server refuses our only protocol (ALPN)
		refusesHTTP1 := ok && op.Op == "remote error" && op.Err.Error() == "tls: no application protocol"
		if refusesHTTP1 {
			return fail(CauseTLS, "the server refuses HTTP/1.1 in the TLS handshake: it may speak HTTP/2 only", err)
		}
		return classify(caller, total, CauseTLS, "no TLS handshake", err)
	}
	x.link.Conn = secure
	return nil
}

// admit checks an address immediately before connect(2).
func (c *Client) admit(x *exchange, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fail(CauseForbiddenAddr, "not an address and port", err)
	}
	if err := c.permitsPort(to); err != nil {
		return err
	}
	if Expired(x.request.Deadline) {
		return fail(CauseDeadline, "the deadline passed before the connection", nil)
	}
	x.sent = true
	return nil
}

// Expired reports whether deadline has passed by the monotonic clock, or by the wall clock, which
// continues in a suspended machine. A zero deadline never passes.
func Expired(deadline time.Time) bool {
	if deadline.IsZero() {
		return false
	}
	now := time.Now()
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// guard is the connection below TLS. It counts received bytes, and blocks sends after the deadline.
type guard struct {
	net.Conn
	deadline time.Time
	received atomic.Int64
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.received.Add(int64(n))
	return n, err
}

func (g *guard) Write(p []byte) (int, error) {
	if Expired(g.deadline) {
		return 0, fail(CauseDeadline, "the deadline passed before the request", nil)
	}
	return g.Conn.Write(p)
}

// link is the connection below HTTP. The second call of Close waits for the first, because Do, the
// last caller, must return with a closed connection. A TLS connection ends with its close_notify.
type link struct {
	net.Conn
	closeOnce      sync.Once
	closeErr       error
	firstByte      atomic.Pointer[time.Time]
	http2          atomic.Bool // the response began with an HTTP/2 frame
	requestWritten chan struct{}
	writtenOnce    sync.Once
}

// Read waits until a request was written, because data that a site sends first is a wrong response.
// net/http would log it as the data of an idle connection.
func (l *link) Read(p []byte) (int, error) {
	<-l.requestWritten
	n, err := l.Conn.Read(p)
	if n > 0 && l.firstByte.Load() == nil {
		now := time.Now()
		// a frame of type SETTINGS or GOAWAY on stream 0 (RFC 9113, sections 3.4 and 4.1)
		const typeAt, streamAt, size = 3, 5, 9
		f := p[:n]
		isHTTP2 := len(f) >= size && f[0] == 0 && (f[typeAt] == 4 || f[typeAt] == 7) && [4]byte(f[streamAt:size]) == [4]byte{}
		l.http2.Store(isHTTP2)
		l.firstByte.Store(&now)
	}
	return n, err
}

func (l *link) Write(p []byte) (int, error) {
	defer l.writtenOnce.Do(func() { close(l.requestWritten) })
	return l.Conn.Write(p)
}

func (l *link) Close() error {
	l.closeOnce.Do(func() {
		l.closeErr = l.Conn.Close()
		l.writtenOnce.Do(func() { close(l.requestWritten) })
	})
	return l.closeErr
}

// classifyUnanswered returns the failure of a request without a valid HTTP/1.1 response.
func (l *link) classifyUnanswered(failure *Error) *Error {
	secure, isTLS := l.Conn.(*tls.Conn)
	switch {
	case failure.Cause == CauseCanceled:
	case l.http2.Load():
		return fail(CauseProtocol, "the server speaks HTTP/2 only", nil)
	case failure.Cause == CauseReset && l.firstByte.Load() == nil && isTLS && secure.ConnectionState().NegotiatedProtocol == "":
		failure.Msg = "no response, and the server did not choose HTTP/1.1 in the TLS handshake: it may speak HTTP/2 only"
	}
	return failure
}
