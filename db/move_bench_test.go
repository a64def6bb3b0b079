package db_test

import (
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

var moveRows = flag.Int("move.rows", 200_000, "`attempts` of two years that are stored before BenchmarkMove moves those of the first")

// BenchmarkMove moves the history of a year out while 40 pages a second are recorded. It reports
// how many rows a second that is, and how long recording takes, alone and meanwhile.
func BenchmarkMove(b *testing.B) {
	const domains = 40
	store := dbtest.New(b)
	fillYears(b, store, *moveRows)
	run, err := store.EnsureRun(b.Context(), "bench", "test", settings.Settings{Delay: new(settings.Duration(0)), IPDelay: new(settings.Duration(0))})
	require.NoError(b, err)
	for i := range domains {
		_, err := store.AddSeeds(b.Context(), run.ID, parse(b, siteURL(i, 0)))
		require.NoError(b, err)
	}
	_, err = store.ClaimDomains(b.Context(), run.ID, domains)
	require.NoError(b, err)
	crawled := 0
	record := func(name string, more func() bool) {
		var took []time.Duration
		for more() {
			took = append(took, recordPaced(b, store, domains, crawled)...)
			crawled++
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1000, name+"-p50-ms")
		b.ReportMetric(took[len(took)*99/100].Seconds()*1000, name+"-p99-ms")
	}
	record("alone", func() bool { return crawled < 20 })

	var done atomic.Bool
	var rows int64
	began := time.Now()
	go func() {
		defer done.Store(true)
		rows = moveAll(b, store, began.Add(-365*24*time.Hour))
		b.ReportMetric(float64(rows)/time.Since(began).Seconds(), "moved/s")
	}()
	record("meanwhile", func() bool { return !done.Load() })
	require.Positive(b, rows)
	timed(b, "vacuum-s", func() { execute(b, store, "VACUUM page_crawls") })
}

// fillYears stores attempts of two years, ten at each page.
func fillYears(b *testing.B, store *db.Store, rows int) {
	b.Helper()
	fillPages(b, store, rows/10)
	execute(b, store, "INSERT INTO crawl_runs (id, name, settings) OVERRIDING SYSTEM VALUE VALUES (1000, 'years', '{}')",
		"ALTER TABLE page_crawls DISABLE TRIGGER USER",
		"UPDATE page_crawls SET created_at = now() - interval '730 days', completed_at = now() - interval '730 days'")
	_, err := store.Pool().Exec(b.Context(), `
		INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, created_at, completed_at, outcome, status_code, duration_ms,
			bytes, content_type, ip, delay_ms, delay_reason)
		SELECT c.page_id, c.domain, c.run_id, c.id + (v.n - 1) * $1, c.url, t.at, t.at, c.outcome, 200, 120,
			20000, 'text/html', '192.0.2.1', 10000, 'delay'
		FROM generate_series(1, 9) AS v (n) CROSS JOIN page_crawls AS c
		CROSS JOIN LATERAL (SELECT now() - interval '730 days' + v.n * interval '70 days' AS at) AS t ORDER BY v.n, c.id`, rows/10)
	require.NoError(b, err)
	execute(b, store, "ALTER TABLE page_crawls ENABLE TRIGGER USER", "VACUUM ANALYZE", "CHECKPOINT")
}

// recordPaced records the next page of each domain, over a second, and returns how long each took.
func recordPaced(b *testing.B, store *db.Store, domains, page int) []time.Duration {
	b.Helper()
	took := make([]time.Duration, domains)
	var all sync.WaitGroup
	for i := range domains {
		all.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / time.Duration(domains))
			var begun time.Time
			crawlSite(b, store, i, page, 1, nil, func() { begun = time.Now() }, func() { took[i] = time.Since(begun) })
		})
	}
	all.Wait()
	return took
}

// moveAll moves what mosey export crawls --move would, without the files.
func moveAll(b *testing.B, store *db.Store, before time.Time) (moved int64) {
	b.Helper()
	require.NoError(b, store.BeginMoving(b.Context(), before))
	for after, more := (report.ExportKey{}), true; more; {
		rows, next, err := store.ExportCrawls(b.Context(), report.ExportFilter{Before: before, Movable: true}, after)
		require.NoError(b, err)
		for some := range slices.Chunk(rows, 500) {
			var crawls []report.MovedCrawl
			for _, r := range some {
				crawls = append(crawls, report.MovedCrawl{ID: r.ID, CompletedAt: r.CompletedAt})
			}
			n, err := store.MoveCrawls(b.Context(), crawls)
			require.NoError(b, err)
			moved += n
		}
		after, more = next, next != after
	}
	return moved
}
