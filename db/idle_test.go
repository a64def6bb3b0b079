package db_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// asked is a statement with its arguments.
type asked struct {
	sql  string
	args []any
}

// listener is a database that remembers what it is asked.
type listener struct {
	dbsqlc.DBTX

	heard []asked
}

func (l *listener) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	l.heard = append(l.heard, asked{sql, args})
	return l.DBTX.Query(ctx, sql, args...)
}

func (l *listener) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	l.heard = append(l.heard, asked{sql, args})
	return l.DBTX.QueryRow(ctx, sql, args...)
}

func (l *listener) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	l.heard = append(l.heard, asked{sql, args})
	return l.DBTX.Exec(ctx, sql, args...)
}

// plan is a node of what EXPLAIN says.
type plan map[string]any

func (p plan) number(key string) float64 {
	n, _ := p[key].(float64)
	return n
}

// rows counts the rows that were looked at, by table.
func (p plan) rows(of map[string]float64) map[string]float64 {
	if table, ok := p["Relation Name"].(string); ok {
		of[table] += (p.number("Actual Rows") + p.number("Rows Removed by Filter")) * p.number("Actual Loops")
	}
	children, _ := p["Plans"].([]any)
	for _, child := range children {
		plan(child.(map[string]any)).rows(of)
	}
	return of
}

// explain runs a statement, takes it back, and says what it cost.
func explain(t *testing.T, b *bundle, a asked) plan {
	t.Helper()
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // as intended
	var text []byte
	require.NoError(t, tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+a.sql, a.args...).Scan(&text))
	var plans []map[string]any
	require.NoError(t, json.Unmarshal(text, &plans))
	return plan(plans[0]["Plan"].(map[string]any))
}

// TestAnIdleDispatchCostsNothing has a run with a great deal pending of which
// nothing can be due.
func TestAnIdleDispatchCostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{MaxPagesPerDomain: new(int64(0))})
	const domains, pages = 1000, 20
	b.exec(t, "INSERT INTO domains (domain) SELECT 'd' || i || '.example' FROM generate_series(1, $1::int) i", domains)
	b.exec(t, "INSERT INTO run_domains (run_id, domain, seed, next_due_at) SELECT $1, domain, true, now() FROM domains", b.run.ID)
	b.exec(t, `INSERT INTO pages (url, domain, origin)
		SELECT 'https://' || d.domain || '/' || i, d.domain, 'https://' || d.domain
		FROM domains d, generate_series(1, $1::int) i`, pages)
	b.exec(t, "INSERT INTO page_crawls (page_id, domain, run_id, url) SELECT id, domain, $1, url FROM pages", b.run.ID)
	require.Len(t, b.claim(t, domains), domains)
	require.True(t, b.end(t, "d1.example", ""))
	for _, domain := range column[string](t, b, "SELECT domain FROM domains WHERE claimed_by IS NOT NULL") {
		require.NoError(t, dbsqlc.New(b.Pool()).DomainFinish(t.Context(), dbsqlc.DomainFinishParams{Domain: domain}))
	}
	require.EqualValues(t, domains, one[int64](t, b, "SELECT count(*) FROM run_domains WHERE next_due_at = 'infinity'"))
	// what autovacuum does in time
	_, err := b.Pool().Exec(t.Context(), "VACUUM ANALYZE domains, run_domains, page_crawls")
	require.NoError(t, err)

	l := &listener{DBTX: b.Pool()}
	q := dbsqlc.New(l)
	claimed, err := q.DomainsClaim(t.Context(), dbsqlc.DomainsClaimParams{RunID: b.run.ID, Max: 500, ClaimMs: 60_000})
	require.NoError(t, err)
	require.Empty(t, claimed)
	// it is a function, for which the plan only shows blocks
	require.Less(t, blocks(explain(t, b, l.heard[0])), 20.0)
	l.heard = nil
	activity, err := q.RunActivity(t.Context(), dbsqlc.RunActivityParams{RunID: b.run.ID, Bound: 1000})
	require.NoError(t, err)
	require.Zero(t, activity)
	due, err := q.RunNextDue(t.Context(), b.run.ID)
	require.NoError(t, err)
	require.Zero(t, due.Due.Unix())

	require.Len(t, l.heard, 2)
	for _, a := range l.heard {
		p := explain(t, b, a)
		// of functions only the blocks are told
		looked := p.rows(map[string]float64{})
		require.NotContains(t, looked, "page_crawls", a.sql)
		require.Zero(t, looked["domains"], a.sql)
		require.Zero(t, looked["run_domains"], a.sql)
		require.Less(t, blocks(p), 20.0, a.sql)
	}
}

// blocks are those that a plan has touched.
func blocks(p plan) float64 { return p.number("Shared Hit Blocks") + p.number("Shared Read Blocks") }
