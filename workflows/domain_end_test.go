package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// carried is the input of the execution that the workflow continued as.
func carried[In any](t *testing.T, s *script) In {
	t.Helper()
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, s.env.GetWorkflowError(), &again)
	var in In
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
	return in
}

func TestDomainWorkflowContinuesAsNew(t *testing.T) {
	t.Parallel()

	// carry runs one execution to its end, and the wait that it hands over.
	carry := func(t *testing.T, s *script) workflows.DomainInput {
		t.Helper()
		s.env.SetContinueAsNewSuggested(true)
		s.run(workflows.DomainInput{PagesPerActivity: 2, State: workflows.DomainState{Closed: 40}})
		return carried[workflows.DomainInput](t, s)
	}

	t.Run("WithItsStateBeforeTheWait", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		in := carry(t, s)
		require.Empty(t, s.timers)
		require.Equal(t, workflows.DomainInput{Domain: host, PagesPerActivity: 2, State: workflows.DomainState{
			NextStep: activities.NextStep{Next: activities.StepFetch, URL: page, Wait: settings.Duration(time.Hour), Reason: reasons.Delay},
			Closed:   41, Status: workflows.StatusCrawling,
		}}, in)

		next := setup(t)
		next.run(in)
		require.NoError(t, next.env.GetWorkflowError())
		require.Equal(t, []time.Duration{time.Hour}, next.timers)
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, next.names())
		require.GreaterOrEqual(t, next.calls[0].at, time.Hour, "the first thing is the wait handed over")
	})

	t.Run("WithoutTheWaitThatAPersonsDecisionEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(15*time.Minute, func() {
			s.env.SetContinueAsNewSuggested(true)
			s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "owner asked"})
		})
		s.run(workflows.DomainInput{})
		state := carried[workflows.DomainInput](t, s).State
		require.Zero(t, state.Wait)
		require.Equal(t, activities.StepFetch, state.Next)
	})

	t.Run("WithoutTheWaitThatADecisionDuringTheFetchEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		during := s.during(func() *outcome { return s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(during, fetched(time.Hour, reasons.Delay))}
		require.Zero(t, carry(t, s).State.Wait)
	})

	t.Run("TakingEverySignalWithIt", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() {
			for _, n := range []int{20, 30} {
				s.env.SignalWorkflowSkippingWorkflowTask(workflows.SignalWake, workflows.Wake{PagesPerActivity: n})
			}
			s.wake(workflows.Wake{PagesPerActivity: 50})
		}, fetched(time.Hour, reasons.Delay))}
		in := carry(t, s)
		require.Equal(t, 50, in.PagesPerActivity)
		require.Equal(t, settings.Duration(time.Hour), in.State.Wait)
	})

	t.Run("WithoutTheWaitForWorkThatASignalEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(func() { s.wake(workflows.Wake{}) }, fetched(9*time.Minute, reasons.Scheduled)),
		}
		require.Zero(t, carry(t, s).State.Wait)
	})

	t.Run("KnowingItsSearchAttributes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		closed := fetched(time.Hour, reasons.Window)
		closed.Runs = []string{runName}
		s.fetches = []answer[activities.FetchPagesResult]{says(closed)}
		s.env.SetContinueAsNewSuggested(true)
		s.run(workflows.DomainInput{})
		require.Equal(t, []string{"MoseyRun=[small-web]"}, s.upserts)

		next := setup(t)
		again := fetched(0, "")
		again.Runs = closed.Runs
		next.fetches = []answer[activities.FetchPagesResult]{says(again)}
		next.run(carried[workflows.DomainInput](t, s))
		require.NoError(t, next.env.GetWorkflowError())
		require.Equal(t, []string{"MoseyStatus=waiting", "MoseyStatus=crawling", "MoseyStatus=finished"}, next.upserts)
	})

	t.Run("InTheMiddleOfARobotsRedirect", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const origin, hop = "https://example.org", "https://example.com/robots.txt"
		s.fetches = []answer[activities.FetchPagesResult]{says(activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: origin, Kind: kinds.TDM}})}
		s.env.SetContinueAsNewSuggested(true)
		s.run(workflows.DomainInput{})

		next := setup(t)
		next.env.SetContinueAsNewSuggested(true)
		next.robots = []answer[activities.FetchRobotsResult]{says(activities.FetchRobotsResult{URL: hop, Hops: 1, Queued: true})}
		next.run(carried[workflows.DomainInput](t, s))
		require.Equal(t, activities.FetchRobotsInput{Domain: host, Origin: origin, Kind: kinds.TDM}, next.calls[0].in)

		last := setup(t)
		last.run(carried[workflows.DomainInput](t, next))
		require.Equal(t, activities.FetchRobotsInput{
			Domain: host, Origin: origin, Kind: kinds.TDM, URL: hop, Hops: 1, Queued: true,
		}, last.calls[0].in)
	})

	t.Run("OnlyWhenItsUpdatesAreFinished", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.others = []answer[none]{fails[none](errors.New("the database is down")), fails[none](errors.New("the database is down"))}
		begin := s.inside(func() { s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(begin, fetched(time.Hour, reasons.Delay))}
		carry(t, s)
		require.Len(t, inputs[activities.SetControlInput](s), 3)
	})
}

func TestDomainWorkflowCancelled(t *testing.T) {
	t.Parallel()

	given := activities.FinishDomainInput{Domain: host, Defer: true, Reason: "cancelled"}
	gaveBack := func(t *testing.T, s *script) {
		t.Helper()
		s.run(workflows.DomainInput{})
		var cancelled *temporal.CanceledError
		require.ErrorAs(t, s.env.GetWorkflowError(), &cancelled)
		require.Equal(t, given, s.calls[len(s.calls)-1].in)
		require.Len(t, s.calls, 2)
	}

	t.Run("WhileAsleepGivesTheClaimBack", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(time.Minute, s.env.CancelWorkflow)
		gaveBack(t, s)
	})

	t.Run("DuringAnUpdateGivesTheClaimBack", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.others = []answer[none]{meanwhile(s.inside(s.env.CancelWorkflow), none{})}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdatePause, workflows.Pause{}) })
		s.run(workflows.DomainInput{})
		var cancelled *temporal.CanceledError
		require.ErrorAs(t, s.env.GetWorkflowError(), &cancelled)
		require.Equal(t, given, s.calls[len(s.calls)-1].in)
		require.ErrorAs(t, o.err, &cancelled, "the update is not heard of otherwise")
	})

	t.Run("WhileFetchingGivesTheClaimBack", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(s.inside(s.env.CancelWorkflow), fetched(0, ""))}
		gaveBack(t, s)
	})
}
