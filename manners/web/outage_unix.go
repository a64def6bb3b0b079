//go:build unix

package web

import "syscall"

// relisten changes the backlog of a listening socket.
func relisten(fd uintptr, n int) error { return syscall.Listen(int(fd), n) }
