package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// started is a domain's workflow as the dispatcher of a run starts it.
var started = workflows.DomainInput{State: workflows.DomainState{Runs: []string{runName}}}

// serving is the answer of an activity with the runs that want the domain.
func serving(runs ...string) activities.FetchPagesResult {
	res := fetched(10*time.Second, reasons.Delay)
	res.Runs = runs
	return res
}

func TestRunAttribute(t *testing.T) {
	t.Parallel()

	upserts := func(t *testing.T, results ...activities.FetchPagesResult) []string {
		t.Helper()
		s := setup(t)
		for _, res := range results {
			s.fetches = append(s.fetches, says(res))
		}
		s.run(started)
		require.NoError(t, s.env.GetWorkflowError())
		require.NotEmpty(t, s.upserts)
		require.Equal(t, "MoseyStatus=finished", s.upserts[len(s.upserts)-1])
		return s.upserts[:len(s.upserts)-1]
	}

	t.Run("IsLeftAloneWhileTheRunsStayTheSame", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, upserts(t, serving(runName), serving(runName), serving(runName)))
	})

	t.Run("NamesARunThatComesAndOneThatGoes", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []string{"MoseyRun=[other small-web]", "MoseyRun=[other]"},
			upserts(t, serving(runName), serving(runName, "other"), serving("other"), serving("other")))
	})

	t.Run("DoesNotMindTheOrder", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []string{"MoseyRun=[other small-web]"},
			upserts(t, serving(runName, "other"), serving("other", runName), serving(runName, "other")))
	})

	t.Run("KeepsTheLastRunsWhenNoneIsLeft", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, upserts(t, serving(runName), serving()))
	})
}

func TestStatusAttribute(t *testing.T) {
	t.Parallel()

	t.Run("IsLeftAloneByOnePageAfterTheOther", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for _, why := range []reasons.Reason{
			reasons.Delay, reasons.CrawlDelay, reasons.Domain, reasons.IP, reasons.Subnet,
			reasons.Latency, reasons.Slowdown, reasons.InFlight, "",
		} {
			s.fetches = append(s.fetches, says(fetched(10*time.Second, why)))
		}
		s.run(started)
		require.NoError(t, s.env.GetWorkflowError())
		require.Len(t, s.timers, 9)
		require.Equal(t, []string{"MoseyStatus=finished"}, s.upserts)
	})

	for name, c := range map[string]struct {
		why   reasons.Reason
		shows []string
	}{
		"DuringAClosedWindow":      {reasons.Window, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"UntilAPagesTime":          {reasons.Scheduled, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"AsTheServerAsked":         {reasons.RetryAfter, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"AfterFailures":            {reasons.Backoff, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"WithoutItsRobots":         {reasons.Robots, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"WhileItRestsIsGraylisted": {reasons.Graylist, []string{"MoseyStatus=graylisted", "MoseyStatus=crawling"}},
	} {
		t.Run("OfOneThatSleeps"+name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.fetches = []answer[activities.FetchPagesResult]{
				says(fetched(time.Minute, c.why)), says(fetched(time.Minute, reasons.Delay)),
			}
			s.run(started)
			require.NoError(t, s.env.GetWorkflowError())
			require.Equal(t, append(c.shows, "MoseyStatus=finished"), s.upserts)
		})
	}

	for name, c := range map[string]struct {
		last  activities.FetchPagesResult
		shows []string
	}{
		"Deferred": {
			activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.RetryAfter, Wait: settings.Duration(time.Hour), Defer: true}},
			[]string{"MoseyStatus=deferred"},
		},
		"StillDeferred": {activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Deferred}}, []string{"MoseyStatus=deferred"}},
		"Graylisted": {
			activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Graylist, Wait: settings.Duration(time.Hour), Defer: true}},
			[]string{"MoseyStatus=graylisted"},
		},
		"Paused":          {activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Paused}}, []string{"MoseyStatus=paused"}},
		"Stopped":         {activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Stopped}}, []string{"MoseyStatus=paused"}},
		"Blocked":         {activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Blocked}}, []string{"MoseyStatus=paused"}},
		"WithNothingLeft": {activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Scheduled}}, []string{"MoseyStatus=finished"}},
		"ToMakeRoom":      {activities.FetchPagesResult{NextStep: activities.NextStep{Reason: reasons.Yields}}, []string{"MoseyStatus=finished"}},
	} {
		t.Run("OfOneThatEnds"+name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			c.last.Next = activities.StepFinish
			s.fetches = []answer[activities.FetchPagesResult]{says(serving(runName)), says(c.last)}
			s.run(started)
			require.NoError(t, s.env.GetWorkflowError())
			require.Equal(t, c.shows, s.upserts)
		})
	}
}

