package reasons

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mosey-web/mosey/test/document"
)

var update = flag.Bool("update", false, "write db/functions/reasons.sql")

func TestDatabaseFunctions(t *testing.T) {
	t.Parallel()
	document.CompareSQL(t, "../../db/functions/reasons.sql", databaseFunctions(), *update)
}

// reasonsWhere returns the reasons whose rows satisfy matches, sorted.
func reasonsWhere(matches func(Row) bool) []Reason {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(r Reason) bool { return !matches(table[r]) })
}

// databaseFunctions returns the table's columns as functions of the database.
func databaseFunctions() string {
	var b strings.Builder
	b.WriteString(`-- The reasons that have something in the table of crawl/reasons. The planner takes the call for
-- the array itself. An error says that the table has no such column.
CREATE OR REPLACE FUNCTION reasons(p_column text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_column
`)
	column := func(name string, selected []Reason) {
		var texts []string
		for _, r := range selected {
			texts = append(texts, quote(r))
		}
		fmt.Fprintf(&b, "        WHEN %s THEN ARRAY[%s]\n", quote(name), strings.Join(texts, ", "))
	}
	for _, e := range []Event{SettingsChanged, SeedGiven, TrapsReset, LinkFound, ImageFound} {
		column(string(e), reasonsWhere(func(r Row) bool { return slices.Contains(r.RetryEvents, e) }))
	}
	column("known", reasonsWhere(func(r Row) bool { return r.StateKnown }))
	column("keeps run open", reasonsWhere(func(r Row) bool { return r.HoldsRun }))
	ranked := reasonsWhere(func(r Row) bool { return r.Rank > 0 })
	slices.SortFunc(ranked, func(a, b Reason) int { return a.Row().Rank - b.Row().Rank })
	column("by rank", ranked)
	b.WriteString(`        ELSE ('no column ' || p_column)::text[]
    END
$$;

-- The reason for which a person's control forbids requests.
CREATE OR REPLACE FUNCTION control_reason(p_kind text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_kind
`)
	for _, r := range reasonsWhere(func(r Row) bool { return r.Control != "" }) {
		fmt.Fprintf(&b, "        WHEN %s THEN %s\n", quote(r.Row().Control), quote(r))
	}
	b.WriteString("    END\n$$;\n")
	return b.String()
}

func quote[T ~string](text T) string { return "'" + strings.ReplaceAll(string(text), "'", "''") + "'" }
