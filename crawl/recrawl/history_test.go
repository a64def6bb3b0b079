package recrawl_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

const day = 24 * time.Hour

// after is a history of visits that came so long after one another.
func after(h recrawl.History, gap time.Duration, found ...recrawl.VisitResult) recrawl.History {
	for _, f := range found {
		h = h.Visit(recrawl.Visit{Result: f, SinceLast: gap})
	}
	return h
}

// times is the same thing, found n times.
func times(n int, f recrawl.VisitResult) []recrawl.VisitResult {
	found := make([]recrawl.VisitResult, n)
	for i := range found {
		found[i] = f
	}
	return found
}

func TestRule(t *testing.T) {
	t.Parallel()
	const changed, unchanged, missing, gone, failed = recrawl.Changed, recrawl.Unchanged, recrawl.Missing, recrawl.Gone, recrawl.Failed
	for why, c := range map[string]struct {
		found []recrawl.VisitResult
		want  time.Duration
	}{
		"StartsAtSevenDays":              {nil, 7 * day},
		"HalvesOnChange":                 {[]recrawl.VisitResult{changed}, 84 * time.Hour},
		"GrowsByHalfOnNone":              {[]recrawl.VisitResult{unchanged}, 252 * time.Hour},
		"AddsUp":                         {[]recrawl.VisitResult{unchanged, unchanged, changed}, 189 * time.Hour},
		"IsAnHourAtLeast":                {times(20, changed), time.Hour},
		"IsHalfAYearAtMost":              {times(20, unchanged), 180 * day},
		"DoesNotCountWhatIsNotThePages":  {times(20, failed), 7 * day},
		"DoublesWhileMissing":            {[]recrawl.VisitResult{missing, missing}, 28 * day},
		"DoublesFromADay":                {append(times(20, changed), missing), 2 * day},
		"IsHalfAYearAtMostWhileMissing":  {append(times(20, unchanged), missing), 180 * day},
		"DoublesWhenGone":                {[]recrawl.VisitResult{gone}, 14 * day},
		"GoesOnWhenAPageIsBack":          {[]recrawl.VisitResult{missing, changed}, 7 * day},
		"IsNotChangedByFailuresAmidThem": {[]recrawl.VisitResult{changed, failed, changed}, 42 * time.Hour},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			h := after(recrawl.History{}, day, c.found...)
			require.Equal(t, c.want, h.RuleInterval().Round(time.Minute))
			require.Equal(t, h.RuleInterval(), recrawl.Interval(h, recrawl.Plan{}), "without a plan")
		})
	}
}

func TestFirstVisitTellsNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, recrawl.History{}, recrawl.History{}.Visit(recrawl.Visit{Result: recrawl.Changed}))
}

func TestFading(t *testing.T) {
	t.Parallel()
	const missing, gone = recrawl.Missing, recrawl.Gone
	plan := recrawl.Plan{Threshold: 1, EvenShareDays: 7}
	for why, c := range map[string]struct {
		found []recrawl.VisitResult
		want  bool
	}{
		"NotAfterFour404":                 {times(4, missing), false},
		"AfterFive404":                    {times(5, missing), true},
		"NotAfterOne410":                  {[]recrawl.VisitResult{gone}, false},
		"AfterTwo410":                     {[]recrawl.VisitResult{gone, gone}, true},
		"AfterTwo410With404Between":       {[]recrawl.VisitResult{gone, missing, gone}, true},
		"NotWhereThePageWasBackInBetween": {[]recrawl.VisitResult{missing, missing, missing, recrawl.Unchanged, missing, missing}, false},
		"NotForFailures":                  {times(50, recrawl.Failed), false},
		"NotBecauseOfFailuresInBetween":   {[]recrawl.VisitResult{missing, recrawl.Failed, missing, recrawl.Failed, missing, missing}, false},
		"NotWhereA410WasUndoneMeanTime":   {[]recrawl.VisitResult{gone, recrawl.Changed, gone}, false},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			h := after(recrawl.History{}, day, c.found...)
			require.Equal(t, c.want, h.Faded())
			require.Equal(t, c.want, recrawl.Interval(h, plan) == recrawl.Never)
			require.Equal(t, c.want, recrawl.Due(time.Unix(0, 0), h, plan).IsZero())
		})
	}
}

// A page that fades out has been asked for over half a year.
func TestFadingTakesItsTime(t *testing.T) {
	t.Parallel()
	asked := time.Duration(0)
	for h := (recrawl.History{}); !h.Faded(); h = after(h, 0, recrawl.Missing) {
		asked += recrawl.Interval(h, recrawl.Plan{Threshold: 1, EvenShareDays: 7})
	}
	require.Greater(t, asked, 180*day)
	require.Less(t, asked, 365*day)
}

