package kinds_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/test/document"
)

var update = flag.Bool("update", false, "write db/functions/kinds.sql")

func TestDatabaseFunctions(t *testing.T) {
	t.Parallel()
	document.CompareSQL(t, "../../db/functions/kinds.sql", databaseFunctions(), *update)
}

// databaseFunctions returns the table as functions of the database. Each is one expression that the
// planner can inline into the calling statement.
func databaseFunctions() string {
	var b strings.Builder
	b.WriteString("-- The kinds of requests that have something in the table of crawl/kinds (go tool task generate):\n")
	columns := []struct {
		name, says string
		has        func(kinds.Kind) bool
	}{
		{"counted", "requests count as pages of their run", kinds.Kind.CountsAsPage},
		{"image", "they count as images of their run", kinds.Kind.Image},
		{"document", "what is fetched is read for its links and its words", kinds.Kind.Document},
		{"announces", "it announces pages, as sitemaps and feeds do", kinds.Kind.Announces},
		{"nested", "its files name each other", func(k kinds.Kind) bool { return k.Traits().Nested }},
	}
	for _, c := range columns {
		fmt.Fprintf(&b, "--   %-10s %s\n", c.name, c.says)
	}
	b.WriteString("CREATE OR REPLACE FUNCTION kinds(p_column text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$\n    SELECT CASE p_column\n")
	for _, c := range columns {
		var names []string
		for _, k := range kinds.All() {
			if c.has(k) {
				names = append(names, "'"+string(k)+"'")
			}
		}
		fmt.Fprintf(&b, "        WHEN '%s' THEN ARRAY[%s]\n", c.name, strings.Join(names, ", "))
	}
	b.WriteString("        ELSE ('no column ' || p_column)::text[]\n    END\n$$;\n\n" +
		"-- Where crawls of a kind come in the frontier; null is by depth and rank.\n" +
		"CREATE OR REPLACE FUNCTION kind_priority(p_kind text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$\n    SELECT CASE p_kind")
	for _, k := range kinds.All() {
		if p := k.Traits().Priority; p != 0 {
			fmt.Fprintf(&b, " WHEN '%s' THEN %d::smallint", k, p)
		}
	}
	b.WriteString(" END\n$$;\n")
	return b.String()
}
