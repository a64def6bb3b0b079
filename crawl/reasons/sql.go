package reasons

import (
	"fmt"
	"slices"
	"strings"
)

// SQL writes what the database asks of the table, as functions.
func SQL() string {
	var b strings.Builder
	b.WriteString(`-- The reasons that have something in the table of crawl/reasons. The planner takes the call for
-- the array itself. An error says that the table has no such column.
CREATE OR REPLACE FUNCTION reasons(p_column text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_column
`)
	column := func(name string, those []Reason) {
		fmt.Fprintf(&b, "        WHEN %s THEN ARRAY[%s]\n", quote(name), strings.Join(quoted(those), ", "))
	}
	for _, e := range []Event{SettingsChanged, SeedGiven, TrapsReset, LinkFound, ImageFound} {
		column(string(e), that(func(r Row) bool { return slices.Contains(r.Again, e) }))
	}
	column("known", that(func(r Row) bool { return r.Known }))
	column("holds run", that(func(r Row) bool { return r.HoldsRun }))
	ranked := that(func(r Row) bool { return r.Rank > 0 })
	slices.SortFunc(ranked, func(a, b Reason) int { return a.Row().Rank - b.Row().Rank })
	column("by rank", ranked)
	b.WriteString(`        ELSE ('no column ' || p_column)::text[]
    END
$$;

-- The reason for which a person's control forbids requests.
CREATE OR REPLACE FUNCTION control_reason(p_kind text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_kind
`)
	for _, r := range that(func(r Row) bool { return r.Control != "" }) {
		fmt.Fprintf(&b, "        WHEN %s THEN %s\n", quote(r.Row().Control), quote(r))
	}
	b.WriteString("    END\n$$;\n")
	return b.String()
}

func quoted(reasons []Reason) []string {
	texts := make([]string, len(reasons))
	for i, r := range reasons {
		texts[i] = quote(r)
	}
	return texts
}

func quote[T ~string](text T) string { return "'" + strings.ReplaceAll(string(text), "'", "''") + "'" }
