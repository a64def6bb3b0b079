package search_test

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search"
	"github.com/mosey-web/mosey/test/dbtest"
)

var (
	benchPages    = flag.Int("search.pages", 20_000, "how many `pages` BenchmarkSearch searches")
	benchDatabase = flag.String("search.database", "", "the `URL` of a database that BenchmarkSearch fills if it is empty, and keeps")
)

// Sizes of the benchmark's pages. The frequencies of words follow a language without its stop
// words, so that the most frequent word is on a third of the pages.
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

// fill stores n pages without crawling them, and indexes them as a worker does.
func fill(b *testing.B, store *db.Store, n int) {
	b.Helper()
	exec := func(sql string, args ...any) {
		_, err := store.Pool().Exec(b.Context(), sql, args...)
		require.NoError(b, err, sql)
	}
	exec(`INSERT INTO pages (url, domain, origin, status, language, signals, content_hash, fetched_at, extractor)
		SELECT 'https://d' || i / $2::integer || '.example/' || i, 'd' || i / $2::integer || '.example', 'https://d' || i / $2::integer || '.example', 'fetched', 'en',
			jsonb_build_object('title', 'Page ' || i, 'description', 'What page ' || i || ' is about'), substr(sha256(i::text::bytea), 1, 16), now(), 1
		FROM generate_series(1, $1::integer) AS i`, n, benchDomains)
	exec(`INSERT INTO page_ranks (page_id, inlinks, score) SELECT i, 1, (i::bigint * 7919 % 1000) / 1000.0 FROM generate_series(1, $1::integer) AS i`, n)
	rng := rand.New(rand.NewPCG(1, 2))
	word := words(rng)
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(word() + " ")
		}
		return b.String()
	}
	const some = 20_000
	writer := keywords.Writer{Store: store, Logger: slog.New(slog.DiscardHandler)}
	var indexing time.Duration
	for from := 0; from < n; from += some {
		conn, err := store.Pool().Acquire(b.Context())
		require.NoError(b, err)
		i := from
		_, err = conn.Conn().CopyFrom(b.Context(), pgx.Identifier{"page_keywords"}, []string{"page_id", "domain", "language", "configs", "title", "body"},
			pgx.CopyFromFunc(func() ([]any, error) {
				if i == min(n, from+some) {
					return nil, nil
				}
				i++
				x := terms.Index(terms.Page{Language: "en", Title: text(5), Text: text(benchWords)})
				return []any{int64(i), fmt.Sprintf("d%d.example", i/benchDomains), "en", x.Configs, x.Title, x.Text}, nil
			}))
		conn.Release()
		require.NoError(b, err)
		start := time.Now()
		require.NoError(b, writer.Write(b.Context()))
		for {
			merged, err := store.MergeIndex(b.Context(), true)
			require.NoError(b, err)
			if !merged {
				break
			}
		}
		indexing += time.Since(start)
	}
	b.Logf("indexing took %.2f ms a page", indexing.Seconds()*1000/float64(n))
}

// filled is a database that has the pages.
func filled(b *testing.B) *db.Store {
	b.Helper()
	var store *db.Store
	if *benchDatabase == "" {
		store = dbtest.New(b)
	} else {
		var err error
		store, err = db.OpenOwner(b.Context(), *benchDatabase)
		require.NoError(b, err)
		b.Cleanup(store.Close)
		_, err = db.Migrate(b.Context(), store.Pool(), nil)
		require.NoError(b, err)
	}
	var there int
	require.NoError(b, store.Pool().QueryRow(b.Context(), "SELECT count(*) FROM page_keywords").Scan(&there))
	if there == *benchPages {
		return store
	}
	require.Zero(b, there, "pages in the database, not %d", *benchPages)
	start := time.Now()
	fill(b, store, *benchPages)
	for _, sql := range []string{"VACUUM ANALYZE page_keywords", "VACUUM ANALYZE pages", "VACUUM ANALYZE index_chunks", "CHECKPOINT"} {
		_, err := store.Pool().Exec(b.Context(), sql)
		require.NoError(b, err, sql)
	}
	b.Logf("%d pages stored in %s", *benchPages, time.Since(start).Round(time.Second))
	return store
}

func BenchmarkSearch(b *testing.B) {
	store := filled(b)
	s := search.New(store)
	word := words(rand.New(rand.NewPCG(3, 4)))
	for _, kind := range []struct {
		name string
		text func() string
	}{
		{"Frequent", func() string { return "w0" }},
		{"TwoFrequent", func() string { return "w0 w1" }},
		{"FrequentPhrase", func() string { return `"w0 w1"` }},
		{"FrequentOr", func() string { return "w0 or w1 -w2" }},
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
	sizes(b, store)
}

// sizes logs how large the tables are.
func sizes(b *testing.B, store *db.Store) {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), `SELECT c.relname || ': ' || pg_total_relation_size(c.oid) / $1::integer || ' bytes a page'
		FROM pg_class c WHERE c.relname IN ('pages', 'page_keywords', 'index_chunks')
		UNION ALL SELECT 'segments: ' || count(*) || ', chunks of ' || sum(bytes) / $1::integer || ' bytes a page' FROM index_segments ORDER BY 1`, *benchPages)
	require.NoError(b, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	b.Log("\n" + strings.Join(lines, "\n"))
}
