package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// The promise of the whole project: nothing shortens a politeness wait.
func TestPolitenessWaitIsNotShortened(t *testing.T) {
	t.Parallel()

	for _, why := range []reasons.Reason{
		reasons.Delay, reasons.Domain, reasons.CrawlDelay, reasons.RetryAfter, reasons.Backoff,
		reasons.IP, reasons.InFlight, reasons.Robots, "",
	} {
		t.Run("ByWakesDuring "+string(why), func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.fetches = []answer[activities.FetchPagesResult]{
				// before the wait is known, too
				meanwhile(func() { s.wake(workflows.Wake{}) }, fetched(time.Hour, why)),
			}
			for _, at := range []time.Duration{time.Second, 10 * time.Minute, 59 * time.Minute} {
				s.after(at, func() { s.wake(workflows.Wake{PagesPerActivity: 3}) })
			}
			s.finished()
			require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
			require.GreaterOrEqual(t, s.gap(1), time.Hour)
		})
	}

	t.Run("ByUpdates", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		// what a person decides is asked about at once; the guard knows the rest of the wait
		s.fetches = []answer[activities.FetchPagesResult]{
			says(fetched(time.Hour, reasons.Delay)), says(fetched(50*time.Minute, reasons.Delay)),
			says(fetched(40*time.Minute, reasons.Delay)), says(fetched(20*time.Minute, reasons.Delay)),
		}
		s.after(10*time.Minute, func() { s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.after(20*time.Minute, func() { s.mustUpdate(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: new(int64(9))}) })
		s.after(30*time.Minute, func() {
			s.mustUpdate(workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: []string{page}})
		})
		s.after(40*time.Minute, func() { s.mustUpdate(workflows.UpdateResume) })
		s.finished()
		require.Equal(t, []string{
			"FetchPages", "SetControl", "FetchPages", "SetControl", "FetchPages", "AddURLs", "LiftControl", "FetchPages",
			"FetchPages", "FinishDomain",
		}, s.names())
		require.GreaterOrEqual(t, s.calls[8].at-s.calls[0].at, time.Hour)
		require.Less(t, s.calls[8].at-s.calls[0].at, time.Hour+time.Minute, "nor lengthened")
	})

	t.Run("BetweenRequestsForRobots", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: "https://example.org"}}),
		}
		s.robots = []answer[activities.FetchRobotsResult]{
			says(activities.FetchRobotsResult{Wait: settings.Duration(time.Hour), Reason: reasons.Delay}),
		}
		s.after(time.Minute, func() { s.wake(workflows.Wake{}) })
		s.after(2*time.Minute, func() {
			s.mustUpdate(workflows.UpdateAddURLs, workflows.AddURLs{Run: runName, URLs: []string{page}})
		})
		s.finished()
		in := s.calls[1:4]
		require.Equal(t, []string{"FetchRobots", "AddURLs", "FetchRobots"}, []string{in[0].name, in[1].name, in[2].name})
		require.GreaterOrEqual(t, in[2].at-in[0].at, time.Hour)
	})
}

// A decision is asked about once, whatever it interrupts.
func TestDecisionEndsOnlyTheWaitThatItMeets(t *testing.T) {
	t.Parallel()

	t.Run("ForAPage", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		during := s.during(func() *outcome { return s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(during, fetched(time.Hour, reasons.Delay)), says(fetched(time.Hour, reasons.Delay)),
		}
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, []time.Duration{time.Hour}, s.timers)
	})

	t.Run("ForRobots", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		during := s.during(func() *outcome { return s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(during, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: "https://example.org"}}),
		}
		s.robots = []answer[activities.FetchRobotsResult]{
			says(activities.FetchRobotsResult{Wait: settings.Duration(time.Hour), Reason: reasons.Delay}),
		}
		s.finished()
		require.Equal(t, []time.Duration{time.Hour}, s.timers)
	})
}

