package db_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

var priorityDomains = flag.Int("priorities.domains", 100_000, "domains of BenchmarkPriorities")

// BenchmarkPriorities measures what many domains cost that wait for their turn: to put all of
// them in order, to claim the next 1,000, and to list the first.
func BenchmarkPriorities(b *testing.B) {
	store, err := db.OpenOwner(b.Context(), dbtest.URL(b))
	require.NoError(b, err)
	b.Cleanup(store.Close)
	run, err := store.EnsureRun(b.Context(), "bench", "test", settings.Settings{})
	require.NoError(b, err)
	exec := func(sql string, args ...any) {
		b.Helper()
		_, err := store.Pool().Exec(b.Context(), sql, args...)
		require.NoError(b, err)
	}
	exec(`INSERT INTO domains (domain, seed_rank, pages_discovered, pages_crawled, error_rate, yield_rate, last_crawled_at)
		SELECT 'd' || i || '.example', i, 100, i % 100, (i % 10) / 20.0, (i % 7) / 7.0, now() - (i % 40) * interval '1 day'
		FROM generate_series(1, $1::int) i`, *priorityDomains)
	exec(`INSERT INTO run_domains (run_id, domain, seed, next_due_at)
		SELECT $1, domain, true, now() - (id % 1000) * interval '1 second' FROM domains`, run.ID)
	exec("VACUUM ANALYZE domains, run_domains")
	timed := func(what string, do func()) {
		began := time.Now()
		do()
		b.Logf("%s of %d domains: %s", what, *priorityDomains, time.Since(began).Round(time.Millisecond))
	}
	for b.Loop() {
		timed("all priorities, the first time,", func() { require.NoError(b, store.PrioritizeDomains(b.Context(), func(int64) {})) })
		timed("all priorities, which stay,", func() { require.NoError(b, store.PrioritizeDomains(b.Context(), func(int64) {})) })
		exec("UPDATE domains SET error_rate = error_rate + 0.1")
		exec("VACUUM ANALYZE domains, run_domains")
		timed("all priorities, which have changed,", func() { require.NoError(b, store.PrioritizeDomains(b.Context(), func(int64) {})) })
		exec("VACUUM ANALYZE domains, run_domains")
		for range 3 {
			timed("the next 1,000", func() {
				claimed, err := store.ClaimDomains(b.Context(), run.ID, 1000)
				require.NoError(b, err)
				require.Len(b, claimed, 1000)
			})
		}
		exec("UPDATE run_domains SET next_due_at = now() + interval '1 hour' WHERE priority > 1")
		for range 2 {
			timed("the next 1,000, with the first not due,", func() {
				claimed, err := store.ClaimDomains(b.Context(), run.ID, 1000)
				require.NoError(b, err)
				require.Len(b, claimed, 1000)
			})
		}
		for _, sort := range []string{"priority", "rank", "errors"} {
			timed("the first page by "+sort, func() {
				_, err := store.Domains(b.Context(), report.DomainQuery{Sort: sort, Limit: 20})
				require.NoError(b, err)
			})
		}
	}
}
