package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

// TestOutcomesOverTime checks that charts show the same totals as the run, before and after the
// run's totals are added up.
func TestOutcomesOverTime(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/", "https://b.example/", "https://c.example/")
	require.Len(t, b.claim(t, 3), 3)
	b.fetch(t, "a.example")
	refused := attempted(b.begin(t, "b.example"), "b.example")
	refused.Outcome, refused.StatusCode = crawl.OutcomeBlocked4xx, 404
	b.finish(t, refused)
	b.begin(t, "c.example") // and its worker dies
	b.expire(t, "domain:c.example")
	b.exec(t, "SELECT domain_reap('c.example')")

	want := map[crawl.Outcome]int64{crawl.OutcomeSuccess: 1, crawl.OutcomeBlocked4xx: 1, crawl.OutcomeFailed: 1}
	hour := b.clock(t).Truncate(time.Hour)
	sum := func(of int64, since time.Time, step time.Duration, spans int) map[crawl.Outcome]int64 {
		over, err := b.Outcomes(t.Context(), of, since, step, spans)
		require.NoError(t, err)
		require.Len(t, over.Spans, spans)
		all := map[crawl.Outcome]int64{}
		for _, in := range over.Spans {
			for outcome, n := range in.Outcomes {
				all[outcome] += n
			}
		}
		return all
	}
	require.Equal(t, want, sum(b.run.ID, hour, time.Minute, 120))
	require.Equal(t, want, sum(0, hour, time.Minute, 120), "of all runs")
	require.Empty(t, sum(b.run.ID+1, hour, time.Minute, 120))

	p, err := b.Progress(t.Context(), b.run)
	require.NoError(t, err)
	totals := map[crawl.Outcome]int64{}
	for _, o := range p.Outcomes() {
		if o.N > 0 {
			totals[o.Outcome] = o.N
		}
	}
	require.Equal(t, want, totals)

	require.NoError(t, b.AddUpOutcomes(t.Context()))
	require.EqualValues(t, 0, one[int64](t, b, "SELECT count(*) FROM run_outcomes_new"))
	require.Equal(t, want, sum(b.run.ID, hour, time.Minute, 120))
	require.NoError(t, b.AddUpOutcomes(t.Context()))
	require.Equal(t, want, sum(b.run.ID, hour, time.Minute, 120), "added up once")

	// days later they are kept by the hour
	require.NoError(t, b.AddUpHours(t.Context(), hour.Add(96*time.Hour)))
	require.NoError(t, b.AddUpHours(t.Context(), hour.Add(97*time.Hour)))
	require.EqualValues(t, 0, one[int64](t, b, "SELECT count(*) FROM run_outcomes WHERE extract(MINUTE FROM ended_at) <> 0"))
	require.Equal(t, want, sum(b.run.ID, hour, time.Hour, 2))
	over, err := b.Outcomes(t.Context(), 0, hour.Add(-time.Hour), time.Hour, 3)
	require.NoError(t, err)
	require.Equal(t, settings.Duration(time.Hour), over.Step)
	require.Equal(t, report.OutcomeSpan{BeganAt: hour.Add(-time.Hour)}, over.Spans[0], "spans without attempts are there, too")
}
