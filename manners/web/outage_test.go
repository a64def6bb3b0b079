package web_test

import (
	"net"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

func TestDisconnect(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux drops what asks for a connection when a queue is full")
	}
	w := web.StartT(t, web.Options{Sites: []web.Site{{Pages: 1, Plain: true}, {Pages: 1, Plain: true}}})
	dial := func() error {
		addr, ok := w.Addr(w.Hosts()[1])
		require.True(t, ok)
		c, err := net.DialTimeout("tcp4", net.JoinHostPort(addr.String(), strconv.Itoa(w.Port())), 300*time.Millisecond)
		if err == nil {
			require.NoError(t, c.Close())
		}
		return err
	}
	require.NoError(t, dial())
	for range 2 {
		require.NoError(t, w.Disconnect())
		for range 3 {
			var timeout net.Error
			require.ErrorAs(t, dial(), &timeout)
			require.True(t, timeout.Timeout())
		}
		require.NoError(t, w.Reconnect())
		require.NoError(t, dial())
	}
	// the last is logged once the server has seen its end
	wait.Until(t, func() bool { return len(w.Log()) >= 3 }, time.Minute, time.Millisecond)
	require.Len(t, w.Log(), 3, "what fills the queues is no request")
}
