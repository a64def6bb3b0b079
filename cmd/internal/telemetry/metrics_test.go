package telemetry

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/test/document"
)

var update = flag.Bool("update", false, "write the generated table into docs/metrics.md")

// filled has each metric with a value.
func filled(t *testing.T) *Metrics {
	t.Helper()
	m := NewMetrics()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none") // never connected
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	m.Pool(pool)
	for _, at := range []crawl.Attempt{
		{Requested: true, Kind: kinds.Page, Outcome: crawl.OutcomeSuccess, Bytes: 1000, Delay: crawl.Millis(10 * time.Second), Reason: "delay"},
		{Requested: true, Kind: kinds.Feed, Outcome: crawl.OutcomeSuccess, Skipped: reasons.Malformed},
		{Requested: true, Kind: kinds.Image, Outcome: crawl.OutcomeSuccess, Image: &crawl.ImageUpdate{Problem: crawl.ImageSVG}},
		{Requested: true, Kind: kinds.Image, Outcome: crawl.OutcomeBlocked4xx, Image: &crawl.ImageUpdate{Problem: crawl.ImageUnanswered}},
		{Kind: kinds.Page, Outcome: crawl.OutcomeSkipped, Skipped: reasons.Fresh},
		{Kind: kinds.Page, Outcome: crawl.OutcomeBlockedRobots},
	} {
		m.Attempt(request.Observation{Attempt: at, Resolve: time.Millisecond, Connect: time.Second})
	}
	m.Group("begin", db.GroupStats{Documents: 3, Failed: true})
	m.Outage(crawl.Outage{Since: time.Now()})
	m.Cache("dns", func() (int64, int64) { return 3, 1 })
	m.ImageStore("put", errors.New("broken"))
	take := func(measure string, value float64, tags ...string) {
		wanted, take := m.MeasureServer()(measure)
		require.Len(t, tags, len(wanted), measure)
		take(tags, value)
	}
	take("service_requests", 1, "frontend")
	take("service_errors", 1, "history")
	take("service_latency", .001, "frontend", "StartWorkflowExecution")
	take("service_latency", 60, "frontend", "PollActivityTaskQueue")
	take("service_latency", 10, "frontend", "UpdateWorkflowExecution")
	take("persistence_latency", .001)
	take("task_latency_queue", .001, "TimerActiveTaskUserTimer")
	take("task_latency_queue", .001, "MemoryTimer")
	m.statements.WithLabelValues(statementName("-- name: AttemptBegin :many\nSELECT")).Observe(1)
	s := &store{watch: report.Watch{
		Now: time.Now(), Waits: map[reasons.Reason]int64{"": 1, reasons.InFlight: 2},
		Domains: map[crawl.DomainStatus]int64{crawl.DomainActive: 3}, Pending: 7, OldestDue: settings.Duration(time.Minute),
	}}
	since, err := m.sample(t.Context(), s, time.Time{})
	require.NoError(t, err)
	require.Empty(t, s.spans, "the first look counts nothing")
	s.watch.Waits["delay"] = 5
	since, err = m.sample(t.Context(), s, since)
	require.NoError(t, err)
	delete(s.watch.Waits, "delay") // it is 0 now, not gone
	_, err = m.sample(t.Context(), s, since)
	require.NoError(t, err)
	return m
}

// store answers what was set.
type store struct {
	watch report.Watch
	spans []time.Duration
	err   error
}

func (s *store) Watch(context.Context) (report.Watch, error) {
	s.watch.Now = s.watch.Now.Add(sampleInterval)
	return s.watch, s.err
}

