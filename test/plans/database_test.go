package plans

import (
	"context"
	_ "embed"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

const (
	// fewPages and fewSites are stored when the stale statistics are collected. manyPages and
	// manySites are stored when plans are made.
	fewPages, manyPages = 1_000, 1_000_000
	fewSites, manySites = 50, 20_000
)

// These are the runs of fill.sql.
const (
	runLarge int64 = iota + 1
	runOver
	runSmall
)

//go:embed fill.sql
var fillSQL string

// database is a filled database, of which only the statistics change.
type database struct {
	admin *pgx.Conn
	// pool is configured as a process of Mosey has it.
	config *pgxpool.Config
	sites  int
}

// newDatabase fills a database. Its statistics are those of its first pages.
func newDatabase(t testing.TB, pages, sites int) *database {
	t.Helper()
	store := dbtest.New(t)
	large := settings.Settings{
		Delay: new(settings.Duration(time.Second)), WhenDone: new(settings.WhenDoneRecrawl), MaxPagesPerDomain: new(int64(1_000_000)),
	}
	small := settings.Settings{
		Delay: new(settings.Duration(time.Second)), Images: new(settings.ImagesMetadata), MaxPages: new(int64(100_000)),
		MaxPagesPerDomain: new(int64(25)), MaxPagesPerRegistered: new(int64(1000)), Window: new("00:00-23:59"),
		MaxBytes: new(int64(1 << 40)), Scope: new(settings.ScopeWeb),
	}
	for i, set := range []settings.Settings{large, {}, small} {
		run, err := store.EnsureRun(t.Context(), "run-"+strconv.Itoa(i+1), "test", set)
		require.NoError(t, err)
		require.Equal(t, int64(i+1), run.ID)
	}
	admin, err := pgx.ConnectConfig(t.Context(), store.Pool().Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close(context.Background())) })
	d := &database{admin: admin, config: store.Pool().Config(), sites: sites}
	d.exec(t, `
		SET enable_seqscan = on; SET enable_hashjoin = on; SET enable_mergejoin = on; SET plan_cache_mode = auto;
		SET maintenance_work_mem = '256MB'; SET work_mem = '64MB'; SET synchronous_commit = off;
		SET session_replication_role = replica`)
	d.exec(t, "SET plans.extractor = "+strconv.Itoa(crawl.ExtractorVersion))
	d.exec(t, autovacuumOff)
	d.exec(t, "UPDATE crawl_runs SET status = 'done', finished_at = now() WHERE id = 2; UPDATE crawl_runs SET pages_started = 1000, bytes = 0 WHERE id = 3")
	d.fill(t, 0, fewPages, 0, fewSites)
	d.exec(t, "ANALYZE")
	d.exec(t, keepStatistics)
	d.fill(t, fewPages, pages, fewSites, sites)
	d.exec(t, restoreStatistics)
	return d
}

const autovacuumOff = `DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT c.oid::regclass AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace LOOP
		EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', r.name);
	END LOOP;
END $$`

// An index that is made anew counts the rows of its table: what was known before is put back.
const (
	keepStatistics = `CREATE TEMPORARY TABLE known AS
		SELECT c.relname, c.relpages, c.reltuples FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace`
	restoreStatistics = `UPDATE pg_class c SET relpages = k.relpages, reltuples = k.reltuples
		FROM known k WHERE c.relnamespace = 'public'::regnamespace AND c.relname = k.relname;
		SET session_replication_role = origin`
)

// fill adds pages and sites. Indexes are dropped meanwhile and made anew, which takes less.
func (d *database) fill(t testing.TB, fromPage, uptoPage, fromSite, uptoSite int) {
	t.Helper()
	began := time.Now()
	rows, err := d.admin.Query(t.Context(), `
		SELECT CASE WHEN k.conname IS NULL THEN format('DROP INDEX %s', i.indexrelid::regclass)
				ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, k.conname) END,
			CASE WHEN k.conname IS NULL THEN pg_get_indexdef(i.indexrelid)
				ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) END
		FROM pg_index i LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'u'
		WHERE i.indrelid IN ('pages'::regclass, 'page_crawls'::regclass, 'page_links'::regclass, 'page_keywords'::regclass)
			AND NOT i.indisprimary`)
	require.NoError(t, err)
	var drop, create string
	var creates []string
	var drops []string
	_, err = pgx.ForEachRow(rows, []any{&drop, &create}, func() error {
		drops, creates = append(drops, drop), append(creates, create)
		return nil
	})
	require.NoError(t, err)
	for _, sql := range drops {
		d.exec(t, sql)
	}
	for name, value := range map[string]int{
		"pages_from": fromPage, "pages_upto": uptoPage, "sites_from": fromSite, "sites_upto": uptoSite,
	} {
		d.exec(t, "SELECT set_config('plans."+name+"', $1, false)", strconv.Itoa(value))
	}
	// the small sites take turns: fill.sql says how, for manySites
	d.exec(t, "BEGIN; "+strings.ReplaceAll(fillSQL, strconv.Itoa(manySites-3), strconv.Itoa(d.sites-3))+"; COMMIT")
	for _, sql := range creates {
		d.exec(t, sql)
	}
	d.exec(t, `SELECT setval(pg_get_serial_sequence('pages', 'id'), (SELECT max(id) FROM pages)),
		setval(pg_get_serial_sequence('page_crawls', 'id'), (SELECT max(id) FROM page_crawls))`)
	t.Logf("%d pages: filled in %s", uptoPage, time.Since(began).Round(time.Millisecond))
}

func (d *database) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	began := time.Now()
	_, err := d.admin.Exec(t.Context(), sql, args...)
	require.NoError(t, err, "%.300s", sql)
	if took := time.Since(began); took > time.Second && len(sql) < 10_000 {
		t.Logf("%s: %.80s", took.Round(time.Millisecond), sql)
	}
}

// statistics lists the states of the planner's statistics, in the order of their creation.
var statistics = []struct {
	name string
	sql  string
}{
	{"Stale", "SELECT 1"}, // as newDatabase leaves them
	{"Fresh", "ANALYZE"},
	{"Absent", `DELETE FROM pg_statistic s USING pg_class c WHERE c.oid = s.starelid AND c.relnamespace = 'public'::regnamespace;
		UPDATE pg_class c SET relpages = 0, reltuples = -1 WHERE c.relnamespace = 'public'::regnamespace`},
}
