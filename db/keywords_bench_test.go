package db_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/test/dbtest"
)

// BenchmarkKeywords measures what it costs to write the keywords of a page of 300 to 900
// words beside its record: CPU time of Postgres, and time that passes.
func BenchmarkKeywords(b *testing.B) {
	const pages = 5_000
	store := dbtest.New(b)
	random := rand.New(rand.NewPCG(1, 2))
	ids, texts := make([]int64, pages), make([]string, pages)
	for i := range pages {
		ids[i], texts[i] = int64(i), terms.Index(terms.Page{Text: zipfWords(random, 300+random.IntN(600))}).Text
	}
	for b.Loop() {
		b.StopTimer()
		for _, sql := range []string{
			"TRUNCATE page_keywords, index_segments, index_chunks",
			`INSERT INTO page_keywords (page_id, domain, configs, title, body)
			SELECT id, 'site.example', '{english}', 'title:1', text FROM unnest($1::bigint[], $2::text[]) AS x (id, text)`,
		} {
			var args []any
			if sql[0] == 'I' {
				args = []any{ids, texts}
			}
			_, err := store.Pool().Exec(b.Context(), sql, args...)
			require.NoError(b, err)
		}
		before := costs(b, store)
		b.StartTimer()
		dbtest.WriteKeywords(b, store)
		b.StopTimer()
		after := costs(b, store)
		b.ReportMetric((after.cpu-before.cpu).Seconds()*1000/pages, "postgres-ms/page")
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/pages/float64(b.N), "ms/page")
}
