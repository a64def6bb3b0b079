package kinds

import (
	"fmt"
	"strings"
)

// SQL is the table as functions of the database, for db/functions/kinds.sql. Each is one
// expression that the planner can take into the statement that calls it.
func SQL() string {
	var b strings.Builder
	b.WriteString("-- The kinds of requests. Generated from crawl/kinds (go tool task generate): change them there.\n")
	for _, q := range []struct {
		name, says string
		has        func(Kind) bool
	}{
		{"counted", "Whether requests of a kind count as pages of their run.", Kind.Counted},
		{"image", "Whether they count as images of their run.", Kind.Image},
		{"document", "Whether what is fetched is read for its links and its words.", Kind.Document},
		{"announces", "Whether it announces pages, as sitemaps and feeds do.", Kind.Announces},
		{"nested", "Whether files of the kind name each other.", func(k Kind) bool { return k.Traits().Nested }},
	} {
		var those []string
		for _, k := range All() {
			if q.has(k) {
				those = append(those, "'"+string(k)+"'")
			}
		}
		is := " IN (" + strings.Join(those, ", ") + ")"
		if len(those) == 1 {
			is = " = " + those[0]
		}
		fmt.Fprintf(&b, "\n-- %s\nCREATE OR REPLACE FUNCTION kind_%s(p_kind text) RETURNS boolean", q.says, q.name)
		fmt.Fprintf(&b, " LANGUAGE sql IMMUTABLE AS $$\n    SELECT p_kind%s\n$$;\n", is)
	}
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
