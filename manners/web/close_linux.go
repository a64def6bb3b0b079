package web

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// sinceLastSegment returns the time since the kernel received the last segment of a connection.
// After an EOF that is the client's close, for which a busy machine wakes its reader late. 0 means
// unknown.
func sinceLastSegment(c net.Conn) time.Duration {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	var info *unix.TCPInfo
	err = raw.Control(func(fd uintptr) {
		info, _ = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err != nil || info == nil {
		return 0
	}
	return time.Duration(info.Last_ack_recv) * time.Millisecond
}
