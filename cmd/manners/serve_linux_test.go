package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// TestLeavesNoProcess checks that no process of a crawler survives, even if the crawler left it
// behind or it ignores SIGTERM.
func TestLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"LeftBehind": `sleep 300 & echo $! >"$PIDS"`,
		"Killed":     `test -e "$PIDS" && exit; sleep 300 & echo $! >"$PIDS"; "$CRAWLER"; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			pids := filepath.Join(t.TempDir(), "pids")
			h.Setenv("PIDS", pids)
			h.Setenv("PATH", os.Getenv("PATH"))
			args, code, said := []string{"serve", "--write", t.TempDir(), "--only", "robots-first"}, 1, "the crawler made no request"
			if name == "Killed" {
				executable, err := os.Executable()
				require.NoError(t, err)
				h.Setenv("CRAWLER", executable)
				h.Setenv(howVariable, "polite")
				args, code, said = append(args, "--kill-after", "1s"), 0, "the crawler was killed 1s after its first request"
			}
			r := h.Execute(append(args, "--", "sh", "-c", script)...)
			require.Equal(t, code, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, said)
			pid, err := os.ReadFile(pids)
			require.NoError(t, err)
			wait.Until(t, func() bool {
				state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
				return err != nil || strings.Contains(string(state), ") Z ") // nobody may wait for it in a container
			}, patience, 10*time.Millisecond)
		})
	}
}
