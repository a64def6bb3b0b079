package db_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db/dbtest"
)

var (
	partitionRows = flag.Int("partitions.rows", 200_000, "rows of BenchmarkPartitions")
	partitionMany = flag.Int("partitions.number", 16, "partitions of BenchmarkPartitions")
)

// BenchmarkPartitions compares pages as one table with pages in hash partitions by domain.
// It stores rows of five domains at a time, as crawls find them. It looks for rows by
// domain and URL, as for links, and by id alone, as for a crawl's page. Then it runs a
// VACUUM after every tenth row was changed.
func BenchmarkPartitions(b *testing.B) {
	for name, number := range map[string]int{"one": 0, "partitions": *partitionMany} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				pool := dbtest.New(b).Pool()
				makePages(b, pool, number)
				measurePages(b, pool, *partitionRows)
			}
		})
	}
}

// makePages makes a table as pages is, with its keys and indexes.
func makePages(b *testing.B, pool *pgxpool.Pool, partitions int) {
	b.Helper()
	var by string
	key := "id"
	if partitions > 0 {
		by, key = "PARTITION BY HASH (domain)", "domain, id"
	}
	statements := []string{
		"CREATE TABLE spread (LIKE pages INCLUDING DEFAULTS INCLUDING STORAGE) " + by,
		"CREATE SEQUENCE spread_id",
		"ALTER TABLE spread ALTER id SET DEFAULT nextval('spread_id')",
	}
	for i := range partitions {
		statements = append(statements, fmt.Sprintf(
			"CREATE TABLE spread_%d PARTITION OF spread FOR VALUES WITH (MODULUS %d, REMAINDER %d) WITH (fillfactor = 90)", i, partitions, i))
	}
	statements = append(
		statements,
		"ALTER TABLE spread ADD PRIMARY KEY ("+key+")",
		"ALTER TABLE spread ADD UNIQUE (domain, url)",
		"CREATE INDEX spread_content ON spread (domain, content_hash) WHERE content_hash IS NOT NULL",
		"CREATE INDEX spread_language ON spread (language) WHERE language IS NOT NULL",
	)
	if partitions > 0 {
		statements = append(statements, "CREATE INDEX spread_by_id ON spread (id)")
	}
	for _, s := range statements {
		_, err := pool.Exec(b.Context(), s)
		require.NoError(b, err, s)
	}
}

func measurePages(b *testing.B, pool *pgxpool.Pool, rows int) {
	b.Helper()
	const lot = 1000
	timed := func(unit string, each float64, do func()) {
		began := time.Now()
		do()
		b.ReportMetric(float64(time.Since(began).Microseconds())/each, unit)
	}
	run := func(sql string, args ...any) {
		_, err := pool.Exec(b.Context(), sql, args...)
		require.NoError(b, err, sql)
	}
	timed("insert-us/row", float64(rows), func() {
		for at := 0; at < rows; at += lot {
			run(`INSERT INTO spread (url, domain, origin, content_hash, language)
				SELECT 'https://d' || d || '.example/a/page/' || $1 + i, 'd' || d || '.example', 'https://d' || d || '.example',
					sha256(($1 + i)::text::bytea), CASE WHEN i % 2 = 0 THEN 'en' END
				FROM generate_series(1, $2) i CROSS JOIN LATERAL (SELECT hashint8(($1 + i) / 200) & 65535 AS d) x
				ON CONFLICT DO NOTHING`, at, lot)
		}
		run("ANALYZE spread")
	})
	const looked = 20_000
	find := func(condition string) string {
		return `SELECT count(p.id) FROM generate_series(1, $1) i
			CROSS JOIN LATERAL (SELECT 1 + (hashint8(i) & 2147483647)::bigint * $2 / 2147483648 AS n) x
			CROSS JOIN LATERAL (SELECT 'd' || (hashint8(x.n / 200) & 65535) || '.example' AS domain) d
			CROSS JOIN LATERAL (SELECT s.id FROM spread s WHERE ` + condition + ` LIMIT 1) p`
	}
	timed("find-by-url-us", looked, func() {
		run(find("s.domain = d.domain AND s.url = 'https://' || d.domain || '/a/page/' || x.n"), looked, rows)
	})
	timed("find-by-id-us", looked, func() { run(find("s.id = x.n"), looked, rows) })
	run("UPDATE spread SET fetched_at = now() WHERE id % 10 = 0")
	timed("vacuum-us/row", float64(rows), func() { run("VACUUM spread") })
	var size int64
	require.NoError(b, pool.QueryRow(b.Context(), `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
		WHERE c.relname ~ '^spread(_[0-9]+)?$' AND c.relkind = 'r'`).Scan(&size))
	b.ReportMetric(float64(size)/float64(rows), "B/row")
	b.ReportMetric(0, "ns/op")
}
