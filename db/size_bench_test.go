package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// BenchmarkSize tells what each statement of a dispatcher's look, of a finish, of status and
// of a run's end touches of a large frontier: blocks, and time. Its size is that of
// BenchmarkFrontier. Half of the domains are not due.
func BenchmarkSize(b *testing.B) {
	for range b.N {
		f := newFrontier(b, *frontierDomains, *frontierPages / *frontierDomains)
		conn, err := pgx.ConnectConfig(b.Context(), f.store.Pool().Config().ConnConfig)
		require.NoError(b, err)
		exec := func(sql string, args ...any) {
			_, err := conn.Exec(b.Context(), sql, args...)
			require.NoError(b, err, sql)
		}
		exec("UPDATE run_domains SET next_due_at = 'infinity', wait_reason = 'budget' WHERE hashtext(domain) % 4 = 0")
		exec("UPDATE run_domains SET next_due_at = now() + interval '1 hour', wait_reason = 'deferred' WHERE hashtext(domain) % 4 = 1")
		exec("VACUUM ANALYZE run_domains")
		_, err = f.store.ClaimDomains(b.Context(), f.run, 1000)
		require.NoError(b, err)
		for _, s := range []struct{ name, sql string }{
			{"how many are due (20,001)", "SELECT run_due_count($1, 20001)"},
			{"whether something is due", "SELECT run_due_count($1, 1)"},
			{"claim 1,000", "SELECT domains_claim($1, 1000, interval '1 minute')"},
			{"claims of the run, 2,000", "SELECT * FROM run_claim_counts($1)"},
			{"the same where there is room", "SELECT * FROM run_claim_counts($1, 1000000)"},
			{"what keeps the run", "SELECT run_postponed_count($1, 1000)"},
			{"what is due next", "SELECT next_due_at FROM run_domains WHERE run_id = $1 AND next_due_at > now() AND next_due_at < 'infinity' ORDER BY next_due_at LIMIT 1"},
			{"note when a domain is due", "SELECT due_update(ARRAY(SELECT domain FROM domains WHERE claimed_by IS NOT NULL AND $1::bigint IS NOT NULL LIMIT 1))"},
			{"whether a run is idle", "SELECT run_due_count($1, 1), run_postponed_count($1, 1), (SELECT c.busy FROM run_claim_counts($1) c)"},
			{"why it is not due (10,000)", `SELECT x.wait_reason, count(*) FROM (SELECT rd.wait_reason FROM run_domains rd
				WHERE rd.run_id = $1 AND rd.next_due_at > now() ORDER BY rd.next_due_at LIMIT 10000) x GROUP BY 1`},
			{"totals of the run", "SELECT sum(requests), sum(bytes) FROM run_domains WHERE run_id = $1"},
			{"seeds that are open", `SELECT c.id FROM page_crawls c WHERE c.run_id = $1 AND c.id > 0 AND c.outcome IS NULL
				AND c.locked_at IS NULL AND c.depth = 0 AND c.previous_id IS NULL AND NOT c.prerequisite ORDER BY c.id LIMIT 1000`},
		} {
			var text []byte
			require.NoError(b, conn.QueryRow(b.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.sql, f.run).Scan(&text), s.name)
			var plans []map[string]any
			require.NoError(b, json.Unmarshal(text, &plans))
			p, ok := plans[0]["Plan"].(map[string]any)
			require.True(b, ok)
			took := time.Duration(plan(p).number("Actual Total Time") * float64(time.Millisecond))
			b.Logf("%-28s %8.0f blocks %10s", s.name, blocks(p), took.Round(10*time.Microsecond))
		}
		require.NoError(b, conn.Close(b.Context()))
	}
}
