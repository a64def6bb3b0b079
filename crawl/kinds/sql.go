package kinds

import (
	"fmt"
	"strings"
)

// SQL is the table as functions of the database, for db/functions/kinds.sql. Each is one
// expression that the planner can take into the statement that calls it.
func SQL() string {
	var b strings.Builder
	b.WriteString("-- The kinds of requests that have something in the table of crawl/kinds (go tool task generate):\n")
	columns := []struct {
		name, says string
		has        func(Kind) bool
	}{
		{"counted", "requests count as pages of their run", Kind.Counted},
		{"image", "they count as images of their run", Kind.Image},
		{"document", "what is fetched is read for its links and its words", Kind.Document},
		{"announces", "it announces pages, as sitemaps and feeds do", Kind.Announces},
		{"nested", "its files name each other", func(k Kind) bool { return k.Traits().Nested }},
	}
	for _, c := range columns {
		fmt.Fprintf(&b, "--   %-10s %s\n", c.name, c.says)
	}
	b.WriteString("CREATE OR REPLACE FUNCTION kinds(p_column text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$\n    SELECT CASE p_column\n")
	for _, c := range columns {
		var those []string
		for _, k := range All() {
			if c.has(k) {
				those = append(those, "'"+string(k)+"'")
			}
		}
		fmt.Fprintf(&b, "        WHEN '%s' THEN ARRAY[%s]\n", c.name, strings.Join(those, ", "))
	}
	b.WriteString("        ELSE ('no column ' || p_column)::text[]\n    END\n$$;\n")
	b.WriteString("\n-- Where crawls of a kind come in the frontier; null is by depth and rank.\n" +
		"CREATE OR REPLACE FUNCTION kind_priority(p_kind text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$\n    SELECT CASE p_kind")
	for _, k := range All() {
		if p := k.Traits().Priority; p != 0 {
			fmt.Fprintf(&b, " WHEN '%s' THEN %d::smallint", k, p)
		}
	}
	b.WriteString(" END\n$$;\n")
	return b.String()
}
