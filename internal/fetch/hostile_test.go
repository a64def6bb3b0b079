package fetch_test

import (
	"fmt"
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

func TestTimeouts(t *testing.T) {
	t.Parallel()
	const short = 50 * time.Millisecond
	firstByte := func(c *fetch.Config) { c.FirstByteTimeout = short }
	idle := func(c *fetch.Config) { c.IdleTimeout = short }
	total := func(c *fetch.Config) { c.TotalTimeout = 4 * short }

	for name, test := range map[string]struct {
		limit  func(*fetch.Config)
		talk   func(net.Conn)
		status int
	}{
		"Connecting":          {func(c *fetch.Config) { c.ConnectTimeout = time.Nanosecond }, hang, 0},
		"SilentServer":        {firstByte, hang, 0},
		"HeaderByDrops":       {firstByte, func(conn net.Conn) { drip(conn, "H") }, 0},
		"SilentServerInTotal": {total, hang, 0},
		"InterimAnswersForever": {total, func(conn net.Conn) {
			drip(conn, "HTTP/1.1 102 Processing\r\n\r\n")
		}, 0},
		"BodyByDrops": {total, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\n\r\n")(conn)
			drip(conn, "x")
		}, http.StatusOK},
		"ChunksByDrops": {total, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")(conn)
			drip(conn, "1\r\nx\r\n")
		}, http.StatusOK},
		"BodyWithoutAByte": {idle, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")(conn)
			hang(conn)
		}, http.StatusOK},
		"BodyThatIsTooSlow": {idle, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\n\r\n")(conn)
			drip(conn, "x")
		}, http.StatusOK},
		"SilenceInTheBody": {total, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")(conn)
			hang(conn)
		}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.talk)
			start := time.Now()
			_, err := newClient(t, test.limit).Do(t.Context(), s.get("/"))
			failure := requireKind(t, fetch.CauseTimeout, err)
			require.Less(t, failure.EndedAt.Sub(start), patience, "another, longer limit ended it")
			require.Equal(t, test.status, failure.Status)
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	reset := func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) }

	for name, test := range map[string]struct {
		talk   func(net.Conn)
		want   fetch.Cause
		status int
	}{
		"ClosedAtOnce":       {func(net.Conn) {}, fetch.CauseReset, 0},
		"ClosedAfterRequest": {answer(""), fetch.CauseReset, 0},
		"ResetAfterRequest": {func(conn net.Conn) {
			answer("")(conn)
			reset(conn)
		}, fetch.CauseReset, 0},
		"ClosedInHeader": {answer(ok + "Content-Type: te"), fetch.CauseReset, 0},
		"ResetInBody": {func(conn net.Conn) {
			answer(ok + "Content-Length: 1000000\r\n\r\nhello")(conn)
			reset(conn)
		}, fetch.CauseReset, http.StatusOK},
		"ContentLengthTooLong": {answer(ok + "Content-Length: 6\r\n\r\nhello"), fetch.CauseReset, http.StatusOK},
		"LastChunkMissing": {
			answer(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), fetch.CauseReset, http.StatusOK,
		},
		"HalfAGzipAndNoMore": {
			answer(ok + "Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" +
				string(encode(t, "gzip", []byte("hello"))[:15])), fetch.CauseReset, http.StatusOK,
		},
		"BadChunkSize": {
			answer(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n"), fetch.CauseProtocol, http.StatusOK,
		},
		"EndlessChunkSize": {func(conn net.Conn) {
			answer(ok + "Transfer-Encoding: chunked\r\n\r\n")(conn)
			repeat(conn, "0")
		}, fetch.CauseProtocol, http.StatusOK},
		"TwoContentLengths": {answer(ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), fetch.CauseProtocol, 0},
		"ChunkLongerThanItsSize": {
			answer(ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n"), fetch.CauseProtocol, http.StatusOK,
		},
		"ChunksOfLines": {func(conn net.Conn) {
			answer(ok + "Transfer-Encoding: chunked\r\n\r\n")(conn)
			repeat(conn, "1;"+strings.Repeat("x", 100)+"\r\nx\r\n")
		}, fetch.CauseProtocol, http.StatusOK},
		"PartOfTheContent": {
			answer("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nhello"),
			fetch.CauseProtocol, http.StatusPartialContent,
		},
		"BadStatus":  {answer("HTTP/1.1 OK\r\n\r\n"), fetch.CauseProtocol, 0},
		"StatusZero": {answer("HTTP/1.1 000 What\r\n\r\n"), fetch.CauseProtocol, 0},
		"SwitchesProtocols": {
			answer("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), fetch.CauseProtocol, 101,
		},
		"HTTP09": {answer("<html><body>\nhello</body></html>\n"), fetch.CauseProtocol, 0},
		"AnotherProtocol": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n")
			hang(conn)
		}, fetch.CauseProtocol, 0},
		"Noise": {func(conn net.Conn) { repeat(conn, "\xff\x00\x1b") }, fetch.CauseProtocol, 0},
		"EndlessStatusLine": {func(conn net.Conn) {
			answer("HTTP/1.1 200 ")(conn)
			repeat(conn, "O")
		}, fetch.CauseProtocol, 0},
		"EndlessHeaders": {func(conn net.Conn) {
			answer(ok)(conn)
			repeat(conn, "A: b\r\n")
		}, fetch.CauseProtocol, 0},
		"EndlessHeaderLine": {func(conn net.Conn) {
			answer(ok + "A: ")(conn)
			repeat(conn, "b")
		}, fetch.CauseProtocol, 0},
		"EndlessInterimAnswers": {func(conn net.Conn) {
			repeat(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		}, fetch.CauseProtocol, 0},
		"HeaderOfOneMB": {
			answer(ok + "A: " + strings.Repeat("b", 1<<20) + "\r\n\r\nhello"), fetch.CauseProtocol, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.talk)
			_, err := newClient(t).Do(t.Context(), s.get("/"))
			failure := requireKind(t, test.want, err)
			require.True(t, failure.Sent)
			require.EqualValues(t, 1, s.accepted.Load(), "a request is never repeated")
			if test.status != 0 {
				require.Equal(t, test.status, failure.Status)
			}
		})
	}
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	at := netip.MustParseAddrPort("127.0.0.1:1") // any free port could become another test's

	_, err := newClient(t).Do(t.Context(), (&site{at: at}).get("/"))
	failure := requireKind(t, fetch.CauseConnect, err)
	require.True(t, failure.Sent)
	require.True(t, failure.Refused())
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	limit := func(c *fetch.Config) { c.MaxBodyBytes = 1000 }

	for name, test := range map[string]struct {
		length    int
		request   int64
		want      int
		truncated bool
	}{
		"KeepsABodyOfExactlyTheLimit": {1000, 0, 1000, false},
		"CutsALongerBody":             {1001, 0, 1000, true},
		"TakesTheRequestsLimit":       {1001, 5, 5, true},
		"TakesALargerOneOfTheRequest": {1001, 2000, 1001, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.Repeat("x", test.length)
			for _, framing := range []string{
				fmt.Sprintf("Content-Length: %d\r\n\r\n%s", test.length, body),
				"\r\n" + body,
				fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", test.length, body),
			} {
				s := serve(t, answer("HTTP/1.1 200 OK\r\n"+framing))
				request := s.get("/")
				request.MaxBodyBytes = test.request
				response, err := newClient(t, limit).Do(t.Context(), request)
				require.NoError(t, err)
				require.Len(t, response.Body, test.want)
				require.Equal(t, test.truncated, response.Truncated)
			}
		})
	}

	t.Run("KeepsASlowBodyThatIsFastEnough", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")(conn)
			for range 50 {
				time.Sleep(20 * time.Millisecond) // 1 s in all
				_, _ = io.WriteString(conn, strings.Repeat("x", 100))
			}
		})
		response, err := newClient(t, func(c *fetch.Config) { c.IdleTimeout = 500 * time.Millisecond }).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Len(t, response.Body, 5000)
	})

	t.Run("ManyBodiesWaitForMemory", func(t *testing.T) {
		t.Parallel()
		const long = 200_000
		s := serve(t, answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", long, strings.Repeat("x", long))))
		c := newClient(t, func(c *fetch.Config) {
			c.MaxBodyBytes, c.MaxBytesInFlight, c.TotalTimeout = 1_000_000, 2_000_000, 300*time.Millisecond
		})
		first, err := c.Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Len(t, first.Body, long)
		second, err := c.Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		_, err = c.Do(t.Context(), s.get("/"))
		require.ErrorContains(t, requireKind(t, fetch.CauseLocal, err).Err, "context deadline exceeded")
		second.Release()
		second.Release()
		third, err := c.Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		_, err = c.Do(t.Context(), s.get("/"))
		requireKind(t, fetch.CauseLocal, err)
		first.Release()
		third.Release()
	})

	t.Run("ShortBodiesNeedNone", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answer("HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 60_000)))
		c := newClient(t, func(c *fetch.Config) { c.MaxBodyBytes, c.MaxBytesInFlight = 100_000, 100_000 })
		for range 5 {
			response, err := c.Do(t.Context(), s.get("/"))
			require.NoError(t, err)
			require.Len(t, response.Body, 60_000)
		}
	})

	t.Run("EndsAnEndlessBody", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\n\r\n")(conn)
			repeat(conn, "x")
		})
		response, err := newClient(t, limit).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Len(t, response.Body, 1000)
		require.True(t, response.Truncated)
	})
}
