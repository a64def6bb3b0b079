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
	"github.com/mosey-web/mosey/crawl"
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
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		in := carry(t, s)
		require.Empty(t, s.timers)
		require.Equal(t, workflows.DomainInput{Domain: host, PagesPerActivity: 2, State: workflows.DomainState{
			Next: activities.StepFetch, URL: page, Wait: crawl.Duration(time.Hour), Reason: crawl.ReasonDelay, Closed: 41,
		}}, in)

		next := setup(t)
		next.run(in)
		require.NoError(t, next.env.GetWorkflowError())
		require.Equal(t, []time.Duration{time.Hour}, next.timers)
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, next.names())
		require.GreaterOrEqual(t, next.calls[0].at, time.Hour, "the first thing is the wait handed over")
	})

	t.Run("WithTheRestOfAWaitThatWasInterrupted", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(15*time.Minute, func() {
			s.env.SetContinueAsNewSuggested(true)
			s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "owner asked"})
		})
		s.run(workflows.DomainInput{})
		state := carried[workflows.DomainInput](t, s).State
		require.Equal(t, crawl.Duration(45*time.Minute), state.Wait)
		require.True(t, state.Paused)
		require.Equal(t, "owner asked", state.Why)
	})

	t.Run("TakingEverySignalWithIt", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() {
			for _, n := range []int{20, 30} {
				s.env.SignalWorkflowSkippingWorkflowTask(workflows.SignalWake, workflows.Wake{PagesPerActivity: n})
			}
			s.wake(workflows.Wake{PagesPerActivity: 50})
		}, fetched(time.Hour, crawl.ReasonDelay))}
		in := carry(t, s)
		require.Equal(t, 50, in.PagesPerActivity)
		require.Equal(t, crawl.Duration(time.Hour), in.State.Wait)
	})

	t.Run("WithoutTheWaitForWorkThatASignalEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(func() { s.wake(workflows.Wake{}) }, fetched(9*time.Minute, crawl.ReasonScheduled)),
		}
		require.Zero(t, carry(t, s).State.Wait)
	})

	t.Run("StillPaused", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.after(2*time.Hour, func() { s.mustUpdate(workflows.UpdateResume) })
		s.run(workflows.DomainInput{State: workflows.DomainState{
			Paused: true, Wait: crawl.Duration(time.Minute), Reason: crawl.ReasonDelay,
		}})
		require.NoError(t, s.env.GetWorkflowError())
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, s.names())
		require.GreaterOrEqual(t, s.calls[0].at, 2*time.Hour+time.Minute)
	})

	t.Run("InTheMiddleOfARobotsRedirect", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const origin, hop = "https://example.org", "https://example.com/robots.txt"
		s.fetches = []answer[activities.FetchPagesResult]{says(activities.FetchPagesResult{Next: activities.StepRobots, URL: origin})}
		s.env.SetContinueAsNewSuggested(true)
		s.run(workflows.DomainInput{})

		next := setup(t)
		next.env.SetContinueAsNewSuggested(true)
		next.robots = []answer[activities.FetchRobotsResult]{says(activities.FetchRobotsResult{URL: hop, Hops: 1, Queued: true})}
		next.run(carried[workflows.DomainInput](t, s))
		require.Equal(t, activities.FetchRobotsInput{Domain: host, Origin: origin}, next.calls[0].in)

		last := setup(t)
		last.run(carried[workflows.DomainInput](t, next))
		require.Equal(t, activities.FetchRobotsInput{Domain: host, Origin: origin, URL: hop, Hops: 1, Queued: true}, last.calls[0].in)
	})

	t.Run("OnlyWhenItsUpdatesAreFinished", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.others = []answer[none]{fails[none](errors.New("the database is down")), fails[none](errors.New("the database is down"))}
		begin := s.inside(func() { s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(begin, fetched(time.Hour, crawl.ReasonDelay))}
		carry(t, s)
		require.Len(t, inputs[activities.SetDomainInput](s), 3)
	})
}

func TestDomainWorkflowCancelled(t *testing.T) {
	t.Parallel()

	given := activities.FinishDomainInput{Domain: host, PutAway: true, Reason: "cancelled"}
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
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, s.env.CancelWorkflow)
		gaveBack(t, s)
	})

	t.Run("WhilePausedGivesTheClaimBack", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, crawl.ReasonDelay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.after(2*time.Minute, s.env.CancelWorkflow)
		gaveBack(t, s)
	})

	t.Run("WhileFetchingGivesTheClaimBack", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(s.inside(s.env.CancelWorkflow), fetched(0, ""))}
		gaveBack(t, s)
	})
}
