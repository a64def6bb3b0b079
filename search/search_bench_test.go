package search_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/db/dbtest"
	"github.com/mosey-web/mosey/search"
)

var benchPages = flag.Int("search.pages", 20_000, "how many `pages` BenchmarkSearch searches")

// What the pages of the benchmark are made of. Words are as frequent as those of a
// language without its stop words: the most frequent is on a third of the pages.
const (
	benchWords      = 300 // a page
	benchVocabulary = 300_000
	benchDomains    = 100 // pages a domain
)

// words draws words by Zipf's law.
func words(rng *rand.Rand) func() string {
	zipf := rand.NewZipf(rng, 1.05, 100, benchVocabulary)
	return func() string { return "w" + strconv.FormatUint(zipf.Uint64(), 36) }
}

// fill stores n pages without crawling them.
func fill(b *testing.B, store *db.Store, n int) {
	b.Helper()
	pool := store.Pool()
	exec := func(sql string, args ...any) {
		_, err := pool.Exec(b.Context(), sql, args...)
		require.NoError(b, err, sql)
	}
	exec(`INSERT INTO pages (url, domain, origin, status, language, signals, content_hash, fetched_at, extractor)
		SELECT 'https://d' || i / $2::integer || '.example/' || i, 'd' || i / $2::integer || '.example', 'https://d' || i / $2::integer || '.example', 'fetched', 'en',
			jsonb_build_object('title', 'Page ' || i, 'description', 'What page ' || i || ' is about'), substr(sha256(i::text::bytea), 1, 16), now(), 1
		FROM generate_series(1, $1::integer) AS i`, n, benchDomains)
	exec("DROP INDEX page_keywords_terms")
	rng := rand.New(rand.NewPCG(1, 2))
	word, i := words(rng), 0
	conn, err := pool.Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	var line strings.Builder
	_, err = conn.Conn().CopyFrom(b.Context(), pgx.Identifier{"bench_keywords"}, []string{"page_id", "rank", "terms"}, pgx.CopyFromFunc(func() ([]any, error) {
		if i == n {
			return nil, nil
		}
		i++
		line.Reset()
		for at := range benchWords {
			weight := ""
			if at < 5 {
				weight = "A"
			}
			fmt.Fprintf(&line, "%s:%d%s ", word(), at+1, weight)
		}
		return []any{int64(i), float32(rng.Float64() * rng.Float64()), line.String()}, nil
	}))
	require.NoError(b, err)
}

func BenchmarkSearch(b *testing.B) {
	store := dbtest.New(b)
	_, err := store.Pool().Exec(b.Context(), "CREATE UNLOGGED TABLE bench_keywords (page_id bigint, rank real, terms text)")
	require.NoError(b, err)
	start := time.Now()
	fill(b, store, *benchPages)
	for _, sql := range []string{
		`INSERT INTO page_keywords (page_id, domain, language, config, rank, keywords_tsv)
			SELECT k.page_id, p.domain, 'en', 'english', k.rank, k.terms::tsvector FROM bench_keywords k INNER JOIN pages p ON p.id = k.page_id`,
		"DROP TABLE bench_keywords",
		"SET maintenance_work_mem = '1GB'; CREATE INDEX page_keywords_terms ON page_keywords USING gin (keywords_tsv)",
		"VACUUM ANALYZE page_keywords", "VACUUM ANALYZE pages",
	} {
		_, err := store.Pool().Exec(b.Context(), sql)
		require.NoError(b, err, sql)
	}
	b.Logf("%d pages stored in %s", *benchPages, time.Since(start).Round(time.Second))
	s := search.New(store)
	word := words(rand.New(rand.NewPCG(3, 4)))
	for _, kind := range []struct {
		name string
		text func() string
	}{
		{"Frequent", func() string { return "w0" }},
		{"Word", word},
		{"TwoWords", func() string { return word() + " " + word() }},
		{"Phrase", func() string { return `"` + word() + " " + word() + `"` }},
		{"Or", func() string { return word() + " or " + word() + " -" + word() }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			var took []time.Duration
			found := 0
			for b.Loop() {
				text := kind.text()
				start := time.Now()
				results, err := s.Search(b.Context(), search.Query{Text: text})
				require.NoError(b, err, text)
				took = append(took, time.Since(start))
				found += len(results)
			}
			slices.Sort(took)
			at := func(share float64) float64 { return took[int(float64(len(took)-1)*share)].Seconds() * 1000 }
			b.ReportMetric(at(0.5), "p50-ms")
			b.ReportMetric(at(0.95), "p95-ms")
			b.ReportMetric(at(0.99), "p99-ms")
			b.ReportMetric(float64(found)/float64(len(took)), "results")
		})
	}
	plan(b, store)
	sizes(b, store)
}

// plan logs how the pages of a frequent word are found.
func plan(b *testing.B, store *db.Store) {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), `EXPLAIN (ANALYZE, BUFFERS, SUMMARY OFF)
		SELECT k.page_id, k.config, k.rank FROM page_keywords k WHERE k.keywords_tsv @@ 'w0'::tsquery LIMIT 50000`)
	require.NoError(b, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	b.Log("\n" + strings.Join(lines, "\n"))
}

// sizes logs how large the tables are.
func sizes(b *testing.B, store *db.Store) {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), `SELECT c.relname || ': ' || pg_total_relation_size(c.oid) / $1::integer || ' bytes a page, indexes '
		|| pg_indexes_size(c.oid) / $1::integer FROM pg_class c WHERE c.relname IN ('pages', 'page_keywords') ORDER BY 1`, *benchPages)
	require.NoError(b, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	b.Log("\n" + strings.Join(lines, "\n"))
}
