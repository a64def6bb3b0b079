package bench_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// database holds the statistics of Postgres at an instant. Counts begin at its start.
type database struct {
	Size int64 `db:"size"` // bytes on disk
	WAL  int64 `db:"wal"`  // bytes written to the log

	relations map[string]relation // tables and indexes
	functions map[string]function
}

// relation is a table with what belongs to it but its indexes, or an index.
type relation struct {
	Name     string `db:"name"`
	Bytes    int64  `db:"bytes"`
	Scans    int64  `db:"scans"` // of an index, or of a whole table
	Inserted int64  `db:"inserted"`
	Updated  int64  `db:"updated"`
	HOT      int64  `db:"hot"` // updates that touched no index
}

type function struct {
	Name  string  `db:"name"`
	Calls int64   `db:"calls"`
	Total float64 `db:"total"` // ms, what it calls included
	Own   float64 `db:"own"`   // ms
}

const (
	databaseSQL = `SELECT pg_database_size(current_database()) AS size, (pg_current_wal_lsn() - '0/0')::bigint AS wal`

	relationsSQL = `SELECT c.relname AS name,
			CASE WHEN c.relkind = 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END AS bytes,
			coalesce(i.idx_scan, t.seq_scan, 0) AS scans,
			coalesce(t.n_tup_ins, 0) AS inserted, coalesce(t.n_tup_upd, 0) AS updated, coalesce(t.n_tup_hot_upd, 0) AS hot
		FROM pg_class c LEFT JOIN pg_stat_user_tables t ON t.relid = c.oid
		LEFT JOIN pg_stat_user_indexes i ON i.indexrelid = c.oid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')`

	functionsSQL = `SELECT funcname AS name, sum(calls)::bigint AS calls, sum(total_time) AS total, sum(self_time) AS own
		FROM pg_stat_user_functions GROUP BY funcname`
)

// connect opens a connection with all rights.
func (r *rig) connect(b *testing.B) *pgx.Conn {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), r.database)
	require.NoError(b, err)
	return conn
}

func closeConn(b *testing.B, conn *pgx.Conn) {
	b.Helper()
	require.NoError(b, conn.Close(context.WithoutCancel(b.Context())))
}

var postgresSettings = flag.String("postgres", "", "measure with these `settings` of Postgres, as in enable_seqscan=off,work_mem=8MB")

// configure has Postgres count the calls and the time of functions, and obey
// postgresSettings.
func (r *rig) configure(b *testing.B) {
	b.Helper()
	conn := r.connect(b)
	defer closeConn(b, conn)
	statements := []string{`ALTER SYSTEM SET track_functions = 'all'`}
	for set := range strings.SplitSeq(*postgresSettings, ",") {
		if name, value, ok := strings.Cut(set, "="); ok {
			statements = append(statements, fmt.Sprintf(`ALTER SYSTEM SET %s = '%s'`, name, value))
		}
	}
	for _, sql := range append(statements, `SELECT pg_reload_conf()`) {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err, sql)
	}
}

func (r *rig) readDatabase(b *testing.B) database {
	b.Helper()
	conn := r.connect(b)
	defer closeConn(b, conn)
	d := query[database](b, conn, databaseSQL)[0]
	d.relations, d.functions = map[string]relation{}, map[string]function{}
	for _, x := range query[relation](b, conn, relationsSQL) {
		d.relations[x.Name] = x
	}
	for _, x := range query[function](b, conn, functionsSQL) {
		d.functions[x.Name] = x
	}
	return d
}

func query[T any](b *testing.B, conn *pgx.Conn, sql string) []T {
	b.Helper()
	rows, err := conn.Query(b.Context(), sql)
	require.NoError(b, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[T])
	require.NoError(b, err)
	return all
}

// since returns the changes since the earlier instant e.
func (d database) since(e database) database {
	change := database{
		Size: d.Size - e.Size, WAL: d.WAL - e.WAL,
		relations: map[string]relation{}, functions: map[string]function{},
	}
	for name, x := range d.relations {
		y := e.relations[name]
		change.relations[name] = relation{
			Name: name, Bytes: x.Bytes - y.Bytes, Scans: x.Scans - y.Scans,
			Inserted: x.Inserted - y.Inserted, Updated: x.Updated - y.Updated, HOT: x.HOT - y.HOT,
		}
	}
	for name, x := range d.functions {
		y := e.functions[name]
		change.functions[name] = function{
			Name: name, Calls: x.Calls - y.Calls, Total: x.Total - y.Total, Own: x.Own - y.Own,
		}
	}
	return change
}

// activityBegins is the function that each activity which fetches pages calls once.
const activityBegins = "domain_next"

// report prints what a page costs the database.
func (d database) report(b *testing.B, pages float64) {
	b.Helper()
	var sum relation
	for _, x := range d.relations {
		sum.Inserted += x.Inserted
		sum.Updated += x.Updated
		sum.HOT += x.HOT
	}
	b.ReportMetric(float64(d.Size)/pages, "db-B/page")
	b.ReportMetric(float64(d.WAL)/pages, "wal-B/page")
	b.ReportMetric(float64(sum.Inserted)/pages, "rows/page")
	b.ReportMetric(100*float64(sum.HOT)/float64(max(sum.Updated, 1)), "hot-%")
	b.ReportMetric(float64(d.functions[activityBegins].Calls)/pages, "activities-a-page")
	b.Log("\n" + d.tables(pages) + "\n" + d.calls(pages))
}

// tables is a line for each table and index that has changed, the largest first.
func (d database) tables(pages float64) string {
	return table(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "a page\tbytes\trows\tupdates\tHOT %\tscans\t")
		for _, x := range slices.SortedFunc(maps.Values(d.relations), func(x, y relation) int {
			return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
		}) {
			if x.Bytes == 0 && x.Inserted == 0 && x.Updated == 0 {
				continue
			}
			fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t%.0f\t%.2f\t\n", x.Name, float64(x.Bytes)/pages, float64(x.Inserted)/pages,
				float64(x.Updated)/pages, 100*float64(x.HOT)/float64(max(x.Updated, 1)), float64(x.Scans)/pages)
		}
	})
}

// functionsShown bounds the lines about functions.
const functionsShown = 16

// calls is a line for each function that took time, the dearest first. It is time
// that passed, waits for locks, disks and cores included.
func (d database) calls(pages float64) string {
	return table(func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "a page\tms\town ms\tcalls\t")
		shown := 0
		for _, x := range slices.SortedFunc(maps.Values(d.functions), func(x, y function) int {
			return cmp.Compare(y.Total, x.Total)
		}) {
			if shown++; shown > functionsShown || x.Calls == 0 {
				return
			}
			fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.2f\t\n", x.Name, x.Total/pages, x.Own/pages, float64(x.Calls)/pages)
		}
	})
}

func table(write func(*tabwriter.Writer)) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	write(w)
	_ = w.Flush() // a strings.Builder takes all
	return text.String()
}
