package postgres

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// setDeathSignal makes the kernel signal the child when the thread that started it ends. The
// caller's goroutine must be locked to that thread.
func setDeathSignal(attr *syscall.SysProcAttr, signal syscall.Signal) {
	attr.Pdeathsig = signal
}

// isPostmaster reports whether pid is a live postmaster of a data directory: PIDs are reused. A
// zombie has no command line and is not live.
func isPostmaster(pid int, data string) bool {
	proc := fmt.Sprintf("/proc/%d/", pid)
	line, err := os.ReadFile(proc + "cmdline")
	if err != nil {
		return false
	}
	args := bytes.Split(line, []byte{0})
	switch filepath.Base(string(args[0])) {
	case "postgres", "postmaster":
	default:
		return false
	}
	at := slices.IndexFunc(args, func(arg []byte) bool { return string(arg) == "-D" })
	if at >= 0 && at+1 < len(args) && string(args[at+1]) == data {
		return true
	}
	// A postmaster works in its data directory, which may have been moved or renamed.
	cwd, err := os.Stat(proc + "cwd")
	if err != nil {
		return false
	}
	stat, err := os.Stat(data)
	return err == nil && os.SameFile(cwd, stat)
}
