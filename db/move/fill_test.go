package move_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// notMoved are the tables that stay behind, each with the reason.
var notMoved = map[string]string{
	"goose_db_version":     "the target is migrated by itself",
	"schema_compatibility": "so it knows what its own functions are made of",
	"database_move":        "each database has its own place in a move",
}

// tableNames are all tables of the schema, also those that nobody has told this test of.
func tableNames(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(names), 30)
	return names
}

// values are expressions of n for columns that take only some values.
var values = map[string]string{
	"crawl_runs.status":            "'running'",
	"crawl_runs.finished_at":       "NULL",
	"run_changes.kind":             "'set'",
	"domain_controls.kind":         "'delay'",
	"domain_controls.lifted_at":    "NULL",
	"domain_controls.lifted_by":    "NULL",
	"list_entries.list":            "'block'",
	"list_entries.kind":            "'network'",
	"page_crawls.outcome":          "'success'",
	"page_crawls.locked_at":        "NULL",
	"page_crawls.skipped":          "NULL",
	"page_crawls.status_code":      "200 + n",
	"robots_texts.hash":            "sha256(convert_to('rules' || n, 'UTF8'))",
	"robots_texts.rules":           "'rules' || n",
	"robots.rules_hash":            "sha256(convert_to('rules' || n, 'UTF8'))",
	"robots_history.rules_hash":    "sha256(convert_to('rules' || n, 'UTF8'))",
	"robots_bodies.hash":           "sha256(decode(md5('body' || n), 'hex'))",
	"robots.body_hash":             "sha256(decode(md5('body' || n), 'hex'))",
	"robots_history.body_hash":     "sha256(decode(md5('body' || n), 'hex'))",
	"image_contents.sha256_hash":   "encode(sha256(convert_to(n::text, 'UTF8')), 'hex')",
	"images.sha256_hash":           "encode(sha256(convert_to(n::text, 'UTF8')), 'hex')",
	"images.id":                    "md5(n::text)::uuid",
	"provenance.image_id":          "md5(n::text)::uuid",
	"politeness_slots.free_at":     "now() + n * interval '1 hour'",
	"politeness_slots.key":         "'domain:' || n || '.example'",
	"politeness_slots.holder":      "NULL",
	"pages.language":               "'de'",
	"page_keywords.language":       "'de'",
	"page_keywords.second":         "'en'",
	"keywords_waiting.language":    "'de'",
	"keywords_waiting.second":      "'en'",
	"crawl_runs.settings":          "jsonb_build_object('delay', n || 's')",
	"crawl_runs.name":              "'run-' || n",
	"domains.claimed_by":           "NULL",
	"domains.claim_expires_at":     "NULL",
	"domains.priority_computed_at": "'infinity'",
}

// expressions are those for each type, of n and of the column's name.
var expressions = map[string]string{
	"bigint": "n", "integer": "n", "smallint": "n", "boolean": "n % 2 = 0", "real": "n / 7.0", "double precision": "n / 7.0",
	"text": "'%s ä\t\\' || n", "jsonb": `'{"a": [1, null, "ö"]}'::jsonb`, "uuid": "md5('%s' || n)::uuid",
	"timestamp with time zone": "'2026-01-02 03:04:05.678901Z'::timestamptz + n * interval '1 day'",
	"bytea":                    "decode(md5('%s' || n), 'hex')", "inet": "'10.0.0.1'::inet + n", "cidr": "'10.0.0.0/24'::cidr",
	"interval": "n * interval '1 month 2 days 3.5s'", "text[]": "ARRAY['a,b', '', NULL, n::text]",
}

// fill puts rows into every table that is moved.
func fill(t *testing.T, pool *pgxpool.Pool, rows int) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()                      // nothing is left to do after a commit
	_, err = tx.Exec(t.Context(), "SET LOCAL session_replication_role = replica") // in any order
	require.NoError(t, err)
	for _, table := range tableNames(t, pool) {
		if notMoved[table] != "" || table == "database_identity" || table == "fleet_limit" {
			continue
		}
		columns, err := tx.Query(t.Context(), `SELECT attname::text, format_type(atttypid, NULL), typtype = 'e' AS enum,
			CASE WHEN typtype = 'e' THEN (SELECT enumlabel::text FROM pg_enum WHERE enumtypid = atttypid ORDER BY enumsortorder LIMIT 1) END
			FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, table)
		require.NoError(t, err)
		var names, exprs []string
		var name, kind string
		var enum bool
		var label *string
		_, err = pgx.ForEachRow(columns, []any{&name, &kind, &enum, &label}, func() error {
			expr, known := values[table+"."+name]
			switch {
			case known:
			case enum:
				expr = "'" + *label + "'"
			default:
				expr, known = expressions[kind]
				require.True(t, known || kind == "character varying", "%s.%s is a %s: say what it may have", table, name, kind)
				expr = strings.ReplaceAll(expr, "%s", name)
			}
			names, exprs = append(names, `"`+name+`"`), append(exprs, expr)
			return nil
		})
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM generate_series(1, %d) n",
			table, strings.Join(names, ", "), strings.Join(exprs, ", "), rows))
		require.NoError(t, err, "fill table %s: say in values what its columns may have", table)
	}
	rowsOf, err := tx.Query(t.Context(), "SELECT sequencename::text FROM pg_sequences WHERE schemaname = 'public' AND sequencename NOT LIKE 'goose%'")
	require.NoError(t, err)
	sequences, err := pgx.CollectRows(rowsOf, pgx.RowTo[string])
	require.NoError(t, err)
	for i, name := range sequences {
		_, err = tx.Exec(t.Context(), "SELECT setval($1::regclass, $2, $3)", name, 1000+i, i%2 == 0)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// sums are a checksum of each table that is moved, over all its rows in order.
func sums(t *testing.T, pool *pgxpool.Pool, but ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, table := range tableNames(t, pool) {
		if notMoved[table] != "" || slices.Contains(but, table) {
			continue
		}
		var sum string
		require.NoError(t, pool.QueryRow(t.Context(), fmt.Sprintf(
			`SELECT count(*) || ' ' || md5(coalesce(string_agg(x::text, E'\n' ORDER BY x::text COLLATE "C"), '')) FROM %s x`, table)).Scan(&sum))
		all[table] = sum
	}
	return all
}

// layout is what a database is made of: indexes, constraints, triggers, sequences.
func layout(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || convalidated FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT tgrelid::regclass || ' ' || tgenabled::text || ' ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT attrelid::regclass || '.' || attname || ' ' || attidentity::text || attnotnull || attstorage::text || attcompression::text
			FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND attnum > 0
		UNION ALL SELECT relname || ' ' || coalesce(reloptions::text, '') || coalesce(relacl::text, '') FROM pg_class
			WHERE relnamespace = 'public'::regnamespace
		ORDER BY 1`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(all), 100)
	return all
}
