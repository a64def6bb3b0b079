package recrawl_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

// announcing is a source after so many rounds. In each it announces a change of a page that
// changed, of a page that did not, or of both.
func announcing(rounds int, ofChanged, ofUnchanged bool) recrawl.Source {
	s := recrawl.Source{}
	for range rounds {
		announced := recrawl.History{}.Announce(day, s)
		if ofChanged {
			s = s.Visit(announced, recrawl.Visit{Result: changed, SinceLast: day})
		}
		if ofUnchanged {
			s = s.Visit(announced, recrawl.Visit{Result: unchanged, SinceLast: day})
		}
	}
	return s
}

func TestAnnounce(t *testing.T) {
	t.Parallel()
	plan := recrawl.Plan{Threshold: 2, EvenShareDays: 10}
	h := inRatio(60, 10)
	blind := recrawl.Interval(h, plan)
	require.Greater(t, blind, 4*day)
	honest, now, perverse := announcing(50, true, false), announcing(50, true, true), announcing(50, false, true)
	wait := func(since time.Duration, s recrawl.Source) time.Duration {
		return recrawl.Interval(h.Announce(since, s), plan)
	}

	t.Run("MakesAPageDueAtOnce", func(t *testing.T) {
		t.Parallel()
		require.InDelta(t, (4 * day).Hours(), wait(4*day, honest).Hours(), 1)
		soon := h.Announce(50*time.Minute, honest)
		require.Equal(t, time.Hour, recrawl.Interval(soon, recrawl.Plan{Threshold: 0.0005, EvenShareDays: 10}), "but an hour after the last visit")
		require.Less(t, wait(2*day, honest), 6*day, "sooner, even if a change in so short a time is less likely")
		require.Less(t, wait(2*day, recrawl.Source{}), blind, "also of a list that nobody knows")
	})
	t.Run("IsNotBelievedOfAListThatIsWrong", func(t *testing.T) {
		t.Parallel()
		require.InEpsilon(t, blind.Hours(), wait(day, now).Hours(), 0.1)
		require.Greater(t, wait(day, perverse), blind-time.Hour)
	})
	t.Run("DoesNotBringWhatChangesTooFast", func(t *testing.T) {
		t.Parallel()
		frantic := after(recrawl.History{}, time.Hour, times(60, changed)...)
		require.Equal(t, recrawl.Interval(frantic, plan), recrawl.Interval(frantic.Announce(day, honest), plan))
	})
	t.Run("CountsWithoutAPlan", func(t *testing.T) {
		t.Parallel()
		fresh := recrawl.History{}.Announce(2*day, recrawl.Source{})
		require.InDelta(t, 48, recrawl.Interval(fresh, recrawl.Plan{}).Hours(), 0.1)
		fresh = recrawl.History{}.Announce(2*day, now)
		require.Equal(t, 7*day, recrawl.Interval(fresh, recrawl.Plan{}))
	})
	t.Run("IsSettledByAVisit", func(t *testing.T) {
		t.Parallel()
		announced := h.Announce(day, honest)
		require.NotEqual(t, h, announced)
		require.Equal(t, after(h, 2*day, unchanged), after(announced, 2*day, unchanged))
		require.Equal(t, announced, after(announced, 2*day, recrawl.Failed), "if it said anything")
	})
	t.Run("KeepsNews", func(t *testing.T) {
		t.Parallel()
		announced := h.Announce(day, honest)
		require.Equal(t, announced, announced.Announce(2*day, honest), "told twice")
		better := h.Announce(day, now).Announce(2*day, honest)
		require.InEpsilon(t, 2., better.ListReadDays, 1e-9, "of a list that is believed more")
		require.Equal(t, h, h.Announce(-day, honest), "from before the visit")
	})
}

func TestSourceLearns(t *testing.T) {
	t.Parallel()
	listed := recrawl.History{}.Announce(3*day, recrawl.Source{})
	for _, v := range []recrawl.Visit{
		{Result: recrawl.Missing, SinceLast: day}, {Result: recrawl.Gone, SinceLast: day}, {Result: recrawl.Failed, SinceLast: day}, {Result: changed},
	} {
		require.Equal(t, recrawl.Source{}, recrawl.Source{}.Visit(listed, v))
	}
	require.Equal(t, recrawl.Source{}, recrawl.Source{}.Visit(recrawl.History{}, recrawl.Visit{Result: changed, SinceLast: day}), "not listed")

	s := announcing(100_000, true, false)
	require.Less(t, s.AnnouncedChanges, 110., "bounded")
	for range 100 { // it begins to lie
		s = s.Visit(recrawl.History{}.Announce(day, s), recrawl.Visit{Result: unchanged, SinceLast: day})
	}
	require.Less(t, s.AnnouncedChanges, s.FalseAlarms, "and is soon known to")
}
