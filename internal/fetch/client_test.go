package fetch_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestDo(t *testing.T) {
	t.Parallel()

	t.Run("GivesTheAnswer", func(t *testing.T) {
		t.Parallel()
		const text = "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML ; charset=x\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello"
		s := serve(t, answer(text))
		before := time.Now()
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.Status)
		require.Equal(t, "hello", string(response.Body))
		require.False(t, response.Truncated)
		require.Equal(t, "text/html", response.MediaType)
		require.Equal(t, "Text/HTML ; charset=x", response.ContentType)
		require.Equal(t, "b", response.Header.Get("X-A"))
		require.EqualValues(t, len(text), response.WireBytes)
		require.Positive(t, response.FirstByte)
		require.GreaterOrEqual(t, response.Total, response.FirstByte)
		require.WithinRange(t, response.EndedAt, before.Add(response.Total), time.Now())
	})

	t.Run("GoesToTheAddressNotTheHost", func(t *testing.T) {
		t.Parallel()
		hosts := make(chan string, 1)
		s := serve(t, func(conn net.Conn) {
			if request, ok := readHeader(conn); ok {
				hosts <- request.Host
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		})
		request := s.get("/")
		request.URL = strings.Replace(request.URL, "127.0.0.1", "name.invalid", 1)
		_, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.Contains(t, <-hosts, "name.invalid:")
	})

	t.Run("SendsAnHonestHeader", func(t *testing.T) {
		t.Parallel()
		headers := make(chan http.Header, 1)
		s := serve(t, func(conn net.Conn) {
			if request, ok := readHeader(conn); ok {
				request.Header.Set("Closes", map[bool]string{true: "yes"}[request.Close])
				headers <- request.Header
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		})
		request := s.get("/")
		request.Accept = "text/html"
		request.Header = http.Header{"If-None-Match": {`"v1"`}, "User-Agent": {"Mozilla/5.0"}}
		_, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, http.Header{
			"Accept":          {"text/html"},
			"Accept-Encoding": {"gzip, br, zstd"},
			"Closes":          {"yes"},
			"Connection":      {"close"},
			"If-None-Match":   {`"v1"`},
			"User-Agent":      {"mosey-test/1.0"},
		}, <-headers)
	})

	t.Run("DoesNotFollowRedirects", func(t *testing.T) {
		t.Parallel()
		inside := serve(t, answer("HTTP/1.1 200 OK\r\n\r\nsecret"))
		location := "http://" + inside.at.String() + "/"
		s := serve(t, answer("HTTP/1.1 302 Found\r\nLocation: "+location+"\r\nContent-Length: 0\r\n\r\n"))
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Equal(t, http.StatusFound, response.Status)
		require.Equal(t, location, response.Header.Get("Location"))
		require.Zero(t, inside.accepted.Load())
	})

	t.Run("GivesAnyStatus", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answer("HTTP/1.1 999 Go Away\r\nContent-Length: 0\r\n\r\n"))
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Equal(t, 999, response.Status)
	})

	t.Run("SkipsInterimAnswers", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answer("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhello"))
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Equal(t, "hello", string(response.Body))
	})

	t.Run("LeavesABodyThatIsNotWanted", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n")(conn)
			repeat(conn, "x")
		})
		request := s.get("/")
		request.WantBody = func(r *fetch.Response) bool {
			return r.MediaType != "video/mp4" || r.Status != http.StatusOK || r.Header.Get("Content-Type") != "video/mp4"
		}
		response, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.Nil(t, response.Body)
		require.Equal(t, http.StatusOK, response.Status)
	})

	t.Run("StopsWithTheCallersContext", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, func(conn net.Conn) {
			cancel()
			hang(conn)
		})
		_, err := newClient(t).Do(ctx, s.get("/"))
		requireKind(t, fetch.CauseCanceled, err)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestDoReturnsWithTheConnectionClosed(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 1)
	talk := func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		if _, err := http.ReadRequest(reader); err != nil {
			closed <- err
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		// The server keeps the connection: only the client can end it.
		_, err := reader.ReadByte()
		closed <- err
	}
	authority := newAuthority(t)
	plain, secure := serve(t, talk), serve(t, authority.over(t, authority.leaf(t), talk))
	client := newClient(t, authority.trust)
	for range 20 {
		for _, request := range []fetch.Request{plain.get("/"), secure.getTLS()} {
			_, err := client.Do(t.Context(), request)
			require.NoError(t, err)
			select {
			case err := <-closed:
				// Over TLS, EOF means that close_notify came first.
				require.ErrorIs(t, err, io.EOF)
			case <-time.After(patience):
				require.FailNow(t, "the connection is still open")
			}
		}
	}
}

