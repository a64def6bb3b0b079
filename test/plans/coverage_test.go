package plans

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// queries are the names of all statements of db/queries.
func queries(t *testing.T) (all []statement) {
	t.Helper()
	files, err := filepath.Glob("../../db/queries/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range queryName.FindAllStringSubmatch(string(text), -1) {
			// rows that are copied have no plan
			if !strings.Contains(string(text), "-- name: "+m[1]+" :copyfrom") {
				all = append(all, statement{query: m[1]})
			}
		}
	}
	require.Greater(t, len(all), 100)
	return all
}

// functionStatements are the statements inside the functions of the database that read or
// change rows, by the line on which each begins, with their texts. Functions in SQL are
// part of the plans of who calls them.
func (d *database) functionStatements(t *testing.T) map[statement]string {
	t.Helper()
	rows, err := d.admin.Query(t.Context(), `SELECT p.proname::text, p.prosrc FROM pg_proc p
		JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql' WHERE p.pronamespace = 'public'::regnamespace`)
	require.NoError(t, err)
	all := map[statement]string{}
	var name, body string
	_, err = pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		for line, text := range statementsOf(body) {
			all[statement{function: name, line: strconv.Itoa(line)}] = text
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 200)
	return all
}

var (
	plpgsqlToken = regexp.MustCompile(`(?s)--[^\n]*|'(?:[^']|'')*'|\w+|.`)
	plpgsqlNoise = regexp.MustCompile(`^\s*$|^--`)
	readsRows    = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|PERFORM)\b`)
)

// statementsOf finds the statements of a body of PL/pgSQL that read or change rows, by the
// lines on which they begin, as Postgres counts these. ELSIF belongs to its IF.
func statementsOf(body string) map[int]string {
	all := map[int]string{}
	line, begun, parens, cases := 1, 0, 0, 0
	var ifs []int
	var text strings.Builder
	end := func() {
		if begun > 0 && readsRows.MatchString(text.String()) {
			all[begun] += text.String()
		}
		begun = 0
		text.Reset()
	}
	before := ""
	for _, token := range plpgsqlToken.FindAllString(body, -1) {
		at := line
		line += strings.Count(token, "\n")
		if plpgsqlNoise.MatchString(token) {
			text.WriteString(" ")
			continue
		}
		if begun == 0 {
			begun = at
			switch token {
			case "IF":
				ifs = append(ifs, at)
			case "ELSIF":
				begun = ifs[len(ifs)-1]
			}
		}
		if !strings.HasPrefix(token, "'") {
			text.WriteString(token)
		}
		switch token {
		case "(":
			parens++
		case ")":
			parens--
		case "CASE":
			cases++
		case "END":
			cases = max(cases-1, 0)
		case "IF":
			if before == "END" {
				ifs = ifs[:len(ifs)-1]
			}
		}
		if parens == 0 && cases == 0 && slices.Contains([]string{";", "BEGIN", "THEN", "ELSE", "LOOP", "DECLARE"}, token) {
			end()
		}
		before = token
	}
	return all
}

func TestStatementsOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{3, 8, 11, 15}, sortedLines(statementsOf(`
DECLARE
    v CONSTANT text := (SELECT 'BEGIN; -- x' FROM a); -- SELECT
BEGIN
    IF kind = 'DELETE' THEN
        RETURN 0;
    END IF;
    IF CASE WHEN EXISTS (SELECT 1) THEN true ELSE false END THEN
        RETURN 1;
    ELSIF EXISTS (SELECT 2) THEN
        UPDATE a SET b = 1
        WHERE c;
    END IF;
    n := 5;
    FOR x IN SELECT 1 LOOP
        RAISE 'x';
    END LOOP;
END
`)))
}

func sortedLines(of map[int]string) (lines []int) {
	for line := range of {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}
