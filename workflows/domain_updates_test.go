package workflows_test

import (
	"encoding/json"
	"errors"
	"slices"
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

// FetchPages' results if a person's decision forbids all requests.
var (
	pausedNow  = activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish, Reason: reasons.Paused}}
	stoppedNow = activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish, Reason: reasons.Stopped}}
)

// by is who makes the decisions that come as updates.
const by = "a workflow update"

func TestPause(t *testing.T) {
	t.Parallel()

	pause := activities.SetControlInput{Domain: host, Control: crawl.Control{
		Type: crawl.ControlPause, Reason: "owner asked", SetBy: by,
	}}

	t.Run("IsARowFirstThenEndsTheWorkflow", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay)), says(pausedNow)}
		s.after(10*time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "owner asked"}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, pause, s.calls[1].in)
		require.Equal(t, activities.FinishDomainInput{Domain: host, Reason: "paused"}, s.calls[3].in)
		require.Less(t, s.calls[3].at, 11*time.Minute)
	})

	t.Run("MayEndByItself", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay)), says(pausedNow)}
		until := s.start.Add(48 * time.Hour).UTC()
		s.after(time.Minute, func() {
			s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "owner asked", Until: &until})
		})
		s.finished()
		set := pause
		set.Until = until
		require.Equal(t, []activities.SetControlInput{set}, inputs[activities.SetControlInput](s))
	})

	t.Run("LetsAFetchThatHasBegunFinish", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		during := s.during(func() *outcome { return s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(during, fetched(time.Hour, reasons.Delay)), says(pausedNow),
		}
		s.finished()
		require.Empty(t, s.cancelled)
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "FinishDomain"}, s.names())
		require.Less(t, s.gap(2), time.Minute, "what was to come after the fetch is decided again")
	})

	t.Run("DuringTheFetchThatObeysItIsNotAskedAboutAgain", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		during := s.during(func() *outcome { return s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.fetches = []answer[activities.FetchPagesResult]{meanwhile(during, pausedNow)}
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetControl", "FinishDomain"}, s.names())
	})

	t.Run("IsHeardBetweenRequestsForRobots", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: "https://example.org"}}), says(pausedNow),
		}
		s.robots = []answer[activities.FetchRobotsResult]{
			says(activities.FetchRobotsResult{Wait: settings.Duration(time.Hour), Reason: reasons.Delay}),
		}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchRobots", "SetControl", "FetchRobots", "FetchPages", "FinishDomain"}, s.names())
		require.Less(t, s.calls[5].at, time.Hour)
	})

	t.Run("IsShownInTheSearchAttributes", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay)), says(pausedNow)}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{}) })
		s.finished()
		require.Equal(t, []string{"MoseyStatus=paused"}, s.upserts)
	})
}

func TestResume(t *testing.T) {
	t.Parallel()

	lift := activities.LiftControlInput{Domain: host, Kinds: []crawl.ControlType{crawl.ControlPause}, By: by}

	t.Run("LiftsAPauseAndDecidesAgain", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateResume) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "LiftControl", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, lift, s.calls[1].in)
		require.Less(t, s.calls[2].at, 2*time.Minute)
	})

	t.Run("GoesOnWhereThePauseWasAboutToEndTheWorkflow", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		during := s.during(func() *outcome { return s.mustUpdate(workflows.UpdateResume) })
		s.fetches = []answer[activities.FetchPagesResult]{says(pausedNow), says(fetched(time.Minute, reasons.Delay))}
		s.finishes = []answer[activities.FinishDomainResult]{
			meanwhile(during, activities.FinishDomainResult{Finished: true}),
		}
		s.finished()
		require.Equal(t, []string{
			"FetchPages", "FinishDomain", "LiftControl", "FetchPages", "FetchPages", "FinishDomain",
		}, s.names())
		require.Equal(t, []string{"MoseyStatus=paused", "MoseyStatus=crawling", "MoseyStatus=finished"}, s.upserts)
	})
}

