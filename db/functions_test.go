package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

// TestFunctionsCheck has plpgsql_check read every function: Postgres itself looks
// at a statement only when it is run.
func TestFunctionsCheck(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	if _, err := b.Pool().Exec(t.Context(), "CREATE EXTENSION plpgsql_check"); err != nil {
		t.Skipf("needs the extension plpgsql_check (Debian: postgresql-15-plpgsql-check): %v", err)
	}
	const functions = `FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
		LEFT JOIN pg_trigger g ON g.tgfoid = p.oid
		WHERE p.pronamespace = 'public'::regnamespace AND NOT EXISTS (
			SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e'
		)`
	require.Greater(t, one[int](t, b, "SELECT count(DISTINCT p.oid) "+functions), 20)
	require.Empty(t, column[string](t, b, `
		SELECT f.name || ' ' || coalesce(c.lineno, 0) || ': ' || c.level || ': ' || c.message
		FROM (SELECT DISTINCT p.oid, p.proname AS name, coalesce(g.tgrelid, 0) AS relation `+functions+`) f
		CROSS JOIN LATERAL plpgsql_check_function_tb(f.oid, f.relation, extra_warnings => true, performance_warnings => true) c
		ORDER BY 1`))
}
