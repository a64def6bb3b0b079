package db

import (
	"errors"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall lacks.
const tcpUserTimeout = 18

// boundSilence bounds the wait for acknowledgments of sent data, because there are no probes then.
func boundSilence(network, _ string, c syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(lostPeerTimeout.Milliseconds()))
	})
	return errors.Join(err, failed)
}
