package db

import (
	"errors"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not have.
const tcpUserTimeout = 18

// boundSilence bounds how long what was sent may be without an answer of the other end's system:
// it is not asked by probes meanwhile.
func boundSilence(network, _ string, c syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(vanishedAfter.Milliseconds()))
	})
	return errors.Join(err, failed)
}
