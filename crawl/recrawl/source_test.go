package recrawl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

// known is a source after so many rounds. In each it speaks about a page that changed
// and one that did not, always in the same way.
func known(rounds int, saysOfChanged, saysOfUnchanged bool) recrawl.Source {
	s := recrawl.Source{}
	for range rounds {
		h := recrawl.History{}.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: saysOfChanged, Source: s})
		s = s.Visit(h, recrawl.Visit{Result: changed, SinceLast: day})
		h = recrawl.History{}.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: saysOfUnchanged, Source: s})
		s = s.Visit(h, recrawl.Visit{Result: unchanged, SinceLast: day})
	}
	return s
}

func TestHint(t *testing.T) {
	t.Parallel()
	plan := recrawl.Plan{Threshold: 2, EvenShareDays: 10}
	h := inRatio(60, 10)
	blind := recrawl.Interval(h, plan)
	require.Greater(t, blind, 4*day)
	honest, now, frozen, perverse := known(50, true, false), known(50, true, true), known(50, false, false), known(50, false, true)
	wait := func(since time.Duration, news bool, s recrawl.Source) time.Duration {
		return recrawl.Interval(h.Hint(recrawl.Hint{SinceVisit: since, ChangeAnnounced: news, Source: s}), plan)
	}

	t.Run("MakesAPageDueAtOnce", func(t *testing.T) {
		t.Parallel()
		require.InDelta(t, (2 * day).Hours(), wait(2*day, true, honest).Hours(), 1)
		soon := h.Hint(recrawl.Hint{SinceVisit: 50 * time.Minute, ChangeAnnounced: true, Source: honest})
		require.Equal(t, time.Hour, recrawl.Interval(soon, recrawl.Plan{Threshold: 0.1, EvenShareDays: 10}), "but an hour after the last visit")
		require.Less(t, wait(2*day, true, recrawl.Source{}), blind, "also of a list that nobody knows")
	})
	t.Run("LetsAPageBe", func(t *testing.T) {
		t.Parallel()
		require.Greater(t, wait(blind-time.Hour, false, honest), 5*blind/4)
		require.Greater(t, wait(2*blind, false, honest), wait(blind, false, honest))
		require.LessOrEqual(t, wait(1000*day, false, honest), 180*day)
	})
	t.Run("IsNotBelievedOfAListThatIsWrong", func(t *testing.T) {
		t.Parallel()
		for _, news := range []bool{true, false} {
			require.InEpsilon(t, blind.Hours(), wait(day, news, now).Hours(), 0.1)
			require.InEpsilon(t, blind.Hours(), wait(day, news, frozen).Hours(), 0.1)
		}
		require.Greater(t, wait(day, true, perverse), blind-time.Hour)
	})
	t.Run("DoesNotBringWhatChangesTooFast", func(t *testing.T) {
		t.Parallel()
		frantic := after(recrawl.History{}, time.Hour, times(60, changed)...)
		got := recrawl.Interval(frantic.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: true, Source: honest}), plan)
		require.Equal(t, recrawl.Interval(frantic, plan), got)
	})
	t.Run("CountsWithoutAPlan", func(t *testing.T) {
		t.Parallel()
		fresh := recrawl.History{}.Hint(recrawl.Hint{SinceVisit: 2 * day, ChangeAnnounced: true})
		require.InDelta(t, 48, recrawl.Interval(fresh, recrawl.Plan{}).Hours(), 0.1)
		fresh = recrawl.History{}.Hint(recrawl.Hint{SinceVisit: 2 * day, ChangeAnnounced: true, Source: now})
		require.Equal(t, 7*day, recrawl.Interval(fresh, recrawl.Plan{}))
	})
	t.Run("IsSettledByAVisit", func(t *testing.T) {
		t.Parallel()
		hinted := h.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: true, Source: honest})
		require.NotEqual(t, h, hinted)
		require.Equal(t, after(h, 2*day, unchanged), after(hinted, 2*day, unchanged))
		require.Equal(t, hinted, after(hinted, 2*day, recrawl.Failed), "if it said anything")
	})
	t.Run("KeepsNews", func(t *testing.T) {
		t.Parallel()
		hinted := h.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: true, Source: honest})
		require.Equal(t, hinted, hinted.Hint(recrawl.Hint{SinceVisit: 2 * day, ChangeAnnounced: true, Source: honest}), "told twice")
		require.Equal(t, hinted, hinted.Hint(recrawl.Hint{SinceVisit: 2 * day, ChangeAnnounced: false, Source: honest}), "of another list")
		better := h.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: true, Source: now}).Hint(recrawl.Hint{SinceVisit: 2 * day, ChangeAnnounced: true, Source: honest})
		require.InEpsilon(t, 2., better.ListReadDays, 1e-9, "of a list that is believed more")
		require.Equal(t, h, h.Hint(recrawl.Hint{SinceVisit: -day, ChangeAnnounced: true, Source: honest}), "from before the visit")
	})
}

func TestSourceLearns(t *testing.T) {
	t.Parallel()
	listed := recrawl.History{}.Hint(recrawl.Hint{SinceVisit: 3 * day})
	late := recrawl.Source{}.Visit(listed, recrawl.Visit{Result: changed, SinceLast: 30 * day})
	require.InEpsilon(t, 0.1, late.MissedChanges, 1e-9, "what changed after the list was read is not missed")
	for _, v := range []recrawl.Visit{
		{Result: recrawl.Missing, SinceLast: day}, {Result: recrawl.Gone, SinceLast: day}, {Result: recrawl.Failed, SinceLast: day}, {Result: changed},
	} {
		require.Equal(t, recrawl.Source{}, recrawl.Source{}.Visit(listed, v))
	}
	require.Equal(t, recrawl.Source{}, recrawl.Source{}.Visit(recrawl.History{}, recrawl.Visit{Result: changed, SinceLast: day}), "not listed")

	s := known(100_000, true, false)
	require.Less(t, s.AnnouncedChanges, 110., "bounded")
	for range 100 { // it begins to lie
		h := recrawl.History{}.Hint(recrawl.Hint{SinceVisit: day, ChangeAnnounced: true, Source: s})
		s = s.Visit(h, recrawl.Visit{Result: unchanged, SinceLast: day})
	}
	require.Less(t, s.QuietVisits, s.FalseAlarms/2, "and is soon known to")
}
