package recrawl_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

const (
	changed   = recrawl.Changed
	unchanged = recrawl.Unchanged
)

// inRatio is a history of as many visits, a day apart, of which one in so many finds a
// change.
func inRatio(visits, oneIn int) recrawl.History {
	h := recrawl.History{}
	for i := range visits {
		found := unchanged
		if i%oneIn == 0 {
			found = changed
		}
		h = after(h, day, found)
	}
	return h
}

// waitFor is the x at which 1 - (1+x) e^-x is y.
func waitFor(y float64) float64 {
	if y >= 1 {
		return math.Inf(1)
	}
	low, high := 0.0, 100.0
	for range 60 {
		if x := (low + high) / 2; 1-(1+x)*math.Exp(-x) < y {
			low = x
		} else {
			high = x
		}
	}
	return high
}

func TestIntervalIsWhereTheValueIsTheThreshold(t *testing.T) {
	t.Parallel()
	for oneIn := 2; oneIn <= 30; oneIn += 4 {
		h := inRatio(600, oneIn)
		rate := recrawl.Rate(h, nil)
		// 1 - (1+x) e^-x at the threshold times the rate
		want := waitFor(0.5*rate) / rate
		got := recrawl.Interval(h, recrawl.Plan{Threshold: 0.5})
		require.InEpsilon(t, want, got.Hours()/24, 0.25, "one in %d: %v", oneIn, got)
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	plan := recrawl.Plan{Threshold: 2, EvenShareDays: 10}
	calm, busy, frantic := inRatio(60, 20), inRatio(60, 5), after(recrawl.History{}, time.Hour, times(60, changed)...)
	wait := func(h recrawl.History) time.Duration { return recrawl.Interval(h, plan) }

	t.Run("BeginsWithTheEvenShare", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 10*day, wait(recrawl.History{}))
	})
	t.Run("DoesNotTrustOneVisit", func(t *testing.T) {
		t.Parallel()
		require.LessOrEqual(t, wait(after(recrawl.History{}, 10*day, unchanged)), 20*day)
		require.GreaterOrEqual(t, wait(after(recrawl.History{}, 10*day, unchanged)), 5*day)
	})
	t.Run("LooksAgainSoonAtWhatAlwaysChanged", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 60*time.Hour, wait(after(recrawl.History{}, 10*day, changed)))
		require.Equal(t, 15*time.Hour, wait(after(recrawl.History{}, 10*day, changed, changed)))
		require.Greater(t, wait(after(recrawl.History{}, 10*day, changed, unchanged)), 5*day/2)
		require.Greater(t, wait(after(recrawl.History{}, time.Hour, changed, changed, changed)), 15*day, "and then knows")
		scarce := recrawl.Plan{Threshold: 2, EvenShareDays: 46}
		require.Greater(t, recrawl.Interval(after(recrawl.History{}, 46*day, changed), scarce), 20*day, "not if requests are few")
	})
	t.Run("IsShorterForWhatChangesMore", func(t *testing.T) {
		t.Parallel()
		require.Less(t, wait(busy), wait(calm))
	})
	t.Run("LeavesTheRestToWhatChangesTooFast", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 160*day, wait(frantic))
		require.Equal(t, 180*day, recrawl.Interval(frantic, recrawl.Plan{Threshold: 2, EvenShareDays: 20}))
	})
	t.Run("IsAnHourAtLeast", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, time.Hour, recrawl.Interval(busy, recrawl.Plan{Threshold: 1e-5, EvenShareDays: 1e-4}))
	})
	t.Run("IsDueThen", func(t *testing.T) {
		t.Parallel()
		last := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
		require.Equal(t, last.Add(wait(busy)), recrawl.Due(last, busy, plan))
	})
}

// Whatever a row holds, an interval is one.
func FuzzInterval(f *testing.F) {
	f.Add(3, 1, 7.0, 20.0, 1.0, 2.0, 1.0, 3.0, 2.0, 1.0, 7.0, 0.5)
	f.Add(-1, -1, math.Inf(1), -3.0, math.NaN(), 1e300, 1e300, 1e9, -1.0, math.Inf(1), 1e-300, math.NaN())
	f.Fuzz(func(t *testing.T, visits, missing int, days, quiet, dated, gap, gap2, listed, odds,
		threshold, even, share float64,
	) {
		h := recrawl.History{
			Visits: visits, Missing: missing, Days: days, UnchangedDays: quiet, DatedChanges: dated, Gaps: []float64{gap, 0, gap2}, ListReadDays: listed, Odds: odds,
		}
		p := recrawl.Plan{Threshold: threshold, EvenShareDays: even, Rates: recrawl.Rates{15: share}}
		got := recrawl.Interval(h, p)
		if h.Faded() {
			require.Equal(t, recrawl.Never, got)
			return
		}
		require.GreaterOrEqual(t, got, recrawl.MinInterval)
		require.LessOrEqual(t, got, recrawl.MaxInterval)
		after(h, day, changed, unchanged, recrawl.Missing)
	})
}

func BenchmarkInterval(b *testing.B) {
	h, p := inRatio(60, 5), recrawl.Plan{Threshold: 2, EvenShareDays: 10}
	for b.Loop() {
		recrawl.Interval(h, p)
	}
}
