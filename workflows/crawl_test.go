package workflows_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestCrawlWorkflow(t *testing.T) {
	t.Parallel()

	busy := activities.DispatchResult{Started: 2, Active: 5, NextIn: settings.Duration(2 * time.Second)}
	idle := activities.DispatchResult{} // a standing run with nothing due
	ended := activities.DispatchResult{Ended: true, Reason: "complete"}
	dispatch := func(s *script) {
		s.env.ExecuteWorkflow(workflows.CrawlWorkflowName, workflows.CrawlInput{Run: runName})
	}
	ends := func(t *testing.T, s *script) workflows.CrawlResult {
		t.Helper()
		dispatch(s)
		var res workflows.CrawlResult
		require.NoError(t, s.env.GetWorkflowResult(&res))
		return res
	}

	t.Run("LooksForWorkWhenItIsDueUntilTheRunHasEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		later := busy
		later.NextIn = settings.Duration(3 * time.Hour)
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(later), says(ended)}
		require.Equal(t, workflows.CrawlResult{Reason: ended.Reason}, ends(t, s))
		require.Equal(t, []string{"Dispatch", "Dispatch", "Dispatch"}, s.names())
		require.Equal(t, []time.Duration{2 * time.Second, 3 * time.Hour}, s.timers)
		require.Equal(t, activities.DispatchInput{Run: runName}, s.calls[0].in)
	})

	t.Run("LooksAtOnceWhenWoken", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(ended)}
		s.after(300*time.Millisecond, func() { s.wake(workflows.Wake{}) })
		ends(t, s)
		require.GreaterOrEqual(t, s.gap(1), 300*time.Millisecond)
		require.Less(t, s.gap(1), 2*time.Second)
	})

	t.Run("DoesNothingWhileIdleUntilItIsWoken", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(idle), says(ended)}
		s.after(30*24*time.Hour, func() {
			require.Equal(t, []string{"Dispatch"}, s.names())
			s.wake(workflows.Wake{})
		})
		ends(t, s)
		require.Equal(t, []string{"Dispatch", "Dispatch"}, s.names())
		require.GreaterOrEqual(t, s.gap(1), 30*24*time.Hour)
		require.Empty(t, s.timers)
		require.Equal(t, []string{"MoseyStatus=done"}, s.upserts)
	})

	t.Run("IsNotWokenByWhatDispatchHasSeen", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(idle), says(ended)}
		s.after(0, func() { s.wake(workflows.Wake{}) }) // with which it was started
		s.after(time.Hour, func() { s.wake(workflows.Wake{}) })
		ends(t, s)
		require.GreaterOrEqual(t, s.gap(1), time.Hour)
	})

	t.Run("IsWokenByWhatComesDuringADispatch", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{meanwhile(func() { s.wake(workflows.Wake{}) }, idle), says(ended)}
		ends(t, s)
		require.Equal(t, []string{"Dispatch", "Dispatch"}, s.names())
		require.Less(t, s.gap(1), time.Second)
	})

	t.Run("GoesOnWhenSeedsCameWhileItEnded", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{
			meanwhile(func() { s.wake(workflows.Wake{}) }, ended),
			says(activities.DispatchResult{Ended: true, Reason: "the second time"}),
		}
		require.Equal(t, "the second time", ends(t, s).Reason)
		require.Empty(t, s.timers)
	})

	t.Run("StopsTheRun", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(ended)}
		s.after(time.Second, func() { s.mustUpdate(workflows.UpdateStop, workflows.Stop{Reason: "enough"}) })
		ends(t, s)
		require.Equal(t, []string{"Dispatch", "StopRun", "Dispatch"}, s.names())
		require.Equal(t, activities.StopRunInput{Run: runName, Reason: "enough"}, s.calls[1].in)
	})

	t.Run("IsPausedResumedAndSet", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		paused := activities.DispatchResult{Paused: true, Reason: "paused by me"}
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(paused), says(busy), says(busy), says(ended)}
		until := s.env.Now().Add(48 * time.Hour)
		s.after(time.Second, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "a quiet night", Until: &until}) })
		s.after(time.Hour, func() { s.mustUpdate(workflows.UpdateResume) })
		set := settings.Settings{Delay: new(settings.Duration(time.Minute))}
		s.after(time.Hour+time.Second, func() { s.mustUpdate(workflows.UpdateSet, workflows.Set{Settings: set, Reason: "slow"}) })
		ends(t, s)
		require.Equal(t, []string{"Dispatch", "ChangeRun", "Dispatch", "ChangeRun", "Dispatch", "ChangeRun", "Dispatch", "Dispatch"}, s.names())
		change := func(n int) crawl.RunChange {
			in, ok := s.calls[n].in.(activities.ChangeRunInput)
			require.True(t, ok)
			require.Equal(t, runName, in.Run)
			return in.RunChange
		}
		require.Equal(t, crawl.ChangePause, change(1).Action)
		require.Equal(t, "a quiet night", change(1).Reason)
		require.WithinDuration(t, until, change(1).Until, 0)
		require.Equal(t, crawl.ChangeResume, change(3).Action)
		require.Equal(t, crawl.RunChange{Action: crawl.ChangeSet, Settings: set, Reason: "slow", SetBy: "a workflow update"}, change(5))
	})

	t.Run("RefusesSettingsThatAreNone", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(ended)}
		var refused []*outcome
		var wanted []string
		for text, want := range map[string]string{
			`{"settings":{"speed":3}}`:         `unknown setting "speed"`,
			`{"settings":{"max_attempts":99}}`: "max_attempts 99: want 1 to 20",
			`{"delay":"5s"}`:                   "delay",
			`{}`:                               "settings",
		} {
			s.after(time.Second, func() {
				refused = append(refused, s.update(workflows.UpdateSet, json.RawMessage(text)))
				wanted = append(wanted, want)
			})
		}
		ends(t, s)
		require.Len(t, refused, 4)
		for i, o := range refused {
			require.ErrorContains(t, o.refused, wanted[i])
		}
	})

	t.Run("StopsARunThatIsIdle", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(idle), says(ended)}
		s.after(time.Hour, func() { s.mustUpdate(workflows.UpdateStop, workflows.Stop{}) })
		ends(t, s)
		require.Equal(t, []string{"Dispatch", "StopRun", "Dispatch"}, s.names())
	})

	t.Run("SaysThatItCannotBeStoppedWhileTheDatabaseIsDown", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(idle), says(idle), says(ended)}
		for range 100 {
			s.others = append(s.others, fails[none](errors.New("the database is down")))
		}
		var o *outcome
		s.after(time.Hour, func() { o = s.update(workflows.UpdateStop, workflows.Stop{}) })
		s.after(2*time.Hour, func() { s.wake(workflows.Wake{}) })
		ends(t, s)
		requireUnavailable(t, o)
	})

	t.Run("RefusesToStopForTooLongAReason", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(ended)}
		var o *outcome
		s.after(time.Second, func() { o = s.update(workflows.UpdateStop, workflows.Stop{Reason: strings.Repeat("x", 201)}) })
		ends(t, s)
		require.False(t, o.accepted)
		require.ErrorContains(t, o.refused, "reason: 201 bytes")
		require.Equal(t, []string{"Dispatch", "Dispatch"}, s.names())
	})

	t.Run("ContinuesAsNewOnceItsUpdatesAreFinished", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.SetContinueAsNewSuggested(true)
		s.others = []answer[none]{fails[none](errors.New("the database is down"))}
		begin := s.inside(func() { s.mustUpdate(workflows.UpdateStop, workflows.Stop{}) })
		s.dispatches = []answer[activities.DispatchResult]{meanwhile(begin, busy)}
		dispatch(s)
		require.Equal(t, workflows.CrawlInput{Run: runName}, carried[workflows.CrawlInput](t, s))
		require.Equal(t, []string{"Dispatch", "StopRun", "StopRun"}, s.names())
	})

	t.Run("EndsRatherThanContinues", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.env.SetContinueAsNewSuggested(true)
		s.dispatches = []answer[activities.DispatchResult]{says(ended)}
		require.Equal(t, ended.Reason, ends(t, s).Reason)
	})

	t.Run("StopsTheRunWhenCancelled", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.dispatches = []answer[activities.DispatchResult]{says(busy), says(busy)}
		s.after(time.Second, s.env.CancelWorkflow)
		dispatch(s)
		var cancelled *temporal.CanceledError
		require.ErrorAs(t, s.env.GetWorkflowError(), &cancelled)
		require.Equal(t, []string{"Dispatch", "StopRun"}, s.names())
		require.Equal(t, activities.StopRunInput{Run: runName, Reason: "its workflow was canceled"}, s.calls[1].in)
	})
}
