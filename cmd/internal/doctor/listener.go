package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// listenerOn names the process that listens on a port, where Linux tells.
func listenerOn(port int) string {
	const listens = "0A"
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listens || !strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				continue
			}
			if name := ownerOf("socket:[" + fields[9] + "]"); name != "" {
				return name
			}
		}
	}
	return "another process"
}

// ownerOf names the process that has a socket; empty is not known, as for another user's.
func ownerOf(socket string) string {
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || target != socket {
			continue
		}
		process := filepath.Dir(filepath.Dir(file))
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), filepath.Base(process))
	}
	return ""
}
