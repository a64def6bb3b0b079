package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/workflows"
)

// A run that is done and is given a larger depth goes on with what it knows.
func TestWiden(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 1, 4)
	r := h.Execute(s.crawl(s.Seeds()[0], "--max-depth", "0")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Len(t, s.Log().Pages(), 1)

	r = h.Execute(s.crawl("--max-depth=-1")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Len(t, s.Log().Pages(), 5)
}

// Pages that are added to a run that is done are crawled; one that a person has
// stopped says so.
func TestAddURLsToARunThatIsOver(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 3)
	up := h.Start(append([]string{"up"}, s.flags()...)...)
	up.Await("Ready.")
	temporal := h.client()
	seed := func(run, settings string) {
		t.Helper()
		require.NoError(t, h.seed(temporal, "seed/"+run+"/1", `{"run":"`+run+`","urls":["`+s.Seeds()[0]+`"],"settings":{`+settings+`}}`))
	}
	status := func(run string) crawl.RunStatus {
		r, err := store.Run(t.Context(), run)
		require.NoError(t, err)
		return r.Status
	}
	// one run keeps the domain's workflow alive, the other is over
	seed("over", `"max_depth":0,"delay":"10ms","latency_factor":0`)
	wait.Until(t, func() bool { return status("over") == crawl.RunDone }, patience, 10*time.Millisecond)
	seed("alive", `"delay":"1s","min_refetch":"0s"`)
	id := crawl.DomainWorkflowID(siteDomain)
	wait.Until(t, func() bool { return h.running(temporal, id) }, patience, 5*time.Millisecond)
	over, err := store.Run(t.Context(), "over")
	require.NoError(t, err)
	page := s.URL(siteDomain, "/p/1")
	add := func() error { return h.update(id, workflows.UpdateAddURLs, `{"run":"over","urls":["`+page+`"]}`) }
	require.NoError(t, store.StartRun(t.Context(), over.ID))
	_, err = store.StopRun(t.Context(), over.ID, "stopped: enough")
	require.NoError(t, err)
	require.ErrorContains(t, add(), `run "over" is stopped: enough: resume it first, with mosey crawl --run over`)

	require.NoError(t, store.StartRun(t.Context(), over.ID))
	ended, err := store.EndRun(t.Context(), over.ID, "complete")
	require.NoError(t, err)
	require.True(t, ended)
	require.NoError(t, add())
	require.Equal(t, crawl.RunRunning, status("over"))
	wait.Until(t, func() bool { return status("over") == crawl.RunDone }, patience, 10*time.Millisecond)
	rep, err := store.Page(t.Context(), siteDomain, page)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(rep.Crawls, func(c report.Attempt) bool { return c.Run == "over" && c.Outcome != "" }))
	require.Zero(t, up.Stop().Code)
}

// A run that waits for its window to open hears of another one.
func TestChangedWindow(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	up := h.Start(append([]string{"up"}, s.flags()...)...)
	up.Await("Ready.")
	temporal := h.client()
	day := time.Now().UTC().Add(48 * time.Hour).Weekday().String()[:3]
	require.NoError(t, h.seed(temporal, "seed/default/1", `{"run":"default","urls":["`+s.Seeds()[0]+
		`"],"settings":{"delay":"10ms","latency_factor":0,"window":"`+day+` 00:00-01:00 UTC"}}`))
	wait.Until(t, func() bool {
		run, err := store.Run(t.Context(), "default")
		return err == nil && !run.WindowOpensAt.IsZero()
	}, patience, 20*time.Millisecond)
	require.Empty(t, s.Log())
	output.ContainsOnSameLine(t, h.Print("status"), "the request window of the run is closed until ")
	require.NoError(t, h.seed(temporal, "seed/default/2", `{"run":"default","settings":{"window":""}}`))
	wait.Until(t, func() bool { return len(s.Log().Pages()) == 3 }, patience, 20*time.Millisecond)
	require.Zero(t, up.Stop().Code)
}
