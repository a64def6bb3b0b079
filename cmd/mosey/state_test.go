package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

// worker adds a worker that was heard of just now.
func (r *rows) worker() *rows {
	r.t.Helper()
	id, err := r.store.StartWorker(r.t.Context(), crawl.Worker{
		Identity: "mosey/1 7@host", Host: "host", Version: "1", Role: "all", Most: 256, Span: 35 * time.Second,
	})
	require.NoError(r.t, err)
	_, err = r.store.RenewShare(r.t.Context(), id, crawl.WorkerUse{Asked: 1})
	require.NoError(r.t, err)
	return r
}

// claim claims the domain for its run, as a dispatcher does.
func (r *rows) claim() *rows {
	r.t.Helper()
	_, err := r.store.ClaimDomains(r.t.Context(), r.run.ID, 1)
	require.NoError(r.t, err)
	return r
}

// A claim and a slot outlast a worker that was killed.
func TestStateWithoutAWorker(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/more").allowed().worker().claim()
	r.begin()
	output.ContainsOnSameLine(t, r.Print("status"), "  a request to a.example is in flight")
	output.ContainsOnSameLine(t, r.Print("why", aDomain), "a request to it is in flight")

	r.exec(`UPDATE workers SET seen_at = '2026-11-27 04:43:10Z', share_until = '2026-11-27 04:43:40Z'`)
	since := time.Date(2026, 11, 27, 4, 43, 10, 0, time.UTC).Local().Format(time.DateTime)
	gone := "No Mosey has run since " + since + ". To go on: mosey crawl --run small-web"
	for _, args := range [][]string{{"status"}, {"status", "small-web"}} {
		out := r.Print(args...)
		require.Contains(t, out, gone)
		require.NotContains(t, out, "in flight")
		require.NotContains(t, out, "takes about")
	}
	for _, args := range [][]string{{"why", aDomain}, {"why", aPage}, {"why", aOrigin + "/more"}} {
		out := r.Print(args...)
		require.Contains(t, out, "No Mosey has run since "+since)
		require.NotContains(t, out, "is in flight")
	}
	b := serveRows(t, r.commandHarness)
	for _, path := range []string{"/", "/runs/small-web"} {
		require.Contains(t, b.page(path), gone)
	}
}

func TestStateOfAWait(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed().worker().claim()
	r.slot(-time.Second, reasons.Delay)
	out := r.Print("status")
	require.Contains(t, out, "a.example may be requested now")

	r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '20 seconds'")
	for _, args := range [][]string{{"status"}, {"status", "small-web"}} {
		output.ContainsOnSameLine(t, r.Print(args...), "  a.example for ", "s (scheduled)")
	}
	output.ContainsOnSameLine(t, r.Print("why", aDomain), "waiting until ", "(scheduled)")
}
