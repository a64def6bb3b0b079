package cost_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/test/up"
)

// settings make counts repeatable. Nothing runs that comes when the clock says so. After a
// checkpoint the first change of a block puts all of it into the log, which is no cost of a page:
// there are no checkpoints, and no whole blocks. What is written need not survive.
var set = map[string]string{
	"autovacuum": "off", "checkpoint_timeout": "1d", "max_wal_size": "64GB", "full_page_writes": "off",
	"fsync": "off", "track_functions": "all",
}

// startPostgres starts a Postgres of the test's own and returns its address.
func startPostgres(t *testing.T) string {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Config{Dir: up.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	for name, value := range set {
		execute(t, server.URL(), "ALTER SYSTEM SET "+name+" = '"+value+"'")
	}
	execute(t, server.URL(), "SELECT pg_reload_conf()")
	return server.URL()
}

// execute runs statements, each in a transaction of its own, in a session that then ends.
func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	for _, sql := range statements {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	require.NoError(t, conn.Close(t.Context()))
}

// relation holds the counts of Postgres for a table or an index.
type relation struct {
	Name string `db:"name"`
	// EntriesRead counts the index entries that scans returned.
	EntriesRead int64 `db:"entries_read"`
	Scans       int64 `db:"scans"`
	// RowsScanned counts the rows that scans of the whole table read.
	RowsScanned int64 `db:"rows_scanned"`
	Buffers     int64 `db:"buffers"` // of a table: without its indexes
	Inserted    int64 `db:"inserted"`
	Updated     int64 `db:"updated"`
	Deleted     int64 `db:"deleted"`
}

const relationsSQL = `
	SELECT t.relname AS name, 0 AS entries_read, 0 AS scans, s.seq_tup_read AS rows_scanned,
		coalesce(t.heap_blks_hit, 0) + coalesce(t.heap_blks_read, 0) + coalesce(t.toast_blks_hit, 0)
			+ coalesce(t.toast_blks_read, 0) + coalesce(t.tidx_blks_hit, 0) + coalesce(t.tidx_blks_read, 0) AS buffers,
		s.n_tup_ins AS inserted, s.n_tup_upd AS updated, s.n_tup_del AS deleted
	FROM pg_statio_user_tables t JOIN pg_stat_user_tables s USING (relid)
	UNION ALL
	SELECT i.indexrelname, s.idx_tup_read, s.idx_scan, 0, i.idx_blks_hit + i.idx_blks_read, 0, 0, 0
	FROM pg_statio_user_indexes i JOIN pg_stat_user_indexes s USING (indexrelid)`

// logged counts the records of one kind in the write-ahead log.
type logged struct {
	Kind  string `db:"kind"`
	Count int64  `db:"count"`
	Bytes int64  `db:"bytes"`
}

const logSQL = `SELECT "resource_manager/record_type" AS kind, count, combined_size AS bytes FROM pg_get_wal_stats($1, $2, true) WHERE count > 0`

// database holds the counts of Postgres at an instant.
type database struct {
	relations map[string]relation
	calls     int64  // of functions
	position  string // of the end of the log
}

// readDatabase reads all counts. Call settle first, so that other sessions have flushed their
// counts.
func readDatabase(t *testing.T, url string) database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	d := database{relations: map[string]relation{}}
	for _, r := range query[relation](t, conn, relationsSQL) {
		d.relations[r.Name] = r
	}
	row := conn.QueryRow(t.Context(), `SELECT (SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_user_functions), pg_current_wal_insert_lsn()::text`)
	require.NoError(t, row.Scan(&d.calls, &d.position))
	// The log can be read up to there once what comes after has been written.
	_, err = conn.Exec(t.Context(), `SELECT pg_logical_emit_message(true, 'cost', '')`)
	require.NoError(t, err)
	return d
}

// settle has each session of a pool tell what it has counted. They stay open, with the plans
// that they have made, as those of a worker do.
func settle(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	idle := pool.AcquireAllIdle(t.Context())
	require.Len(t, idle, int(pool.Stat().TotalConns()), "a session is still busy")
	for _, conn := range idle {
		_, err := conn.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
		require.NoError(t, err)
		conn.Release()
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) []T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	require.NoError(t, err)
	return all
}

// since returns the counts since the earlier instant e.
func (d database) since(e database) map[string]relation {
	change := map[string]relation{}
	for name, x := range d.relations {
		y := e.relations[name]
		change[name] = relation{
			Name: name, EntriesRead: x.EntriesRead - y.EntriesRead, Scans: x.Scans - y.Scans,
			RowsScanned: x.RowsScanned - y.RowsScanned, Buffers: x.Buffers - y.Buffers,
			Inserted: x.Inserted - y.Inserted, Updated: x.Updated - y.Updated, Deleted: x.Deleted - y.Deleted,
		}
	}
	return change
}

// readLog returns the bytes of the write-ahead log between two positions, and the records by kind.
// The kinds are nil if pg_walinspect is not installed.
func readLog(t *testing.T, url, from, to string) (bytes int64, kinds map[string]logged) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	row := conn.QueryRow(t.Context(), `SELECT ($2::pg_lsn - $1::pg_lsn)::bigint, count(*) FROM pg_extension WHERE extname = 'pg_walinspect'`, from, to)
	var readable int
	require.NoError(t, row.Scan(&bytes, &readable))
	if readable == 0 {
		return bytes, nil
	}
	kinds = map[string]logged{}
	for _, l := range query[logged](t, conn, logSQL, from, to) {
		kinds[l.Kind] = l
	}
	return bytes, kinds
}

// prepareLog has the log be readable, where the extension for that is on the machine. It
// comes with Postgres 15 and later, as one of its additional modules.
func prepareLog(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	var known bool
	row := conn.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'pg_walinspect'`)
	require.NoError(t, row.Scan(&known))
	if !known {
		t.Log("without the extension pg_walinspect what is written to indexes is not counted")
		return
	}
	_, err = conn.Exec(t.Context(), "CREATE EXTENSION pg_walinspect SCHEMA pg_catalog")
	require.NoError(t, err)
}
