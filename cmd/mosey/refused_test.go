package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// A crawl of a private network without --allow-network says so, keeps all pages, and
// goes on once the flag is there.
func TestForgottenNetwork(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 5)
	const domain = "site-001.test"
	forgetful := func(args ...string) []string {
		return append(append([]string{"crawl", "--delay", "10ms", "--set", "ip_delay=0", "--set", "latency_factor=0"}, s.flagsWithoutNetwork()...), args...)
	}
	requireRefused := func(r execution) {
		t.Helper()
		require.Equal(t, wiring.ExitFailed, r.Code, r.Stdout)
		output.ContainsOnSameLine(t, r.Stdout, "  "+domain+" is deferred until ", ": "+domain+" has the address ", "which is not public")
		output.ContainsOnSameLine(t, r.Stderr, "mosey: run default could not request anything: "+domain, "--allow-network 127.")
		require.Empty(t, s.Log())
		output.ContainsOnSameLine(t, h.Print("why", domain), "not crawled until ", "the domain is deferred ("+domain+" has the address ")
		d, err := store.Domain(t.Context(), domain)
		require.NoError(t, err)
		require.Empty(t, d.Robots)
		require.EqualValues(t, 1, d.Pending)
		require.Greater(t, d.DeferredUntil, time.Now(), "the crawl waited for the deferral")
	}
	requireRefused(h.Execute(forgetful(s.Seeds()[0])...))
	requireRefused(h.Execute(forgetful()...))

	r := h.Execute(s.crawl()...)
	require.Zero(t, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout, "  6 ok")
	s.requireClean(t, web.Expectations{})
}

// A run that was begun with the flag and goes on without it loses no page.
func TestResumeWithoutNetwork(t *testing.T) {
	form.Long(t)
	t.Parallel()
	h, store := newHarnessWithStack(t)
	h.dirFlag = true
	s := newSite(t, 1, 9)
	c := h.Start(s.crawl(s.Seeds()[0], "--delay", "300ms")...)
	wait.Until(t, func() bool { return len(s.Log().Pages()) >= 2 }, patience, 5*time.Millisecond)
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	_, resume, found := strings.Cut(r.Stderr, "To resume the run:\n  mosey ")
	require.True(t, found, r.Stderr)
	run, err := store.Run(t.Context(), "default")
	require.NoError(t, err)
	before, err := store.Progress(t.Context(), run)
	require.NoError(t, err)
	require.Positive(t, before.Pending)

	r = h.Execute(append([]string{"crawl"}, s.flagsWithoutNetwork()...)...)
	require.Equal(t, wiring.ExitFailed, r.Code, r.Stdout)
	after, err := store.Progress(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, before.Totals, after.Totals)
	require.Equal(t, before.Pending, after.Pending)

	// what the first command has printed has all that is needed
	dir := h.dir
	h.dir, h.dirFlag = "", false // it is in the command
	r = h.Execute(append(strings.Fields(resume), "--delay", "10ms")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, resume, "--data-dir "+dir+" ")
	require.Contains(t, resume, " --allow-network "+s.Network().String())
	after, err = store.Progress(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, crawl.RunDone, func() crawl.RunStatus { run, err = store.Run(t.Context(), "default"); return run.Status }())
	require.EqualValues(t, 10, after.Success)
	require.Zero(t, after.Pending)
	s.requireClean(t, web.Expectations{})
}
