package db_test

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/search"
	"github.com/mosey-web/mosey/test/dbtest"
)

var (
	rankDomains = flag.Int("rank.domains", 10_000, "domains of BenchmarkRank")
	rankLinks   = flag.Int("rank.links", 200_000, "links of BenchmarkRank")
)

// BenchmarkRank reads links between domains, computes ranks and stores them, and does it
// again when nothing has changed. A domain has four pages; a few pages have most links,
// each with a text, and one page of ten can be found.
func BenchmarkRank(b *testing.B) {
	store := dbtest.New(b)
	for _, statement := range []string{
		`INSERT INTO domains (domain) SELECT 'd' || i || '.example' FROM generate_series(1, $1) i`,
		`INSERT INTO pages (url, domain, origin)
			SELECT 'https://d' || i || '.example/' || j, 'd' || i || '.example', 'https://d' || i || '.example'
			FROM generate_series(1, $1) i CROSS JOIN generate_series(1, 4) j`,
	} {
		_, err := store.Pool().Exec(b.Context(), statement, *rankDomains)
		require.NoError(b, err)
	}
	for _, statement := range []string{
		`INSERT INTO page_links (from_page_id, to_page_id, anchor)
			SELECT 1 + floor(4.0::float8 * $1 * (i - 1) / $2), 1 + floor(power(random(), 4) * 4 * $1), 'called ' || (i % 1000)
			FROM generate_series(1, $2) i ON CONFLICT DO NOTHING`,
		`INSERT INTO page_keywords (page_id, domain, version, configs, title)
			SELECT p.id, p.domain, 1, '{simple}', 'page:1 of:2'
			FROM pages p WHERE p.id % 10 = 0 AND $1 > 0 AND $2 > 0`,
	} {
		_, err := store.Pool().Exec(b.Context(), statement, *rankDomains, *rankLinks)
		require.NoError(b, err)
	}
	_, err := store.Pool().Exec(b.Context(), "ANALYZE")
	require.NoError(b, err)
	for _, name := range []string{"first", "unchanged"} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				step, began := "", time.Now()
				rep, err := search.Rank(b.Context(), store, func(r report.Ranks) {
					if r.Step != step {
						step = r.Step
						b.Logf("%s after %s", step, time.Since(began).Round(time.Second))
					}
				})
				require.NoError(b, err)
				b.Logf("%+v", rep)
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/1e6, "MB")
		})
	}
}
