package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/workflows"
)

// started is a domain's workflow as the dispatcher of a run starts it.
var started = workflows.DomainInput{State: workflows.DomainState{Runs: []string{runName}}}

// serving is the answer of an activity with the runs that want the domain.
func serving(runs ...string) activities.FetchPagesResult {
	res := fetched(10*time.Second, crawl.ReasonDelay)
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
		return s.upserts
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
		for _, why := range []crawl.Reason{
			crawl.ReasonDelay, crawl.ReasonCrawlDelay, crawl.ReasonDomain, crawl.ReasonIP, crawl.ReasonSubnet,
			crawl.ReasonLatency, crawl.ReasonSlowdown, crawl.ReasonInFlight, "",
		} {
			s.fetches = append(s.fetches, says(fetched(10*time.Second, why)))
		}
		s.run(started)
		require.NoError(t, s.env.GetWorkflowError())
		require.Len(t, s.timers, 9)
		require.Empty(t, s.upserts)
	})

	for name, c := range map[string]struct {
		why   crawl.Reason
		shows []string
	}{
		"DuringAClosedWindow":      {crawl.ReasonWindow, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"UntilAPagesTime":          {crawl.ReasonScheduled, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"AsTheServerAsked":         {crawl.ReasonRetryAfter, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"AfterFailures":            {crawl.ReasonBackoff, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"WithoutItsRobots":         {crawl.ReasonRobots, []string{"MoseyStatus=waiting", "MoseyStatus=crawling"}},
		"WhileItRestsIsGraylisted": {crawl.ReasonGraylist, []string{"MoseyStatus=graylisted", "MoseyStatus=crawling"}},
	} {
		t.Run("OfOneThatSleeps"+name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.fetches = []answer[activities.FetchPagesResult]{
				says(fetched(time.Minute, c.why)), says(fetched(time.Minute, crawl.ReasonDelay)),
			}
			s.run(started)
			require.NoError(t, s.env.GetWorkflowError())
			require.Equal(t, c.shows, s.upserts)
		})
	}

	for name, c := range map[string]struct {
		last  activities.FetchPagesResult
		shows []string
	}{
		"Deferred": {
			activities.FetchPagesResult{Reason: crawl.ReasonRetryAfter, Wait: crawl.Duration(time.Hour), Defer: true},
			[]string{"MoseyStatus=deferred"},
		},
		"StillDeferred": {activities.FetchPagesResult{Reason: crawl.ReasonDeferred}, []string{"MoseyStatus=deferred"}},
		"Graylisted": {
			activities.FetchPagesResult{Reason: crawl.ReasonGraylist, Wait: crawl.Duration(time.Hour), Defer: true},
			[]string{"MoseyStatus=graylisted"},
		},
		"Paused":          {activities.FetchPagesResult{Reason: crawl.ReasonPaused}, []string{"MoseyStatus=paused"}},
		"Stopped":         {activities.FetchPagesResult{Reason: crawl.ReasonStopped}, []string{"MoseyStatus=paused"}},
		"Blocked":         {activities.FetchPagesResult{Reason: crawl.ReasonBlocked}, []string{"MoseyStatus=paused"}},
		"WithNothingLeft": {activities.FetchPagesResult{Reason: crawl.ReasonScheduled}, nil},
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
