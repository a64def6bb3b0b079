package fetch_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

// capture requests a page of s, and returns the response with the captured one.
func capture(t *testing.T, s *site, change func(*fetch.Request)) (response *fetch.Response, received string) {
	t.Helper()
	request := s.get("/page")
	request.Capture = true
	if change != nil {
		change(&request)
	}
	response, err := newClient(t).Do(t.Context(), request)
	require.NoError(t, err)
	t.Cleanup(response.Release)
	data, err := io.ReadAll(response.Capture.Received())
	require.NoError(t, err)
	return response, string(data)
}

// sent returns the captured request.
func sent(t *testing.T, response *fetch.Response) string {
	t.Helper()
	data, err := io.ReadAll(response.Capture.Request())
	require.NoError(t, err)
	return string(data)
}

func TestCapture(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, "hello")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	long := strings.Repeat("0123456789", 20_000)

	for name, test := range map[string]struct{ before, response, after, body string }{
		"Plain":      {"", "HTTP/1.1 200 OK\r\nX-a:  b\r\nContent-Length: 5\r\n\r\nhello", "", "hello"},
		"UntilClose": {"", "HTTP/1.0 200 OK\nServer: old\n\nhello", "", "hello"},
		"Chunked": {
			"", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "", "hello",
		},
		"Interim": {
			"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello", "", "hello",
		},
		"MoreThanAnnounced": {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\n\r\nagain", "hello"},
		"Coded": {
			"", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", packed.Len(), &packed), "", "hello",
		},
		"Long": {"", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long), "", long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, received := capture(t, serve(t, answer(test.before+test.response+test.after)), nil)
			require.Equal(t, test.response, received)
			require.True(t, strings.HasPrefix(sent(t, response), "GET /page HTTP/1.1\r\nHost: 127.0.0.1:"))
			require.True(t, strings.HasSuffix(sent(t, response), "\r\n\r\n"))

			replayed, err := fetch.Replay(response.Capture.Received(), fetch.MaxBodyBytesDefault)
			require.NoError(t, err)
			defer replayed.Release()
			require.Equal(t, test.body, string(replayed.Body))
			require.Equal(t, response.Status, replayed.Status)
			require.Equal(t, response.Header, replayed.Header)
		})
	}
}

func TestCaptureOfTheHeadAlone(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
	_, received := capture(t, serve(t, func(conn net.Conn) {
		answer(head)(conn)
		repeat(conn, "x")
	}), func(r *fetch.Request) { r.WantBody = func(*fetch.Response) bool { return false } })
	require.Equal(t, head, received)
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	for _, captured := range []string{"", "x", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8bx"} {
		_, err := fetch.Replay(strings.NewReader(captured), 1000)
		require.Error(t, err, captured)
	}
	response, err := fetch.Replay(strings.NewReader("HTTP/1.1 200 OK\r\n\r\nhello"), 3)
	require.NoError(t, err)
	defer response.Release()
	require.True(t, response.Truncated)
	require.Equal(t, "hel", string(response.Body))
	require.Equal(t, http.StatusOK, response.Status)
}
