package fetch_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = netip.MustParsePrefix("127.0.0.0/8")

// patience is the timeout for expected events.
const patience = 20 * time.Second

// newClient returns a client that may request loopback addresses, with each of changes applied.
func newClient(tb testing.TB, changes ...func(*fetch.Config)) *fetch.Client {
	tb.Helper()
	config := fetch.Config{
		AllowNetworks: []netip.Prefix{loopback},
		UserAgent:     "mosey-test/1.0",
	}
	for _, change := range changes {
		change(&config)
	}
	client, err := fetch.New(config)
	require.NoError(tb, err)
	return client
}

// site is a server that is free to misbehave: it is given bare connections.
type site struct {
	accepted atomic.Int64
	at       netip.AddrPort
}

// serve starts a site, which runs talk for each connection and closes it then.
// All are closed at the test's end.
func serve(tb testing.TB, talk func(net.Conn)) *site {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	s := &site{at: listener.Addr().(*net.TCPAddr).AddrPort()}
	var running sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			running.Go(func() {
				talk(conn)
				_ = conn.Close()
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			})
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return s
}

// get is a request for a path of the site.
func (s *site) get(path string) fetch.Request {
	return fetch.Request{Addr: s.at.Addr(), URL: fmt.Sprintf("http://%s%s", s.at, path)}
}

// readHeader reads a request's header, and tells whether there was one.
func readHeader(conn net.Conn) (*http.Request, bool) {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	return request, err == nil
}

// answer is a talk that reads the request and sends text.
func answer(text string) func(net.Conn) {
	return func(conn net.Conn) {
		if _, ok := readHeader(conn); ok {
			_, _ = io.WriteString(conn, text)
		}
	}
}

// answerBody is a talk that sends a page of a given content coding.
func answerBody(coding string, body []byte) func(net.Conn) {
	return answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+
		"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body))
}

// repeat sends text until the client has enough.
func repeat(conn net.Conn, text string) {
	chunk := strings.Repeat(text, 1+(4<<10)/len(text))
	for {
		if _, err := io.WriteString(conn, chunk); err != nil {
			return
		}
	}
}

// drip sends a byte every few milliseconds until the client has enough.
func drip(conn net.Conn, b string) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := io.WriteString(conn, b); err != nil {
			return
		}
	}
}

// hang waits until the client leaves.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// requireKind checks what every failure promises, and gives it.
func requireKind(tb testing.TB, want fetch.Cause, err error) fetch.Error {
	tb.Helper()
	require.ErrorIs(tb, err, want)
	var failure *fetch.Error
	require.ErrorAs(tb, err, &failure)
	require.Equal(tb, want, failure.Cause, err)
	require.False(tb, failure.EndedAt.IsZero())
	require.LessOrEqual(tb, len(err.Error()), 512)
	return *failure
}
