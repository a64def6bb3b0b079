package db_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

var (
	partitionRows = flag.Int("partitions.rows", 200_000, "pages that are stored before BenchmarkPartitions measures")
	partitionMany = flag.Int("partitions.number", 16, "partitions of BenchmarkPartitions")
)

// spread are the tables that BenchmarkPartitions makes partitions of, each with the column whose
// hash chooses one. That of a link does not name the domain, and each statement that asks for the
// links of a page knows the page: so this is the least that partitions by domain could cost.
var spread = map[string]string{"page_crawls": "domain", "page_keywords": "domain", "page_links": "from_page_id"}

// BenchmarkPartitions compares the large tables as they are with hash partitions of them. It
// fills a database, has 200 domains crawl 100 pages each by the functions that workers use, and
// reports what a page costs then. VACUUM runs after a tenth of the crawls was changed; REINDEX
// is that of the largest index of page_crawls, or of one partition of it.
func BenchmarkPartitions(b *testing.B) {
	for _, number := range []int{0, *partitionMany} {
		b.Run(fmt.Sprintf("partitions=%d", number), func(b *testing.B) {
			const domains, pages = 200, 100
			store := dbtest.New(b)
			fillPages(b, store, *partitionRows)
			if number > 0 {
				partition(b, store, number)
			}
			execute(b, store, "VACUUM ANALYZE", "CHECKPOINT")
			run, err := store.EnsureRun(b.Context(), "bench", "test", settings.Settings{Delay: new(settings.Duration(0)), IPDelay: new(settings.Duration(0))})
			require.NoError(b, err)
			for i := range domains {
				_, err := store.AddSeeds(b.Context(), run.ID, parse(b, siteURL(i, 0)))
				require.NoError(b, err)
			}
			_, err = store.ClaimDomains(b.Context(), run.ID, domains)
			require.NoError(b, err)
			before := buffers(b, store)
			n := recordPages(b, store, domains, pages, nil)
			b.ReportMetric(float64(buffers(b, store)-before)/n, "buffers/page")
			execute(b, store, "ALTER TABLE page_crawls DISABLE TRIGGER USER", "UPDATE page_crawls SET bytes = 1 WHERE page_id % 10 = 0")
			timed(b, "vacuum-s", func() { execute(b, store, "VACUUM page_crawls") })
			index := "page_crawls_page"
			if number > 0 {
				index = "page_crawls_0_page_id_run_id_coalesce_domain_idx"
			}
			timed(b, "reindex-s", func() { execute(b, store, "REINDEX INDEX "+index) })
			var size int64
			require.NoError(b, store.Pool().QueryRow(b.Context(), "SELECT pg_database_size(current_database())").Scan(&size))
			b.ReportMetric(float64(size)/1e9, "GB")
		})
	}
}

func timed(b *testing.B, unit string, do func()) {
	b.Helper()
	began := time.Now()
	do()
	b.ReportMetric(time.Since(began).Seconds(), unit)
}

func execute(b *testing.B, store *db.Store, statements ...string) {
	b.Helper()
	for _, s := range statements {
		_, err := store.Pool().Exec(b.Context(), s)
		require.NoError(b, err, s)
	}
}

// buffers are the blocks that were touched in the database, in memory or not.
func buffers(b *testing.B, store *db.Store) (n int64) {
	b.Helper()
	require.NoError(b, store.Pool().QueryRow(b.Context(), `
		SELECT pg_stat_force_next_flush() IS NULL OR true, blks_hit + blks_read FROM pg_stat_database
		WHERE datname = current_database()`).Scan(new(bool), &n))
	return n
}

