package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/", "https://a.example/2", "https://b.example/", "https://c.example/")
	require.Len(t, b.claim(t, 2), 2)
	b.begin(t, "a.example")
	b.exec(t, "UPDATE run_domains SET next_due_at = now() - interval '1 hour' WHERE domain = 'c.example'")
	w, err := b.Watch(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, b.clock(t), w.Now, time.Minute)
	require.Equal(t, map[reasons.Reason]int64{reasons.InFlight: 1, "": 1}, w.Waits)
	require.Len(t, w.Waiting, 2)
	require.Equal(t, reasons.Reason(""), w.Waiting[0].Reason)
	require.Zero(t, w.Waiting[0].First)
	require.Equal(t, reasons.InFlight, w.Waiting[1].Reason)
	require.EqualValues(t, 1, w.Waiting[1].Domains)
	require.True(t, w.Waiting[1].Last.After(w.Now))
	asked, err := b.Domains(t.Context(), report.DomainQuery{WaitReason: reasons.InFlight, Sort: "name", Limit: 10})
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.Equal(t, "a.example", asked[0].Domain)
	require.EqualValues(t, 4, w.Pending)
	require.EqualValues(t, 1, w.Due, "the other two are served")
	require.GreaterOrEqual(t, time.Duration(w.OldestDue), time.Hour)
	require.Less(t, time.Duration(w.OldestDue), 2*time.Hour)
	require.Equal(t, map[crawl.DomainStatus]int64{crawl.DomainActive: 2, crawl.DomainPending: 1}, w.Domains)
}

func TestEndedGaps(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/", "https://b.example/", "https://idle.example/")
	require.Len(t, b.claim(t, 2), 2)
	now := b.clock(t)
	// requests to a.example and b.example, which share an address: when they ended, ago, and
	// how long the domain and the address had to be left alone
	for _, r := range []struct {
		domain     string
		ago, delay time.Duration
		ip         time.Duration
		due        time.Duration // ago
	}{
		{"a.example", 100 * time.Second, 10 * time.Second, time.Second, time.Hour},
		{"a.example", 80 * time.Second, 10 * time.Second, time.Second, time.Hour},        // 9 s late
		{"a.example", 75 * time.Second, 10 * time.Second, time.Second, time.Hour},        // 6 s early
		{"b.example", 74500 * time.Millisecond, time.Second, time.Second, time.Hour},     // 1.5 s early, of the address
		{"a.example", 30 * time.Second, 10 * time.Second, time.Second, 33 * time.Second}, // 2 s after it was due
		{"idle.example", 20 * time.Second, time.Hour, time.Second, time.Hour},
		{"idle.example", 10 * time.Second, time.Hour, time.Second, time.Hour}, // it is not served, and not looked at
	} {
		b.exec(t, `INSERT INTO page_crawls (
				page_id, url, domain, run_id, kind, outcome, completed_at, duration_ms, delay_ms, delay_reason, ip, ip_delay_ms, prerequisite, scheduled_for
			) SELECT p.id, p.url, p.domain, $2, 'page', 'success', $3, 1000, $4, 'delay', '192.0.2.1', $5, true, $6
			FROM pages p WHERE p.domain = $1`,
			r.domain, b.run.ID, now.Add(-r.ago), r.delay.Milliseconds(), r.ip.Milliseconds(), now.Add(-r.due))
	}
	bounds := []float64{0, 5, 10}
	all, err := b.EndedGaps(t.Context(), now.Add(-90*time.Second), now, bounds)
	require.NoError(t, err)
	require.Len(t, all, 2)
	address, domain := all[0], all[1]
	require.Equal(t, "address", address.Kind)
	require.EqualValues(t, 4, address.Gaps)
	require.EqualValues(t, 1, address.Violations)
	require.Equal(t, "domain", domain.Kind)
	require.EqualValues(t, 3, domain.Gaps)
	require.EqualValues(t, 1, domain.Violations)
	require.Equal(t, []int64{1, 1, 1, 0}, domain.LatenessBuckets)
	require.InDelta(t, 9+2, domain.LatenessSumSeconds, 0.01)
	require.InDelta(t, 9, domain.LatenessMaxSeconds, 0.01)

	later, err := b.EndedGaps(t.Context(), now.Add(-50*time.Second), now, bounds)
	require.NoError(t, err)
	require.EqualValues(t, 1, later[1].Gaps, "what ended before is counted already")
	require.Zero(t, later[1].Violations)
	none, err := b.EndedGaps(t.Context(), now, now, bounds)
	require.NoError(t, err)
	require.Equal(t, []report.EndedGaps(nil), none)
}
