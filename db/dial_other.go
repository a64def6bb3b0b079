//go:build !linux

package db

import "syscall"

// boundSilence does nothing: only Linux has this bound.
func boundSilence(_, _ string, _ syscall.RawConn) error { return nil }