func TestWake(t *testing.T) {
	t.Parallel()

	idle := fetched(9*time.Minute, reasons.Scheduled)

	t.Run("EndsAWaitForWork", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(idle)}
		s.after(time.Minute, func() { s.wake(workflows.Wake{}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.GreaterOrEqual(t, s.gap(1), time.Minute)
		require.Less(t, s.gap(1), 2*time.Minute)
	})

	t.Run("IsHeardDuringTheFetchThatFindsNothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		// the work may have come after the fetch had looked
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() { s.wake(workflows.Wake{}) }, idle)}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.Less(t, s.gap(1), time.Minute)
	})

	t.Run("IsHeardOnlyOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(func() { s.wake(workflows.Wake{}) }, idle), says(idle)}
		s.finished()
		require.GreaterOrEqual(t, s.gap(2), 9*time.Minute)
	})

	t.Run("WithWhichTheWorkflowStartedDoesNotEndItsFirstWait", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(idle)}
		s.after(0, func() { s.wake(workflows.Wake{}) })
		s.finished()
		require.GreaterOrEqual(t, s.gap(1), 9*time.Minute)
	})

	t.Run("BeforeFinishingIsLeftToFinishDomain", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(func() { s.wake(workflows.Wake{}) }, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}}),
		}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, s.names(), "it looks at what is due itself")
	})

	t.Run("WhileDeferringLooksAgainAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepFinish, Wait: settings.Duration(2 * time.Hour), Reason: reasons.RetryAfter, Defer: true},
		})}
		s.finishes = []answer[activities.FinishDomainResult]{
			meanwhile(func() { s.wake(workflows.Wake{}) }, activities.FinishDomainResult{Finished: true}),
		}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FinishDomain", "FetchPages", "FinishDomain"}, s.names())
		require.Empty(t, s.timers, "what is deferred is for the guard to say")
	})

	t.Run("WhileFinishingMakesTheWorkflowGoOn", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.finishes = []answer[activities.FinishDomainResult]{
			meanwhile(func() { s.wake(workflows.Wake{}) }, activities.FinishDomainResult{Finished: true}),
		}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FinishDomain", "FetchPages", "FinishDomain"}, s.names())
	})

	t.Run("BringsItsRunsPagesPerActivity", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		pause := fetched(time.Minute, reasons.Delay)
		s.fetches = []answer[activities.FetchPagesResult]{says(pause), says(pause), says(pause)}
		s.after(30*time.Second, func() {
			s.wake(workflows.Wake{PagesPerActivity: 20})
			s.wake(workflows.Wake{PagesPerActivity: 50})
		})
		s.after(90*time.Second, func() { s.wake(workflows.Wake{}) })
		s.run(workflows.DomainInput{PagesPerActivity: 7})
		require.NoError(t, s.env.GetWorkflowError())
		pages := make([]int, 0, 4)
		for _, in := range inputs[activities.FetchPagesInput](s) {
			pages = append(pages, in.MaxPages)
		}
		require.Equal(t, []int{7, 50, 50, 50}, pages, "the last that says something counts")
	})
}

// Outside its window a domain sleeps for as long as it takes, and looks again when
// there is news: its window may be another by now.
func TestWindowIsSleptThrough(t *testing.T) {
	t.Parallel()
	const night = 14 * time.Hour
	closed := fetched(night, reasons.Window)

	t.Run("ToItsEnd", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(closed)}
		s.finished()
		require.Equal(t, []time.Duration{night}, s.timers)
		require.GreaterOrEqual(t, s.gap(1), night)
	})

	t.Run("UntilItIsChanged", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(closed)}
		window := "Sat-Sun 00:00-24:00 UTC"
		s.after(time.Hour, func() { s.mustUpdate(workflows.UpdateSetWindow, workflows.SetWindow{Window: new(window)}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, []activities.SetControlInput{{Domain: host, Control: crawl.Control{
			Type: crawl.ControlWindow, Value: json.RawMessage(`"` + window + `"`), SetBy: by,
		}}}, inputs[activities.SetControlInput](s))
		require.Less(t, s.calls[2].at-s.calls[0].at, 2*time.Hour)
	})
}
