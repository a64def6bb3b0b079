package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
)

// The statements of this package read and change catalogs of Postgres, which sqlc does not know.

// kept are the tables that are not moved: those by which a database knows its own schema, and
// its own place in a move.
var kept = []string{"goose_db_version", "schema_compatibility", "database_move"}

// Table is a table that is moved.
type Table struct {
	Name string
	// Rows is about how many there are, and Bytes what they take with their indexes.
	Rows, Bytes int64

	columns []column
}

type column struct{ name, kind string }

const selectTables = `SELECT c.relname::text, greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid)), pg_total_relation_size(c.oid),
	ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
		AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum),
	ARRAY(SELECT format_type(a.atttypid, a.atttypmod) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
		AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum)
	FROM pg_class c
	WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> ALL ($1)
	AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
	ORDER BY 1`

// Tables lists the tables that are moved, by name. Columns that Postgres computes are left out.
func (d *Database) Tables(ctx context.Context) (tables []Table, err error) {
	return tablesOf(ctx, d.conn.Conn(), d.Name)
}

func tablesOf(ctx context.Context, conn *pgx.Conn, name string) (tables []Table, err error) {
	rows, err := conn.Query(ctx, selectTables, kept)
	if err == nil {
		var t Table
		var names, kinds []string
		_, err = pgx.ForEachRow(rows, []any{&t.Name, &t.Rows, &t.Bytes, &names, &kinds}, func() error {
			t.columns = nil
			for i := range names {
				t.columns = append(t.columns, column{names[i], kinds[i]})
			}
			tables = append(tables, t)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: list the tables: %w", name, err)
	}
	return tables, nil
}

// quoted is the table as a statement has it.
func (t Table) quoted() string { return quote(t.Name) }

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (t Table) columnList() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = quote(c.name)
	}
	return strings.Join(names, ", ")
}

// compare refuses two databases whose tables differ. Migrations may have added columns in
// another order.
func compare(from, to []Table) error {
	describe := func(tables []Table) (all []string) {
		for _, t := range tables {
			for _, c := range t.columns {
				all = append(all, t.Name+"."+c.name+" "+c.kind)
			}
		}
		slices.Sort(all)
		return all
	}
	a, b := describe(from), describe(to)
	for _, lacking := range []struct {
		list, of []string
		where    string
	}{{a, b, "the target lacks"}, {b, a, "the source lacks"}} {
		for _, one := range lacking.list {
			if !slices.Contains(lacking.of, one) {
				return fmt.Errorf("%w: the tables of the two databases differ: %s %s: run mosey migrate on the source with this program",
					crawl.ErrInvalid, lacking.where, one)
			}
		}
	}
	return nil
}
