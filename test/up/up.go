// Package up starts `mosey up` as users do.
package up

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Dir makes a directory for data, which is removed when the test ends. It replaces t.TempDir, which
// the Postgres user cannot open if the test runs as root, and whose path may be too long for a
// socket.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mosey-")
	require.NoError(tb, err)
	require.NoError(tb, os.Chmod(dir, 0o755))
	tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(dir)) })
	return dir
}

// Start starts a `mosey up` command, waits until it is ready, and returns the addresses of its
// Temporal and of its database. The caller must stop the command, even if it does not become ready.
func Start(tb testing.TB, cmd *exec.Cmd) (temporal, database string) {
	tb.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), " "); name {
		case "Temporal":
			temporal = strings.TrimSpace(value)
		case "Database":
			database = strings.TrimSpace(value)
		case "Ready.":
			go func() {
				for lines.Scan() { // keeps the pipe from filling
				}
			}()
			return temporal, database
		}
	}
	require.FailNow(tb, "the stack did not start")
	return "", ""
}