func TestDoSendsTheURLAsItIs(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 1)
	s := serve(t, func(conn net.Conn) {
		line, _ := bufio.NewReader(conn).ReadString('\n')
		lines <- line
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	client := newClient(t)

	for url, want := range map[string]string{
		"":                    "/",
		"/":                   "/",
		"?":                   "/?",
		"?q=1":                "/?q=1",
		"/a/b?c=d&e#fragment": "/a/b?c=d&e",
		"/100%":               "/100%",
		"/a%2fb%2Fc":          "/a%2fb%2Fc",
		"/|^`{}[]\"'<>\\":     "/|^`{}[]\"'<>\\",
		"//double//slash?":    "//double//slash?",
		"//double?q=%":        "//double?q=%",
		"/a?b?c=//d":          "/a?b?c=//d",
	} {
		_, err := client.Do(t.Context(), s.get(url))
		require.NoError(t, err, url)
		require.Equal(t, "GET "+want+" HTTP/1.1\r\n", <-lines, url)
	}
}

func TestDoRefusesAWrongRequest(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	addr := netip.MustParseAddr("127.0.0.1")

	for name, request := range map[string]fetch.Request{
		"NoURL":             {Addr: addr},
		"OtherScheme":       {Addr: addr, URL: "ftp://example.org/"},
		"RelativeURL":       {Addr: addr, URL: "/path"},
		"UserInformation":   {Addr: addr, URL: "http://user:secret@example.org/"},
		"NoHost":            {Addr: addr, URL: "http:///path"},
		"PortTooLarge":      {Addr: addr, URL: "http://example.org:65536/"},
		"PortNotANumber":    {Addr: addr, URL: "http://example.org:http/"},
		"SpaceInPath":       {Addr: addr, URL: "http://example.org/a b"},
		"LineBreakInPath":   {Addr: addr, URL: "http://example.org/a\r\nHost: b"},
		"NonASCIIPath":      {Addr: addr, URL: "http://example.org/ä"},
		"BadEscapeAfter//":  {Addr: addr, URL: "http://example.org//%"},
		"NoAddr":            {URL: "http://example.org/"},
		"NegativeLimit":     {Addr: addr, URL: "http://example.org/", MaxBodyBytes: -1},
		"LimitTooLarge":     {Addr: addr, URL: "http://example.org/", MaxBodyBytes: 1<<30 + 1},
		"LineBreakInAccept": {Addr: addr, URL: "http://example.org/", Accept: "a\r\nb"},
		"LineBreakInHeader": {Addr: addr, URL: "http://example.org/", Header: http.Header{"If-None-Match": {"a\r\nb"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client.Do(t.Context(), request)
			require.False(t, requireKind(t, fetch.CauseInvalid, err).Sent)
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()

	t.Run("LetsNothingOutAfterIt", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answer("HTTP/1.1 200 OK\r\n\r\n"))
		request := s.get("/")
		request.Deadline = time.Now()
		_, err := newClient(t).Do(t.Context(), request)
		require.False(t, requireKind(t, fetch.CauseDeadline, err).Sent)
		require.Zero(t, s.accepted.Load())
	})

	t.Run("MayHoldTheWallClockAlone", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answer("HTTP/1.1 200 OK\r\n\r\n"))
		request := s.get("/")
		request.Deadline = time.Now().Add(-time.Second).Round(0)
		_, err := newClient(t).Do(t.Context(), request)
		requireKind(t, fetch.CauseDeadline, err)
		require.Zero(t, s.accepted.Load())
	})

	t.Run("StopsARequestBetweenConnectAndSend", func(t *testing.T) {
		t.Parallel()
		authority := newAuthority(t)
		inTime(t, func(deadline time.Time) bool {
			requests := make(chan bool, 1)
			// The handshake's answer is held back until the deadline has passed.
			s, reached := serveLate(t, deadline, authority.over(t, authority.leaf(t), func(conn net.Conn) {
				_, ok := readHeader(conn)
				requests <- ok
			}))
			request := s.getTLS()
			request.Deadline = deadline
			_, err := newClient(t, authority.trust).Do(t.Context(), request)
			fault := requireKind(t, fetch.CauseDeadline, err)
			met := reached()
			select {
			case sent := <-requests:
				require.False(t, sent)
			default: // nothing was accepted
			}
			if met {
				require.True(t, fault.Sent)
			}
			return met
		})
	})

	t.Run("DoesNotLimitTheAnswer", func(t *testing.T) {
		t.Parallel()
		inTime(t, func(deadline time.Time) bool {
			s, reached := serveLate(t, deadline, answer("HTTP/1.1 200 OK\r\n\r\nhello"))
			request := s.get("/")
			request.Deadline = deadline
			response, err := newClient(t).Do(t.Context(), request)
			if !reached() {
				if s.accepted.Load() == 0 {
					requireKind(t, fetch.CauseDeadline, err)
				}
				return false
			}
			require.NoError(t, err)
			require.Equal(t, "hello", string(response.Body))
			require.True(t, response.EndedAt.After(deadline))
			return true
		})
	})
}

// inTime runs try with a deadline that is twice as far away each time, until try reports that the
// site was reached before the deadline. A busy machine needs longer than the first one.
func inTime(t *testing.T, try func(deadline time.Time) (reached bool)) {
	t.Helper()
	span := 300 * time.Millisecond
	for !try(time.Now().Add(span)) {
		span *= 2
	}
}

// serveLate is serve for a site that writes nothing until an instant. reached waits for the
// connection's end, if there was a connection, and reports whether the site read something before
// the instant.
func serveLate(t *testing.T, until time.Time, talk func(net.Conn)) (s *site, reached func() bool) {
	t.Helper()
	ended := make(chan *lateConn, 1)
	s = serve(t, func(conn net.Conn) {
		c := &lateConn{Conn: conn, until: until}
		talk(c)
		ended <- c
	})
	return s, func() bool {
		if s.accepted.Load() == 0 {
			return false
		}
		c := <-ended
		return !c.read.IsZero() && c.read.Before(until)
	}
}

// lateConn writes nothing until an instant has passed.
type lateConn struct {
	net.Conn
	until time.Time
	// read is when the first bytes were read.
	read time.Time
}

func (c *lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.read.IsZero() {
		c.read = time.Now()
	}
	return n, err
}

func (c *lateConn) Write(p []byte) (int, error) {
	<-time.After(time.Until(c.until) + time.Millisecond)
	return c.Conn.Write(p)
}

func BenchmarkDo(b *testing.B) {
	page := []byte(strings.Repeat("<p>A page of ordinary length, and of ordinary text.</p>\n", 200))
	for _, coding := range []string{"identity", "gzip", "br", "zstd"} {
		b.Run(coding, func(b *testing.B) {
			s := serve(b, answerBody(coding, encode(b, coding, page)))
			client := newClient(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				response, err := client.Do(b.Context(), s.get("/"))
				require.NoError(b, err)
				require.Len(b, response.Body, len(page))
				response.Release()
			}
		})
	}
}
