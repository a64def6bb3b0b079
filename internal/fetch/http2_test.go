package fetch_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/mosey-web/mosey/internal/fetch"
)

// serveHTTP2 starts a server of net/http that speaks HTTP/2 only. refuses tells whether it refuses
// a client of HTTP/1.1 in the TLS handshake, or afterwards.
func serveHTTP2(t *testing.T, authority *authority, refuses bool, handle http.HandlerFunc) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &site{at: listener.Addr().(*net.TCPAddr).AddrPort()}
	config := &tls.Config{Certificates: []tls.Certificate{authority.leaf(t)}, MinVersion: tls.VersionTLS12}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		s.accepted.Add(1)
		chosen := config.Clone()
		chosen.NextProtos = []string{"h2"}
		if refuses && !slices.Contains(hello.SupportedProtos, "h2") {
			chosen.NextProtos = []string{"another"}
		}
		return chosen, nil
	}
	server := &http.Server{
		TLSConfig: config, Handler: handle, Protocols: new(http.Protocols), ReadHeaderTimeout: patience,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	server.Protocols.SetHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return s
}

func TestServersOfHTTP2Only(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	page := strings.Repeat("<p>hello, hello</p>\n", 10_000)
	compressed := encode(t, "gzip", []byte(page))
	handle := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Proto != "HTTP/2.0" || r.Header.Get("User-Agent") != "mosey-test/1.0":
			http.Error(w, "another request", http.StatusBadRequest)
		case r.URL.Path == "/silent":
			<-r.Context().Done()
		case r.URL.Path == "/stalled":
			_, _ = io.WriteString(w, "hello")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(compressed)
		}
	}

	t.Run("IsConnectedAgainIfItRefusesHTTP1", func(t *testing.T) {
		t.Parallel()
		s := serveHTTP2(t, authority, true, handle)
		client := newClient(t, authority.trust)
		for i := range 3 {
			response, err := client.Do(t.Context(), s.getTLS())
			require.NoError(t, err)
			require.Equal(t, page, string(response.Body))
			require.Equal(t, "text/html", response.MediaType)
			require.GreaterOrEqual(t, response.Total, response.FirstByte)
			require.GreaterOrEqual(t, response.FirstByte, response.Connect)
			require.EqualValues(t, 2+i, s.accepted.Load(), "it is remembered")
			response.Release()
		}
	})

	t.Run("IsAskedInHTTP2TheNextTime", func(t *testing.T) {
		t.Parallel()
		s := serveHTTP2(t, authority, false, handle)
		client := newClient(t, authority.trust)
		_, err := client.Do(t.Context(), s.getTLS())
		failure := requireKind(t, fetch.CauseReset, err)
		require.ErrorContains(t, &failure, "HTTP/2 only, as the next request does")
		require.EqualValues(t, 1, s.accepted.Load(), "a request is never repeated")
		response, err := client.Do(t.Context(), s.getTLS())
		require.NoError(t, err)
		require.Equal(t, page, string(response.Body))
	})

	t.Run("IsAskedInHTTP2AfterAFrame", func(t *testing.T) {
		t.Parallel()
		s := serve(t, authority.over(t, authority.leaf(t), func(conn net.Conn) {
			_, _ = readHeader(conn)
			_ = http2.NewFramer(conn, nil).WriteSettings()
			hang(conn)
		}))
		_, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
		failure := requireKind(t, fetch.CauseReset, err)
		require.ErrorContains(t, &failure, "HTTP/2 only, as the next request does")
	})

	for path, limit := range map[string]func(*fetch.Config){
		"/silent":  func(c *fetch.Config) { c.FirstByteTimeout = 50 * time.Millisecond },
		"/stalled": func(c *fetch.Config) { c.IdleTimeout = 50 * time.Millisecond },
	} {
		t.Run("HasTheSameLimits"+path, func(t *testing.T) {
			t.Parallel()
			s := serveHTTP2(t, authority, true, handle)
			request := s.getTLS()
			request.URL += path[1:]
			_, err := newClient(t, authority.trust, limit).Do(t.Context(), request)
			requireKind(t, fetch.CauseTimeout, err)
		})
	}

	t.Run("TruncatesALongBody", func(t *testing.T) {
		t.Parallel()
		request := serveHTTP2(t, authority, true, handle).getTLS()
		request.MaxBodyBytes = 1000
		response, err := newClient(t, authority.trust).Do(t.Context(), request)
		require.NoError(t, err)
		require.True(t, response.Truncated)
		require.Equal(t, page[:1000], string(response.Body))
	})

	t.Run("IsCapturedInTheFramingOfHTTP1", func(t *testing.T) {
		t.Parallel()
		request := serveHTTP2(t, authority, true, handle).getTLS()
		request.Capture = true
		response, err := newClient(t, authority.trust).Do(t.Context(), request)
		require.NoError(t, err)
		defer response.Release()
		require.True(t, strings.HasPrefix(sent(t, response), "GET / HTTP/1.1\r\nHost: "))
		replayed, err := fetch.Replay(response.Capture.Received(), fetch.MaxBodyBytesDefault)
		require.NoError(t, err)
		defer replayed.Release()
		require.Equal(t, page, string(replayed.Body))
		require.Equal(t, response.Header, replayed.Header)
	})

	t.Run("StaysAFailureWithoutTLS", func(t *testing.T) {
		t.Parallel()
		for _, then := range []func(net.Conn){func(net.Conn) {}, hang} {
			s := serve(t, func(conn net.Conn) {
				_, _ = readHeader(conn) // else the system could drop the frame
				_ = http2.NewFramer(conn, nil).WriteSettings()
				then(conn)
			})
			_, err := newClient(t, func(c *fetch.Config) { c.FirstByteTimeout = time.Second }).Do(t.Context(), s.get("/"))
			requireKind(t, fetch.CauseProtocol, err)
			require.ErrorContains(t, err, "HTTP/2 only")
		}
	})

	t.Run("RefusesHTTP2Too", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(conn net.Conn) {
			config := &tls.Config{
				Certificates: []tls.Certificate{authority.leaf(t)}, MinVersion: tls.VersionTLS12, NextProtos: []string{"another"},
			}
			_ = tls.Server(conn, config).Handshake()
		})
		_, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
		requireKind(t, fetch.CauseTLS, err)
		require.EqualValues(t, 2, s.accepted.Load(), fmt.Sprint(err))
	})
}
