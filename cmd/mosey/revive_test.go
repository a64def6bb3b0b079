package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/workflows"
)

const siteDomain = "site-001.test"

// running reports whether a workflow runs.
func (h *commandHarness) running(c client.Client, id string) bool {
	d, err := c.DescribeWorkflowExecution(h.t.Context(), id, "")
	return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// seed starts a SeedWorkflow with raw JSON, as the temporal command does, and waits for
// it to have started the run.
func (h *commandHarness) seed(c client.Client, id, input string) error {
	h.t.Helper()
	run, err := c.ExecuteWorkflow(h.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: crawl.TaskQueue},
		workflows.SeedWorkflowName, json.RawMessage(input))
	require.NoError(h.t, err)
	return workflows.Starter{Client: c}.AwaitStarted(h.t.Context(), run)
}

// A dispatcher that is gone is started again, within a minute and whoever looks.
func TestDispatcherThatIsGone(t *testing.T) {
	t.Parallel()

	t.Run("IsStartedAgain", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		c := h.Start(s.crawl(s.Seeds()[0], "--when-done", "wait")...)
		wait.Until(t, func() bool { return len(s.Log().Pages()) == 3 }, patience, 5*time.Millisecond)
		temporal := h.client()
		id := crawl.CrawlWorkflowID("default")
		// A domain that is still served would notice first, and start it again.
		wait.Until(t, func() bool { return !h.running(temporal, crawl.DomainWorkflowID(s.Hosts()[0])) }, patience, 5*time.Millisecond)
		require.NoError(t, temporal.TerminateWorkflow(t.Context(), id, "", "by accident"))
		require.False(t, h.running(temporal, id))
		wait.Until(t, func() bool { return h.running(temporal, id) }, patience, 100*time.Millisecond)
		require.Zero(t, c.Stop().Code)
	})

	t.Run("IsStartedByAWorkerThatStarts", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		h, store := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		// the database rows of a run after Temporal has lost its state
		run, err := store.EnsureRun(t.Context(), "default", "test", settings.Settings{Delay: new(settings.Duration(10 * time.Millisecond))})
		require.NoError(t, err)
		u, err := urls.Parse(s.Seeds()[0])
		require.NoError(t, err)
		_, err = store.AddSeeds(t.Context(), run.ID, []urls.URL{u})
		require.NoError(t, err)
		c := h.Start(append([]string{"up"}, s.flags()...)...)
		wait.Until(t, func() bool {
			run, err = store.Run(t.Context(), "default")
			return err == nil && run.Status == crawl.RunDone
		}, patience, 20*time.Millisecond)
		require.Len(t, s.Log().Pages(), 3)
		require.Zero(t, c.Stop().Code)
	})

	t.Run("BecauseItWasCancelledStopsTheRun", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 5)
		c := h.Start(s.crawl(s.Seeds()[0], "--delay", "1h")...)
		wait.Until(t, func() bool { return len(s.Log()) > 0 }, patience, 5*time.Millisecond)
		require.NoError(t, h.client().CancelWorkflow(t.Context(), crawl.CrawlWorkflowID("default"), ""))
		r := c.Wait()
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "Run default is stopped (by the workflow crawl/default: its workflow was canceled)")
	})
}

// A domain's workflow that was terminated does not wait until its claim runs out.
func TestDomainThatIsGone(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	c := h.Start(s.crawl(s.Seeds()[0], "--delay", "1h", "--when-done", "wait")...)
	wait.Until(t, func() bool { return len(s.Log()) > 0 }, patience, 5*time.Millisecond)
	temporal := h.client()
	id := crawl.DomainWorkflowID(siteDomain)
	require.NoError(t, temporal.TerminateWorkflow(t.Context(), id, "", "by accident"))
	require.False(t, h.running(temporal, id))
	d, err := store.Domain(t.Context(), siteDomain)
	require.NoError(t, err)
	require.Greater(t, time.Until(d.ClaimEnd), 10*time.Minute)
	wait.Until(t, func() bool { return h.running(temporal, id) }, patience, 100*time.Millisecond)
	require.Zero(t, c.Stop().Code)
}

// What is changed while Mosey is down holds once it is up: rows decide, and nobody has to be told.
func TestChangesWhileMoseyIsDown(t *testing.T) {
	form.Long(t)
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 3)
	up := func() *started { return h.Start(append([]string{"up"}, s.flags()...)...) }
	pages := func(n int) func() bool { return func() bool { return len(s.Log().Pages()) == n } }
	c := up()
	c.Await("Ready.")
	require.NoError(t, h.seed(h.client(), "seed/default/1", `{"run":"default","urls":["`+s.Seeds()[0]+`"],
		"settings":{"sitemaps":false,"max_pages_per_domain":1,"delay":"10ms","ip_delay":"0s","latency_factor":0,"when_done":"wait"}}`))
	wait.Until(t, pages(1), patience, 20*time.Millisecond)
	h.Print("pause", "run:default", "--reason", "a quiet night")
	require.Zero(t, c.Stop().Code)

	h.Print("set", "run:default", "max_pages_per_domain=2")
	h.Print("resume", "run:default")
	c = up()
	wait.Until(t, pages(2), patience, 20*time.Millisecond, "a run that was resumed meanwhile")
	id := crawl.DomainWorkflowID(siteDomain)
	wait.Until(t, func() bool { return !h.running(h.client(), id) }, patience, 20*time.Millisecond)
	require.Zero(t, c.Stop().Code)

	h.Print("set", siteDomain, "--max-pages", "4")
	c = up()
	wait.Until(t, pages(4), patience, 20*time.Millisecond, "a standing run whose domain was given more meanwhile")
	run, err := store.Run(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, crawl.RunRunning, run.Status)
	require.Zero(t, c.Stop().Code)
}