// TestStatusAttributeAtTheEnd checks that an ended run does not keep the status of a running one.
func TestStatusAttributeAtTheEnd(t *testing.T) {
	t.Parallel()
	dispatched := func(t *testing.T, answers ...activities.DispatchResult) *script {
		t.Helper()
		s := setup(t)
		for _, a := range answers {
			s.dispatches = append(s.dispatches, says(a))
		}
		return s
	}
	soon := activities.DispatchResult{Active: 1, NextIn: settings.Duration(time.Second)}
	paused := activities.DispatchResult{Paused: true, Reason: "a quiet night", NextIn: settings.Duration(time.Hour)}
	done := activities.DispatchResult{Ended: true, Reason: "complete"}
	stopped := activities.DispatchResult{Ended: true, Stopped: true, Reason: "enough"}

	for name, c := range map[string]struct {
		answers []activities.DispatchResult
		shows   []string
	}{
		"Done":               {[]activities.DispatchResult{soon, done}, []string{"MoseyStatus=done"}},
		"Stopped":            {[]activities.DispatchResult{soon, stopped}, []string{"MoseyStatus=stopped"}},
		"DoneAfterAPause":    {[]activities.DispatchResult{paused, paused, soon, done}, []string{"MoseyStatus=paused", "MoseyStatus=running", "MoseyStatus=done"}},
		"StoppedWhilePaused": {[]activities.DispatchResult{paused, stopped}, []string{"MoseyStatus=paused", "MoseyStatus=stopped"}},
	} {
		t.Run("OfARunThatIs"+name, func(t *testing.T) {
			t.Parallel()
			s := dispatched(t, c.answers...)
			s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
			require.NoError(t, s.env.GetWorkflowError())
			require.Equal(t, c.shows, s.upserts)
		})
	}

	t.Run("OfARunWhoseWorkflowIsCancelled", func(t *testing.T) {
		t.Parallel()
		s := dispatched(t, soon)
		s.after(time.Millisecond, s.env.CancelWorkflow)
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
		require.Error(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"MoseyStatus=stopped"}, s.upserts)
	})

	t.Run("IsKeptByARunThatContinuesAsNew", func(t *testing.T) {
		t.Parallel()
		s := dispatched(t, paused)
		s.env.SetContinueAsNewSuggested(true)
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
		require.Equal(t, workflows.CrawlInput{Run: runName}, carried[workflows.CrawlInput](t, s))
		require.Equal(t, []string{"MoseyStatus=paused"}, s.upserts)
	})

	t.Run("OfARunThatWasPausedWhenItContinuedAsNew", func(t *testing.T) {
		t.Parallel()
		s := dispatched(t, soon, done)
		key := temporal.NewSearchAttributeKeyKeyword(crawl.AttrStatus)
		require.NoError(t, s.env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(key.ValueSet("paused"))))
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"MoseyStatus=running", "MoseyStatus=done"}, s.upserts)
	})

	t.Run("OfADomainWhoseWorkflowIsCancelled", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(time.Minute, s.env.CancelWorkflow)
		s.run(started)
		require.Error(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"MoseyStatus=deferred"}, s.upserts)
	})

	seeding := func(t *testing.T, s *script, in any, shows ...string) {
		t.Helper()
		s.env.ExecuteWorkflow(workflows.SeedWorkflowName, in)
		require.Equal(t, shows, s.upserts)
	}
	t.Run("OfASeedingThatIsDone", func(t *testing.T) {
		t.Parallel()
		seeding(t, setup(t), workflows.SeedInput{Run: runName, URLs: []string{page}}, "MoseyStatus=done")
	})
	t.Run("OfASeedingThatIsRefused", func(t *testing.T) {
		t.Parallel()
		seeding(t, setup(t), workflows.SeedInput{}, "MoseyStatus=failed")
	})
	t.Run("OfARecrawl", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.ExecuteWorkflow(workflows.RecrawlWorkflowName, activities.RecrawlInput{Run: runName, OlderThan: settings.Duration(time.Hour)})
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"MoseyStatus=done"}, s.upserts)
	})
}