func (s *store) EndedGaps(_ context.Context, since, until time.Time, bounds []float64) ([]report.EndedGaps, error) {
	s.spans = append(s.spans, until.Sub(since))
	late := make([]int64, len(bounds)+1)
	late[0], late[1], late[len(bounds)] = 1, 2, 3 // a violation, two within 10 ms and three beyond all bounds
	return []report.EndedGaps{
		{Kind: "address", Gaps: 4, LatenessBuckets: make([]int64, len(bounds)+1)},
		{Kind: "domain", Gaps: 6, Violations: 1, LatenessBuckets: late, LatenessSumSeconds: 2000},
	}, s.err
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := filled(t)
	problems, err := testutil.GatherAndLint(m.registry)
	require.NoError(t, err)
	require.Empty(t, problems, "they are named as is usual")
	for text, want := range map[string]string{
		"mosey_requests_total": `mosey_requests_total{kind="feed",outcome="success"} 1` + "\n" +
			`mosey_requests_total{kind="image",outcome="blocked_4xx"} 1` + "\n" +
			`mosey_requests_total{kind="image",outcome="success"} 1` + "\n" + `mosey_requests_total{kind="page",outcome="success"} 1`,
		"mosey_not_requested_total":      `mosey_not_requested_total{reason="blocked_robots"} 1` + "\n" + `mosey_not_requested_total{reason="fresh"} 1`,
		"mosey_unusable_responses_total": `mosey_unusable_responses_total{kind="feed",reason="malformed"} 1` + "\n" + `mosey_unusable_responses_total{kind="image",reason="svg"} 1`,
		"mosey_gap_violations_total": `mosey_gap_violations_total{key="address"} 0` + "\n" + `mosey_gap_violations_total{key="domain"} 2` + "\n" +
			`mosey_gap_violations_total{key="registered"} 0` + "\n" + `mosey_gap_violations_total{key="subnet"} 0`,
		"mosey_gaps_total": `mosey_gaps_total{key="address"} 8` + "\n" + `mosey_gaps_total{key="domain"} 12` + "\n" +
			`mosey_gaps_total{key="registered"} 0` + "\n" + `mosey_gaps_total{key="subnet"} 0`,
		"mosey_domains_served":               `mosey_domains_served{reason="delay"} 0` + "\n" + `mosey_domains_served{reason="in flight"} 2` + "\n" + `mosey_domains_served{reason="none"} 1`,
		"mosey_frontier_oldest_due_seconds":  "mosey_frontier_oldest_due_seconds 60",
		"mosey_cache_lookups_total":          `mosey_cache_lookups_total{cache="dns",result="hit"} 3` + "\n" + `mosey_cache_lookups_total{cache="dns",result="miss"} 1`,
		"mosey_image_store_operations_total": `mosey_image_store_operations_total{operation="put",result="error"} 1`,
		"mosey_network_outage":               "mosey_network_outage 1",
		"mosey_temporal_requests_total":      `mosey_temporal_requests_total{service="frontend"} 1`,
		"mosey_temporal_errors_total": `mosey_temporal_errors_total{service="frontend"} 0` + "\n" + `mosey_temporal_errors_total{service="history"} 1` + "\n" +
			`mosey_temporal_errors_total{service="matching"} 0` + "\n" + `mosey_temporal_errors_total{service="worker"} 0`,
		"mosey_temporal_storage_errors_total": "mosey_temporal_storage_errors_total 0",
	} {
		require.NoError(t, testutil.GatherAndCompare(m.registry, strings.NewReader(header(m, text)+want+"\n"), text))
	}
	_, unwanted := m.MeasureServer()("cache_size")
	require.Nil(t, unwanted)
	families, err := m.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "mosey_request_lateness_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		require.EqualValues(t, 12, h.GetSampleCount())
		require.InDelta(t, 4000, h.GetSampleSum(), 0)
		require.EqualValues(t, 2, h.GetBucket()[0].GetCumulativeCount())
		require.EqualValues(t, 6, h.GetBucket()[1].GetCumulativeCount())
		require.EqualValues(t, 6, h.GetBucket()[len(LatenessBounds)-1].GetCumulativeCount(), "the others are beyond")
		return
	}
	require.Fail(t, "there is no overshoot")
}

// header are the first lines of a metric.
func header(m *Metrics, name string) string {
	for _, d := range m.Declared() {
		if d.Name == name {
			return "# HELP " + d.Name + " " + d.Help + "\n# TYPE " + d.Name + " " + d.Kind + "\n"
		}
	}
	return ""
}

// Every metric that is served has been declared, so that the document has it.
func TestDocument(t *testing.T) {
	t.Parallel()
	m := filled(t)
	var table strings.Builder
	table.WriteString("\n| metric | kind | labels | |\n|---|---|---|---|\n")
	declared := map[string]bool{}
	for _, d := range m.Declared() {
		declared[d.Name] = true
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", d.Name, d.Kind, labels, d.Help)
	}
	table.WriteString("\n")
	for _, name := range []string{"mosey_requests_total", "mosey_pool_connections"} {
		require.True(t, declared[name])
	}

	document.Compare(t, "../../../docs/metrics.md", table.String(), *update)
}

// A look that has failed is made up for by the next one, to a bound.
func TestSampleGoesOn(t *testing.T) {
	t.Parallel()
	m, s := NewMetrics(), &store{watch: report.Watch{Now: time.Now()}}
	since, err := m.sample(t.Context(), s, time.Time{})
	require.NoError(t, err)
	s.err = errors.New("away")
	again, err := m.sample(t.Context(), s, since)
	require.Error(t, err)
	require.Equal(t, since, again)
	s.err = nil
	_, err = m.sample(t.Context(), s, since)
	require.NoError(t, err)
	_, err = m.sample(t.Context(), s, since.Add(-time.Hour))
	require.NoError(t, err)
	require.Equal(t, []time.Duration{2 * sampleInterval, maxSampleSpan}, s.spans)
}

func TestStatementNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "AttemptBegin", statementName("-- name: AttemptBegin :many\nSELECT 1"))
	require.Equal(t, "other", statementName("SELECT 1"))
}