// A run that a person has stopped is not started by a schedule.
func TestAScheduleLeavesAStoppedRunAlone(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	c := h.Start(append([]string{"up"}, s.flags()...)...)
	c.Await("Ready.")
	temporal := h.client()
	require.NoError(t, h.seed(temporal, "seed/default/1", `{"run":"default","urls":["`+s.Seeds()[0]+`"],"settings":{"delay":"1h"}}`))
	wait.Until(t, func() bool { return len(s.Log()) == 1 }, patience, 5*time.Millisecond, "robots.txt; the page has an hour to wait")
	h.Print("stop", "run:default", "--reason", "enough")
	asked := len(s.Log())
	require.NoError(t, h.seed(temporal, "schedule/daily-2026-11-23T00:00:00Z", `{"run":"default","urls":["`+s.Seeds()[0]+`new"]}`))
	run, err := store.Run(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, crawl.RunStopped, run.Status)
	require.Len(t, s.Log(), asked)
	require.NoError(t, h.seed(temporal, "seed/default/2", `{"run":"default"}`))
	run, err = store.Run(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, crawl.RunRunning, run.Status, "a person starts it again")
	require.Zero(t, c.Stop().Code)
}

// The reason that was given to stop is shown by everything that tells of it.
func TestReasonOfAStop(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 2, 5)
	c := h.Start(s.crawl(append(s.Seeds(), "--delay", "1h")...)...)
	temporal := h.client()
	id := crawl.DomainWorkflowID(siteDomain)
	wait.Until(t, func() bool { return h.running(temporal, id) }, patience, 5*time.Millisecond)
	require.NoError(t, h.update(id, workflows.UpdateStop, `{"reason":"the site owner objects"}`))
	wait.Until(t, func() bool { return !h.running(temporal, id) }, patience, 5*time.Millisecond)
	output.ContainsOnSameLine(t, h.Print("domain", siteDomain), "status ", "blocked the site owner objects")
	output.ContainsOnSameLine(t, h.Print("why", siteDomain), "stopped until it is seeded again", "the site owner objects")

	require.NoError(t, h.update(crawl.CrawlWorkflowID("default"), workflows.UpdateStop, `{"reason":"enough for today"}`))
	r := c.Wait()
	require.Zero(t, r.Code, r.Stderr)
	output.ContainsOnSameLine(t, r.Stdout, "Run default is stopped (by the workflow crawl/default: enough for today)")
	output.ContainsOnSameLine(t, h.Print("status", "default"), "Run default is stopped (by the workflow crawl/default: enough for today)")
	var res workflows.CrawlResult
	require.NoError(t, temporal.GetWorkflow(t.Context(), crawl.CrawlWorkflowID("default"), "").Get(t.Context(), &res))
	require.Equal(t, "stopped by the workflow crawl/default: enough for today", res.Reason)
}

// A seeding without URLs changes a run's settings, or has it go on.
func TestSeedingWithoutURLs(t *testing.T) {
	t.Parallel()
	h, store := newHarnessWithStack(t)
	s := newSite(t, 1, 4)
	up := h.Start(append([]string{"up"}, s.flags()...)...)
	up.Await("Ready.")
	temporal := h.client()
	err := h.seed(temporal, "seed/default/1", `{"run":"default","settings":{"delay":"10ms"}}`)
	require.ErrorContains(t, err, `run "default" does not exist yet`)
	_, err = store.Run(t.Context(), "default")
	require.ErrorIs(t, err, crawl.ErrNotFound)

	require.NoError(t, h.seed(temporal, "seed/default/2", `{"run":"default","urls":["`+s.Seeds()[0]+`"],"settings":{"sitemaps":false,"max_pages":2,"delay":"10ms","latency_factor":0}}`))
	done := func(pages int) func() bool {
		return func() bool {
			run, err := store.Run(t.Context(), "default")
			return err == nil && run.Status == crawl.RunDone && len(s.Log().Pages()) == pages
		}
	}
	wait.Until(t, done(2), patience, 20*time.Millisecond)
	require.NoError(t, h.seed(temporal, "seed/default/3", `{"run":"default","settings":{"max_pages":-1}}`))
	wait.Until(t, done(5), patience, 20*time.Millisecond)
	require.Zero(t, up.Stop().Code)
}
