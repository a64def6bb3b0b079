package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// dial connects x and, for https, does the TLS handshake, within ConnectTimeout. A server that
// refuses HTTP/1.1 in the handshake is connected again, for HTTP/2.
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
	x.link = &link{Conn: x.guard}
	if x.target.url.Scheme != "https" {
		return nil
	}
	config := c.tls.Clone()
	config.ServerName = x.target.url.Hostname()
	if strings.HasPrefix(config.ServerName, "-") {
		acceptWildcard(config)
	}
	config.NextProtos = c.http2.protocols(x.target.url.Host)
	x.secure = tls.Client(x.guard, config)
	err = x.secure.HandshakeContext(ctx)
	if err == nil {
		x.link.Conn = x.secure
		return nil
	}
	if refusesHTTP1(err) && len(config.NextProtos) == 1 { // nothing was requested yet
		_ = raw.Close()
		c.http2.remember(x.target.url.Host)
		return c.dial(caller, total, x)
	}
	return classify(caller, total, CauseTLS, "no TLS handshake", err)
}

// acceptWildcard accepts a wildcard certificate for a host that begins with a hyphen, as browsers
// do. Package x509 accepts only a certificate that names the host.
func acceptWildcard(config *tls.Config) {
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		leaf, options := state.PeerCertificates[0], x509.VerifyOptions{Roots: config.RootCAs, Intermediates: x509.NewCertPool()}
		for _, c := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		if _, err := leaf.Verify(options); err != nil {
			return err
		}
		_, parent, _ := strings.Cut(config.ServerName, ".")
		if slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return strings.EqualFold(name, "*."+parent) }) {
			return nil
		}
		return leaf.VerifyHostname(config.ServerName)
	}
}

// cipherSuites returns the default suites and those of TLS 1.2 with RSA key exchange, which old
// servers need and browsers offer.
func cipherSuites() []uint16 {
	suites := []uint16{
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	}
	for _, suite := range tls.CipherSuites() {
		suites = append(suites, suite.ID)
	}
	return suites
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
	capture   *Capture // gets all received bytes; nil if not wanted
	closeOnce sync.Once
	closeErr  error
	firstByte atomic.Pointer[time.Time]
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.noteFirstByte()
	}
	if l.capture != nil {
		_, _ = l.capture.Write(p[:n])
	}
	return n, err
}

func (l *link) noteFirstByte() {
	if l.firstByte.Load() == nil {
		now := time.Now()
		l.firstByte.Store(&now)
	}
}

func (l *link) Close() error {
	l.closeOnce.Do(func() { l.closeErr = l.Conn.Close() })
	return l.closeErr
}
