//go:build unix && !linux

package postgres

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// setDeathSignal does nothing, because only Linux supports it. The next start stops an orphan.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// isPostmaster reports whether pid is a live postmaster of a data directory: PIDs are reused.
func isPostmaster(pid int, data string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), helperTimeout)
	defer cancel()
	line, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p",
		strconv.Itoa(pid)).Output()
	if err != nil {
		return false
	}
	program, args, _ := strings.Cut(string(line), " -D ")
	return strings.HasSuffix(program, "postgres") &&
		strings.HasPrefix(args, data+" ")
}