// What is passed over is looked at ever more rarely, but never no more.
func TestPass(t *testing.T) {
	t.Parallel()
	h, waits := recrawl.History{}, []time.Duration{}
	for range 6 {
		var wait time.Duration
		h, wait = h.Skip()
		waits = append(waits, wait.Round(time.Hour))
	}
	require.Equal(t, []time.Duration{7 * day, 252 * time.Hour, 378 * time.Hour, 567 * time.Hour, 30 * day, 30 * day}, waits)
	require.Equal(t, 7*day, h.RuleInterval(), "which says nothing of how often it changes")
	h = h.Visit(recrawl.Visit{Result: recrawl.Unchanged, SinceLast: day})
	_, wait := h.Skip()
	require.Equal(t, 252*time.Hour, wait.Round(time.Hour), "a visit ends it")
	rare := recrawl.History{Days: 100}
	_, wait = rare.Skip()
	require.Equal(t, 100*day, wait.Round(time.Hour))
}

func TestHistoryIsSmall(t *testing.T) {
	t.Parallel()
	h := recrawl.History{}
	for i := range 10_000 {
		if i%2 == 0 {
			h = h.Announce(time.Hour, recrawl.Source{AnnouncedChanges: 97.123, FalseAlarms: 1.234})
		}
		h = after(h, time.Duration(1+i%4000)*time.Hour+1234567, recrawl.VisitResult(i%3))
	}
	h = h.Announce(100*day+1234567, recrawl.Source{AnnouncedChanges: 12.345})
	data, err := json.Marshal(h)
	require.NoError(t, err)
	require.Less(t, len(data), 300, "%s", data)
	var read recrawl.History
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, h, read)
	data, err = json.Marshal(recrawl.History{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(data))
}

func TestVisitLeavesTheHistoryBeforeItAlone(t *testing.T) {
	t.Parallel()
	before := after(recrawl.History{}, day, recrawl.Changed, recrawl.Changed)
	gaps := append([]float64(nil), before.Gaps...)
	after(before, day, recrawl.Changed)
	after(before, 100*day, recrawl.Changed)
	require.Equal(t, gaps, before.Gaps)
}

func TestRate(t *testing.T) {
	t.Parallel()
	const changed, unchanged = recrawl.Changed, recrawl.Unchanged
	h := recrawl.History{}
	never := recrawl.Rate(h, nil)
	require.InEpsilon(t, 1./20, never, 0.2, "of what nothing is known of")

	// one visit in three finds a change within a day: 1 - e^-r is a third
	third := h
	for range 40 {
		third = after(third, day, changed, unchanged, unchanged)
	}
	require.InEpsilon(t, -math.Log(2./3), recrawl.Rate(third, nil), 0.1)

	// the same at irregular intervals
	uneven := h
	for range 40 {
		uneven = after(uneven, 12*time.Hour, unchanged, unchanged)
		uneven = after(uneven, 36*time.Hour, changed, unchanged)
	}
	require.InEpsilon(t, math.Log(1.6)/1.5, recrawl.Rate(uneven, nil), 0.15, "1.5 / (e^1.5r - 1) is 2.5")

	require.Greater(t, recrawl.Rate(after(h, day, changed), nil), never, "one visit")
	require.Less(t, recrawl.Rate(after(h, day, unchanged), nil), never, "one visit")
	require.Less(t, recrawl.Rate(after(h, 100*day, times(20, unchanged)...), nil), 1./300)
	hourly := recrawl.Rate(after(h, time.Hour, times(20, changed)...), nil)
	require.Greater(t, hourly, 24.)
	require.False(t, math.IsInf(hourly, 0))

	dated := h
	for range 20 {
		dated = dated.Visit(recrawl.Visit{Result: changed, SinceLast: 100 * day, ChangedAgo: 10 * day})
	}
	require.InEpsilon(t, 0.1, recrawl.Rate(dated, nil), 0.2, "of changes whose time is known")
	undated := after(h, 100*day, times(20, changed)...)
	for _, ago := range []time.Duration{30 * time.Second, 100 * day, -day} {
		bad := h
		for range 20 {
			bad = bad.Visit(recrawl.Visit{Result: changed, SinceLast: 100 * day, ChangedAgo: ago})
		}
		require.Equal(t, undated, bad, "a date that is not believed: %v", ago)
	}
}

func TestRateFollowsAPageThatCalmsDown(t *testing.T) {
	t.Parallel()
	h := after(recrawl.History{}, day, times(200, recrawl.Changed)...)
	require.Greater(t, recrawl.Rate(h, nil), 2.)
	h = after(h, 2*day, times(30, recrawl.Unchanged)...)
	require.Less(t, recrawl.Rate(h, nil), 1./3)
}
