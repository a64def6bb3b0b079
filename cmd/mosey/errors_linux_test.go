package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// A server that Mosey runs reports an error in its own log, and Mosey does so once.
func TestErrorOfItsOwnTemporal(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithDatabase(t)
	c := h.Start("up", "--no-worker", "--web", "off")
	c.Await("Ready.")
	require.Empty(t, c.stderr.String())
	file := filepath.Join(h.dir, "temporal", "temporal.db")
	require.NoError(t, os.Truncate(file+"-wal", 0))
	for _, name := range []string{file, file + "-shm"} { // it is mapped: nothing may be cut off
		stat, err := os.Stat(name)
		require.NoError(t, err)
		out, err := os.OpenFile(name, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = out.Write(make([]byte, stat.Size()))
		require.NoError(t, err)
		require.NoError(t, out.Close())
	}
	const told = "an embedded server reports an error"
	wait.Until(t, func() bool { return strings.Contains(c.stderr.String(), told) }, patience, 50*time.Millisecond)
	log := filepath.Join(h.dir, "temporal", "temporal.log")
	wait.Until(t, func() bool { // every request fails for it, and many kinds of them
		content, err := os.ReadFile(log)
		return err == nil && strings.Count(string(content), "level=ERROR") > 20
	}, patience, 50*time.Millisecond)
	r := c.Stop()
	require.Equal(t, 1, strings.Count(r.Said(), "level="), r.Stderr)
	output.ContainsOnSameLine(t, r.Stderr, "level=ERROR", told, "server=Temporal", "file is not a database (26)", "file="+log)
}
