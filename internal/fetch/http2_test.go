package fetch_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/mosey-web/mosey/internal/fetch"
)

// An HTTP/2-only server answers no request of HTTP/1.1. The error names that.
func TestServersOfHTTP2Only(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	// only serves one connection by a server of net/http.
	only := func(set func(*http.Protocols)) func(net.Conn) {
		return func(conn net.Conn) {
			server := &http.Server{Handler: http.NotFoundHandler(), Protocols: new(http.Protocols)}
			set(server.Protocols)
			last := &lastConn{Conn: conn, closed: make(chan struct{})}
			_ = server.Serve(&oneConn{conn: last})
			<-last.closed
		}
	}
	over := func(talk func(net.Conn), protocols ...string) func(net.Conn) {
		return func(conn net.Conn) {
			config := &tls.Config{Certificates: []tls.Certificate{authority.leaf(t)}, MinVersion: tls.VersionTLS12, NextProtos: protocols}
			secure := tls.Server(conn, config)
			if secure.Handshake() == nil {
				talk(secure)
			}
			_ = secure.Close()
		}
	}
	// settings has read the request before it closes: else the system could drop what was sent.
	settings := func(then func(net.Conn)) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = readHeader(conn)
			_ = http2.NewFramer(conn, nil).WriteSettings()
			then(conn)
		}
	}
	for name, test := range map[string]struct {
		secure bool
		talk   func(net.Conn)
		want   fetch.Cause
	}{
		"SettingsAndClose":       {false, settings(func(net.Conn) {}), fetch.CauseProtocol},
		"SettingsAndSilence":     {false, settings(hang), fetch.CauseProtocol},
		"SettingsOverTLS":        {true, over(settings(hang), "h2"), fetch.CauseProtocol},
		"OfGoOverTLS":            {true, over(only(func(p *http.Protocols) { p.SetHTTP2(true) }), "h2"), fetch.CauseReset},
		"RefusesHTTP1InTheHello": {true, over(hang, "another"), fetch.CauseTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.talk)
			request := s.get("/")
			if test.secure {
				request = s.getTLS()
			}
			_, err := newClient(t, authority.trust).Do(t.Context(), request)
			requireKind(t, test.want, err)
			require.ErrorContains(t, err, "HTTP/2 only")
		})
	}
}

// lastConn reports that it was closed.
type lastConn struct {
	net.Conn

	closed chan struct{}
	once   sync.Once
}

func (c *lastConn) Close() error {
	defer c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// oneConn is a listener of one connection.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, net.ErrClosed
	}
	conn := l.conn
	l.conn = nil
	return conn, nil
}

func (*oneConn) Close() error   { return nil }
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }
