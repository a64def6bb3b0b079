package fetch

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

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
