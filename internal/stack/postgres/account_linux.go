package postgres

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// setDeathSignal has the kernel send the child a signal when the thread that
// started it ends: its goroutine has to be locked to that thread.
func setDeathSignal(attr *syscall.SysProcAttr, signal syscall.Signal) {
	attr.Pdeathsig = signal
}

// isPostmaster reports whether a process is a live postmaster of a data directory. Process ids are
// reused, so that one in a file proves nothing. A zombie has no command line, and does not count.
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
	// The directory may have been moved or named differently. A postmaster works in it.
	works, err := os.Stat(proc + "cwd")
	if err != nil {
		return false
	}
	stat, err := os.Stat(data)
	return err == nil && os.SameFile(works, stat)
}
