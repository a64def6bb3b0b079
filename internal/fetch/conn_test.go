package fetch

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestLinkReadsNothingBeforeItHasSpoken(t *testing.T) {
	t.Parallel()
	for name, speak := range map[string]func(*link) error{
		"Write": func(l *link) error {
			_, err := l.Write([]byte("GET"))
			return err
		},
		"Close": (*link).Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, far) }()
				go func() { _, _ = io.WriteString(far, "SSH-2.0") }()
				l := &link{Conn: near, requestWritten: make(chan struct{})}
				var done atomic.Bool
				go func() {
					_, _ = l.Read(make([]byte, 8))
					done.Store(true)
				}()
				synctest.Wait()
				require.False(t, done.Load())

				require.NoError(t, speak(l))
				synctest.Wait()
				require.True(t, done.Load())
				require.NoError(t, l.Close())
				require.NoError(t, far.Close())
			})
		})
	}
}

// Only from inside can one see that the connection is closed when Do returns,
// and not merely soon after.
func TestDoClosesBeforeItReturns(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(site.Close)
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	client, err := New(Config{AllowNetworks: []netip.Prefix{loopback}, UserAgent: "mosey-test/1.0"})
	require.NoError(t, err)

	for range 100 {
		x := &exchange{request: Request{
			Addr:     netip.MustParseAddr("127.0.0.1"),
			URL:      site.URL,
			WantBody: func(*Response) bool { return false },
		}}
		_, failure := client.do(t.Context(), x)
		require.Nil(t, failure)
		_, err := x.guard.Conn.Write([]byte("more"))
		require.ErrorIs(t, err, net.ErrClosed)
	}
}