// fillPages stores pages of 65,536 domains as a crawl would have left them, each with one
// attempt, three links and its words. Indexes are made afterwards.
func fillPages(b *testing.B, store *db.Store, rows int) {
	b.Helper()
	tables := []string{"pages", "page_crawls", "page_links", "page_keywords"}
	var again []string
	for _, table := range tables {
		drop, create := indexesOf(b, store, table)
		execute(b, store, drop...)
		again = append(again, create...)
	}
	const made = `(SELECT i, (hashint8(i / 200) & 65535) AS d FROM generate_series(1, $1::bigint) AS i) AS x`
	for _, sql := range []string{
		`INSERT INTO pages (url, domain, origin, status, language, signals, content_hash, simhash, fetched_at)
			SELECT 'https://d' || d || '.example/a/page/' || i, 'd' || d || '.example', 'https://d' || d || '.example',
				'fetched', 'en', '{"title": "A page of some site"}', substr(sha256(i::text::bytea), 1, 16), i, now()
			FROM ` + made,
		`INSERT INTO page_crawls (page_id, domain, run_id, url, completed_at, outcome, status_code, duration_ms, bytes,
				content_type, ip, subnet, delay_ms, delay_reason, ip_delay_ms, subnet_delay_ms)
			SELECT i, 'd' || d || '.example', 1000, 'https://d' || d || '.example/a/page/' || i, now() - make_interval(secs => $1 - i), 'success',
				200, 120, 20000, 'text/html', '192.0.2.1', '192.0.2.0/24', 10000, 'delay', 1000, 500
			FROM ` + made,
		`INSERT INTO page_links (from_page_id, to_page_id)
			SELECT i, greatest(1, i - n * n * 7) FROM ` + made + ` CROSS JOIN generate_series(1, 3) AS n
			WHERE i > 100`,
		`INSERT INTO page_keywords (page_id, domain, version, configs, title, body)
			SELECT i, 'd' || d || '.example', 1, '{english}', 'page:1', 'common:1 words:2 of:3 page:4' FROM ` + made,
	} {
		_, err := store.Pool().Exec(b.Context(), sql, rows)
		require.NoError(b, err)
	}
	execute(b, store, again...)
}

// indexesOf returns the statements that drop a table's indexes, except its primary key, and the
// statements that create them again.
func indexesOf(b *testing.B, store *db.Store, table string) (drop, create []string) {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), `
		SELECT CASE WHEN k.conname IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
				ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', $1::regclass, k.conname) END,
			CASE WHEN k.conname IS NULL THEN pg_get_indexdef(i.indexrelid)
				ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', $1::regclass, k.conname, pg_get_constraintdef(k.oid)) END
		FROM pg_index i LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'u'
		WHERE i.indrelid = $1::regclass AND NOT i.indisprimary`, table)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var d, c string
		require.NoError(b, rows.Scan(&d, &c))
		drop, create = append(drop, d), append(create, c)
	}
	require.NoError(b, rows.Err())
	return drop, create
}

// partition makes hash partitions of the tables of spread, with the same rows and indexes. A
// unique index of such a table has to have the column in it.
func partition(b *testing.B, store *db.Store, number int) {
	b.Helper()
	view := textsOf(b, store, "SELECT 'CREATE VIEW ' || c.relname || ' AS ' || pg_get_viewdef(oid) FROM pg_class c WHERE c.relname = $1", "asks")
	for table, column := range spread {
		drop, create := indexesOf(b, store, table)
		var key string
		require.NoError(b, store.Pool().QueryRow(b.Context(), `
			SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'p'`, table).Scan(&key))
		if !strings.Contains(key, column) {
			key = strings.Replace(key, ")", ", "+column+")", 1)
		}
		execute(b, store, drop...)
		execute(b, store,
			fmt.Sprintf("ALTER TABLE %s RENAME TO whole", table),
			fmt.Sprintf("CREATE TABLE %s (LIKE whole INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING CONSTRAINTS) PARTITION BY HASH (%s)", table, column),
		)
		for i := range number {
			execute(b, store, fmt.Sprintf(
				"CREATE TABLE %[1]s_%[2]d PARTITION OF %[1]s FOR VALUES WITH (MODULUS %[3]d, REMAINDER %[2]d)", table, i, number))
		}
		if table == "page_crawls" { // its ids go on
			execute(b, store, `CREATE SEQUENCE crawl_ids`, `SELECT setval('crawl_ids', (SELECT max(id) FROM whole))`,
				`ALTER TABLE page_crawls ALTER id SET DEFAULT nextval('crawl_ids')`)
		}
		triggers := textsOf(b, store, `
			SELECT replace(pg_get_triggerdef(oid), 'public.whole', $1) FROM pg_trigger WHERE tgrelid = 'whole'::regclass AND NOT tgisinternal`, table)
		execute(b, store, "INSERT INTO "+table+" SELECT * FROM whole", "DROP TABLE whole CASCADE",
			"ALTER TABLE "+table+" ADD "+key)
		execute(b, store, triggers...)
		for _, sql := range create {
			sql = strings.Replace(sql, " ON ONLY ", " ON ", 1)
			if unique := strings.HasPrefix(sql, "CREATE UNIQUE INDEX"); unique {
				sql = strings.TrimSuffix(sql, ")") + ", " + column + ")"
			}
			execute(b, store, sql)
		}
		if table == "page_crawls" {
			execute(b, store, "CREATE INDEX page_crawls_id ON page_crawls (id)")
			execute(b, store, view...)
		}
	}
}

func textsOf(b *testing.B, store *db.Store, sql string, args ...any) []string {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), sql, args...)
	require.NoError(b, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	return texts
}
