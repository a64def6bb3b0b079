//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// buildWrongClock builds the worker with a wall clock that is ahead, or behind
// where by is negative. Its monotonic clock is right, as on a machine whose date
// was set wrong.
//
// A Go program asks the kernel for the time without the C library, so that
// nothing that is preloaded can stand in between. Instead, the worker is compiled
// with a package time of which one line differs.
func buildWrongClock(t *testing.T, by time.Duration) (bin string) {
	t.Helper()
	const line = "\tsec, nsec, mono := runtimeNow()\n"
	out, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(text), "func Now() Time {\n"+line)
	require.True(t, found, "func Now of this Go is not the one that is known here: see %s", source)

	wrong := before + "func Now() Time {\n" + line + "\tsec += " + strconv.Itoa(int(by.Seconds())) + "\n" + after
	return buildWorker(t, map[string]string{source: wrong})
}

// buildWorker builds the worker of sources of which some, named by their absolute paths, have
// another text.
func buildWorker(t *testing.T, changed map[string]string) (bin string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for source, text := range changed {
		replace[source] = filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		require.NoError(t, os.WriteFile(replace[source], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))

	bin = filepath.Join(dir, "worker")
	out, err := exec.Command("go", "build", "-overlay", file, "-o", bin, "github.com/mosey-web/mosey/cmd/worker").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// clockOf is how far ahead a worker's wall clock is, by the first line that it
// logged.
func clockOf(t *testing.T, m *member, now time.Time) time.Duration {
	t.Helper()
	var line struct {
		Time time.Time `json:"time"`
	}
	wait.Until(t, func() bool {
		first, _, ended := strings.Cut(m.current.Load().out.String(), "\n")
		return ended && json.Unmarshal([]byte(first), &line) == nil
	}, time.Minute, 10*time.Millisecond)
	return line.Time.Sub(now)
}
