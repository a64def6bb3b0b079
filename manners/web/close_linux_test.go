package web

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The end of a request that its client gave up is the client's, however late it is read.
func TestACloseThatIsReadLate(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	server, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })

	before := time.Now()
	require.NoError(t, client.Close())
	closed := time.Now()
	time.Sleep(300 * time.Millisecond) // nobody reads
	_, err = server.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	at := time.Now().Add(-sinceLastSegment(server))
	const jiffies = 20 * time.Millisecond // two of the slowest kernels
	require.WithinRange(t, at, before.Add(-jiffies), closed.Add(jiffies))
}
