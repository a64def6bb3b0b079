package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/test/wait"
)

// A command that comes while another process creates the database says so, waits and works.
func TestStatusWhileTheDatabaseIsCreated(t *testing.T) {
	t.Parallel()
	with, _ := newHarnessWithStack(t)
	h := newHarness(t) // with a Temporal, and a data directory without a database
	h.Setenv("TEMPORAL_ADDRESS", with.environ.Get("TEMPORAL_ADDRESS"))
	up := h.Start("up", "--no-worker")
	wait.Until(t, func() bool {
		_, running, err := datadir.Running(h.dir)
		return err == nil && running
	}, patience, time.Millisecond)
	r := h.Execute("status")
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, fmt.Sprintf("waiting for the process %d, which creates the database\n"+
		"No runs yet. Start with mosey crawl https://example.org/\n", os.Getpid()), r.Stderr)
	up.Await("Ready.")
	require.Contains(t, up.stderr.String(), "creating the database\n")
	require.Zero(t, up.Stop().Code)
}
