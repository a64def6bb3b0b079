package recrawl_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/recrawl"
)

// variedPages are pages that change between every visit and never.
func variedPages(n int) []recrawl.History {
	pages := make([]recrawl.History, n)
	for i := range pages {
		pages[i] = inRatio(20+i%20, 1+i%19)
	}
	return pages
}

// requestsPerDay is how many requests a day pages ask for.
func requestsPerDay(pages []recrawl.History, p recrawl.Plan) float64 {
	sum := 0.0
	for _, page := range pages {
		sum += 24 / recrawl.Interval(page, p).Hours()
	}
	return sum
}

func TestPlanAsksForWhatIsAllowed(t *testing.T) {
	t.Parallel()
	pages := variedPages(200)
	for _, perDay := range []float64{2, 10, 40, 100, 1000} {
		p := recrawl.NewPlan(pages, perDay, recrawl.Plan{})
		require.InEpsilon(t, perDay, requestsPerDay(pages, p), 0.05, "%v", perDay)
		require.InEpsilon(t, p.Threshold, recrawl.Threshold(pages, perDay, p), 0.02)
		require.InEpsilon(t, 200/perDay, p.EvenShareDays, 1e-9)
		sum := 0.0
		for _, share := range p.Rates {
			sum += share
		}
		require.InDelta(t, 1, sum, 1e-4)
	}
}

func TestThresholdFallsWithTheRequests(t *testing.T) {
	t.Parallel()
	pages := variedPages(50)
	last := 0.0
	for perDay := 1e6; perDay > 1e-3; perDay /= 3 {
		got := recrawl.Threshold(pages, perDay, recrawl.Plan{})
		require.GreaterOrEqual(t, got, last, "%v", perDay)
		last = got
	}
	require.LessOrEqual(t, last, 1e5, "bounded")
}

func TestPlanOfNothingIsNone(t *testing.T) {
	t.Parallel()
	faded := after(recrawl.History{}, day, times(2, recrawl.Gone)...)
	require.Equal(t, recrawl.Plan{}, recrawl.NewPlan(nil, 10, recrawl.Plan{}))
	require.Equal(t, recrawl.Plan{}, recrawl.NewPlan([]recrawl.History{faded}, 10, recrawl.Plan{}))
	require.Equal(t, recrawl.Plan{}, recrawl.NewPlan(variedPages(5), 0, recrawl.Plan{}))
	data, err := json.Marshal(recrawl.Plan{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(data))
}

func TestPlanLearnsWhatPagesAreLike(t *testing.T) {
	t.Parallel()
	pages := make([]recrawl.History, 100)
	for i := range pages {
		pages[i] = inRatio(10, 5)
	}
	calm := recrawl.NewPlan(pages, 10, recrawl.Plan{})
	for i := range pages {
		pages[i] = after(recrawl.History{}, time.Hour, times(10, changed)...)
	}
	frantic := recrawl.NewPlan(pages, 10, recrawl.Plan{})
	one := after(recrawl.History{}, day, changed)
	require.Less(t, recrawl.Rate(one, calm.Rates), 1.)
	require.Greater(t, recrawl.Rate(one, frantic.Rates), 10.)
}

func TestRulePerDay(t *testing.T) {
	t.Parallel()
	pages := []recrawl.History{
		{},
		after(recrawl.History{}, day, times(20, changed)...),
		after(recrawl.History{}, day, times(20, unchanged)...),
		after(recrawl.History{}, day, times(2, recrawl.Gone)...),
	}
	require.InEpsilon(t, 1./7+1+1./180, recrawl.RulePerDay(pages), 1e-9)
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			pages := variedPages(n)
			last := recrawl.NewPlan(pages, float64(n)/10, recrawl.Plan{})
			for b.Loop() {
				recrawl.NewPlan(pages, float64(n)/10, last)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/page")
		})
	}
}
