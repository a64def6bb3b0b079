package bench_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// pendingEach is how many pages are pending on each of the spent domains.
var pendingEach = flag.Int("dispatch.pending", 2000, "pages pending on each of 1,000 domains whose budget is spent")

// BenchmarkDispatchSpentBudgets measures what a look of the dispatcher costs where
// 1,000 domains have a great many pages pending and no budget left: as much as
// where they have none.
func BenchmarkDispatchSpentBudgets(b *testing.B) {
	const domains = 1000
	for _, c := range []struct {
		name    string
		pending int
	}{{"pending=1", 1}, {"pending=many", *pendingEach}} {
		b.Run(c.name, func(b *testing.B) {
			store := dbtest.New(b)
			run, err := store.EnsureRun(b.Context(), "bench", "test", settings.Settings{
				MaxPagesPerDomain: new(int64(0)), WhenDone: new(settings.WhenDoneWait),
			})
			require.NoError(b, err)
			fill(b, store, run.ID, domains, c.pending)
			finishAll(b, store, run.ID)
			_, err = store.Pool().Exec(b.Context(), "VACUUM ANALYZE")
			require.NoError(b, err)
			began := time.Now()
			n := 0
			for b.Loop() {
				claimed, err := store.ClaimDomains(b.Context(), run.ID, 500)
				require.NoError(b, err)
				require.Empty(b, claimed)
				now, err := store.ActivityUpTo(b.Context(), run.ID, 0)
				require.NoError(b, err)
				require.Zero(b, now)
				due, _, err := store.NextDue(b.Context(), run.ID)
				require.NoError(b, err)
				require.True(b, due.IsZero(), "an idle run looks again when it is woken")
				n++
			}
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000/float64(n), "ms/look")
			b.Logf("%s; %d domains, %d pages pending on each", machine(), domains, c.pending)
		})
	}
}

// fill makes domains with pages pending, as discovery would.
func fill(b *testing.B, store *db.Store, runID int64, domains, pending int) {
	b.Helper()
	for _, sql := range []string{
		`INSERT INTO domains (domain) SELECT 'site-' || d || '.test' FROM generate_series(1, $2::integer) d WHERE $1::bigint > 0 AND $3::integer > 0`,
		`INSERT INTO run_domains (run_id, domain, seed, next_due_at)
			SELECT $1, 'site-' || d || '.test', true, now() FROM generate_series(1, $2::integer) d WHERE $3::integer > 0`,
		`INSERT INTO pages (url, domain, origin)
			SELECT 'https://site-' || d || '.test/' || p, 'site-' || d || '.test', 'https://site-' || d || '.test'
			FROM generate_series(1, $2::integer) d, generate_series(1, $3::integer) p WHERE $1::bigint > 0`,
		`INSERT INTO page_crawls (page_id, domain, run_id, url)
			SELECT id, domain, $1, url FROM pages WHERE $2::integer > 0 AND $3::integer > 0`,
	} {
		_, err := store.Pool().Exec(b.Context(), sql, runID, domains, pending)
		require.NoError(b, err)
	}
}

// finishAll claims and ends every domain once, as their workflows would.
func finishAll(b *testing.B, store *db.Store, runID int64) {
	b.Helper()
	for {
		claimed, err := store.ClaimDomains(b.Context(), runID, 1000)
		require.NoError(b, err)
		if len(claimed) == 0 {
			return
		}
		for _, domain := range claimed {
			finished, err := store.FinishDomain(b.Context(), domain, func(f crawl.Facts) (crawl.Finish, bool) {
				return decide.End(decide.Facts{Facts: f}, "")
			})
			require.NoError(b, err)
			require.True(b, finished, "its budget is spent")
		}
	}
}
