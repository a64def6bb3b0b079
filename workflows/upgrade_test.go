package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// A workflow goes on with the version that is current, and takes along what it waits for.
func TestUpgrade(t *testing.T) {
	t.Parallel()

	// upgrade makes another version current after a while, and wakes the workflow.
	upgrade := func(s *script, after time.Duration) {
		s.after(after, func() {
			s.wake(workflows.Wake{})
			s.env.SetTargetWorkerDeploymentVersionChanged(true)
		})
	}
	upgraded := func(t *testing.T, s *script) {
		t.Helper()
		var again *workflow.ContinueAsNewError
		require.ErrorAs(t, s.env.GetWorkflowError(), &again)
		require.EqualValues(t, workflow.ContinueAsNewVersioningBehaviorAutoUpgrade, again.InitialVersioningBehavior)
	}

	t.Run("ASleepingDomainTakesAlongTheRestOfItsWait", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		upgrade(s, 20*time.Minute)
		s.run(workflows.DomainInput{PagesPerActivity: 2})
		upgraded(t, s)
		in := carried[workflows.DomainInput](t, s)
		require.Equal(t, settings.Duration(40*time.Minute), in.State.Wait)
		require.Equal(t, reasons.Delay, in.State.Reason)
		require.Equal(t, 2, in.PagesPerActivity)

		next := setup(t)
		next.run(in)
		require.NoError(t, next.env.GetWorkflowError())
		require.GreaterOrEqual(t, next.calls[0].at, 40*time.Minute, "the first thing is the rest of the wait")
	})

	t.Run("ADomainFinishesItsRequestFirst", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(func() {
				s.env.SetTargetWorkerDeploymentVersionChanged(true)
				s.wake(workflows.Wake{})
			}, fetched(time.Hour, reasons.Delay)),
		}
		s.run(workflows.DomainInput{})
		upgraded(t, s)
		require.Equal(t, []string{"FetchPages"}, s.names())
		require.Equal(t, settings.Duration(time.Hour), carried[workflows.DomainInput](t, s).State.Wait)
	})

	t.Run("AnIdleDispatcherUpgrades", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(activities.DispatchResult{}), says(activities.DispatchResult{})}
		upgrade(s, 100*time.Hour)
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
		upgraded(t, s)
		require.Equal(t, workflows.CrawlInput{Run: runName}, carried[workflows.CrawlInput](t, s))
		require.Empty(t, s.timers)
	})
}