func TestStop(t *testing.T) {
	t.Parallel()

	stop := func(s *script) *outcome {
		return s.mustUpdate(workflows.UpdateStop, workflows.Stop{Reason: "owner asked"})
	}
	control := activities.SetControlInput{Domain: host, Control: crawl.Control{
		Type: crawl.ControlStop, Reason: "owner asked", SetBy: by,
	}}
	stopped := func(t *testing.T, s *script, names ...string) {
		t.Helper()
		require.Equal(t, names, s.names())
		require.Equal(t, control, s.calls[slices.Index(names, "SetControl")].in)
		require.Equal(t, activities.FinishDomainInput{Domain: host, Reason: "stopped"}, s.calls[len(names)-1].in)
	}

	t.Run("EndsAWait", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay)), says(stoppedNow)}
		s.after(time.Minute, func() { stop(s) })
		s.finished()
		stopped(t, s, "FetchPages", "SetControl", "FetchPages", "FinishDomain")
		require.Less(t, s.calls[3].at, time.Hour)
	})

	t.Run("EndsAPause", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(fetched(time.Hour, reasons.Delay)),
			meanwhile(s.during(func() *outcome { return stop(s) }), stoppedNow),
		}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdatePause, workflows.Pause{Reason: "owner asked"}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "SetControl", "FinishDomain"}, s.names())
		require.Equal(t, control, s.calls[3].in)
		require.Equal(t, activities.FinishDomainInput{Domain: host, Reason: "stopped"}, s.calls[4].in)
	})

	t.Run("LetsAFetchThatHasBegunFinish", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			meanwhile(s.during(func() *outcome { return stop(s) }), fetched(0, "")), says(stoppedNow),
		}
		s.finished()
		require.Empty(t, s.cancelled)
		stopped(t, s, "FetchPages", "SetControl", "FetchPages", "FinishDomain")
	})

	t.Run("NeedsNoReason", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay)), says(stoppedNow)}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateStop, workflows.Stop{}) })
		s.finished()
		require.Equal(t, activities.SetControlInput{Domain: host, Control: crawl.Control{
			Type: crawl.ControlStop, SetBy: by,
		}}, s.calls[1].in)
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()

	setting := func(kind crawl.ControlType, value string) activities.SetControlInput {
		return activities.SetControlInput{Domain: host, Control: crawl.Control{
			Type: kind, Value: json.RawMessage(value), SetBy: by,
		}}
	}

	t.Run("AreStoredAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(fetched(time.Hour, reasons.Delay)),
			says(fetched(59*time.Minute, reasons.Delay)),
			says(fetched(58*time.Minute, reasons.Delay)),
		}
		s.after(time.Minute, func() {
			s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{Delay: new(settings.Duration(30 * time.Second))})
		})
		s.after(2*time.Minute, func() {
			s.mustUpdate(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: new(int64(settings.Unlimited))})
		})
		s.finished()
		require.Equal(t, []activities.SetControlInput{
			setting(crawl.ControlDelay, "30000"), setting(crawl.ControlBudget, "-1"),
		}, inputs[activities.SetControlInput](s))
		require.Equal(t, []string{
			"FetchPages", "SetControl", "FetchPages", "SetControl", "FetchPages", "FetchPages", "FinishDomain",
		}, s.names())
		require.Less(t, s.calls[3].at, 3*time.Minute)
	})

	t.Run("AreReadBackAsTheyWereMeant", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const window = "Mon-Fri 22:00-06:00 Europe/Berlin, Sat-Sun 00:00-24:00 UTC"
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(time.Second, func() {
			s.mustUpdate(workflows.UpdateSetDelay, workflows.SetDelay{Delay: new(settings.Duration(1500 * time.Microsecond))})
			s.mustUpdate(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: new(int64(0))})
			s.mustUpdate(workflows.UpdateSetWindow, workflows.SetWindow{Window: new(window)})
		})
		s.finished()
		var set crawl.Controls
		for _, in := range inputs[activities.SetControlInput](s) {
			set = append(set, in.Control)
		}
		require.Equal(t, 2*time.Millisecond, set.Delay(), "a delay is never shortened")
		budget, found := set.Budget()
		require.True(t, found)
		require.Zero(t, budget)
		require.Equal(t, window, set.Window())
	})

	t.Run("ThatCannotBeStoredFailTheUpdateAndNothingElse", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.others = []answer[none]{fails[none](temporal.NewNonRetryableApplicationError("no such domain", activities.TypeBadInput, nil))}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdateSetDelay, workflows.SetDelay{}) })
		s.finished()
		require.True(t, o.accepted)
		require.ErrorContains(t, o.err, "no such domain")
		var failure *temporal.ApplicationError
		require.ErrorAs(t, o.err, &failure)
		require.Equal(t, activities.TypeBadInput, failure.Type())
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, []time.Duration{time.Hour}, s.timers)
	})

	t.Run("ThatCannotBeStoredInTimeFailTheUpdateAndNothingElse", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		for range 100 {
			s.others = append(s.others, fails[none](errors.New("the database is down")))
		}
		var o *outcome
		s.after(time.Minute, func() { o = s.update(workflows.UpdatePause, workflows.Pause{}) })
		s.after(2*time.Minute, func() { require.True(t, o.completed) })
		s.finished()
		requireUnavailable(t, o)
		require.Equal(t, []string{"FetchPages", "FinishDomain"}, s.names()[len(s.calls)-2:])
		require.GreaterOrEqual(t, s.calls[len(s.calls)-2].at, time.Hour)
	})

	t.Run("InAnUnknownTimeZoneAreLeftToTheActivity", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const window = "Mon-Fri 22:00-06:00 Mars/Olympus_Mons"
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(time.Hour, reasons.Delay))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateSetWindow, workflows.SetWindow{Window: new(window)}) })
		s.finished()
		require.Equal(t, []activities.SetControlInput{setting(crawl.ControlWindow, `"`+window+`"`)},
			inputs[activities.SetControlInput](s), "which may read files, and refuses it")
	})

	t.Run("ABudgetEndsAWaitForWork", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(9*time.Minute, reasons.Scheduled))}
		s.after(time.Minute, func() { s.mustUpdate(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: new(int64(5))}) })
		s.finished()
		require.Equal(t, []string{"FetchPages", "SetControl", "FetchPages", "FinishDomain"}, s.names())
		require.Less(t, s.calls[2].at, 2*time.Minute)
	})
}
