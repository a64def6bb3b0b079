package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

// worker is a bundle with the rights of a worker.
func worker(t *testing.T, url string) *bundle {
	t.Helper()
	store, err := db.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	b := &bundle{Store: store, held: &sync.Map{}}
	b.run = b.ensureRun(t, "worker", settings.Settings{MaxPages: new(int64(100))})
	return b
}

// crawlAll does with a store all that a crawl does.
func crawlAll(t *testing.T, b *bundle) {
	t.Helper()
	require.NoError(t, b.StageSeeds(t.Context(), b.run.ID, []string{"https://a.example/"}))
	staged, err := b.StagedSeeds(t.Context(), b.run.ID, 10)
	require.NoError(t, err)
	b.seed(t, staged[0].URL)
	require.NoError(t, b.UnstageSeeds(t.Context(), b.run.ID, staged[0].ID))
	require.Equal(t, []string{domainA}, b.claim(t, 10))

	l := b.take(t, domainA, address, "robots", time.Second)
	require.True(t, l.Granted)
	rec, err := b.Record(t.Context(), robotsRecord(l.AttemptID, domainA, "User-agent: mosey\nDisallow: /x\n"))
	require.NoError(t, err)
	require.True(t, rec.Closed)

	b.expire(t, "ip:"+address)
	n := b.beginAt(t, domainA, address)
	a := attempted(n, domainA, links(t, "https://a.example/2", "https://b.example/")...)
	a.IP, a.IPDelay = address, crawl.Millis(time.Millisecond)
	a.Health = &crawl.Health{Slowdown: settings.Duration(time.Second)}
	a.Charge = &crawl.Charge{Patterns: []string{"/p/N"}, Fingerprints: []byte("of it")}
	a.LinksForbidden = true
	n = b.finish(t, a)
	require.Equal(t, "https://a.example/2", n.URL)
	require.Zero(t, one[int](t, b, "SELECT count(*)::int FROM page_links"))

	n = b.begin(t, domainA)
	require.NoError(t, b.Abandon(t.Context(), startOf(n, domainA, ""), n.AttemptID, 0, false, "no route"))
	b.begin(t, domainA)
	b.expire(t, "domain:"+domainA)
	require.Equal(t, 2, b.next(t, domainA).Attempt)
	_, err = b.DeferOrigin(t.Context(), domainA, "https://a.example", b.clock(t).Add(time.Hour), true)
	require.NoError(t, err)
	b.control(t, domainA, crawl.ControlDelay, 1000)
	require.NoError(t, b.LiftControls(t.Context(), domainA, "tester", crawl.ControlDelay))
	require.NoError(t, b.RenewClaim(t.Context(), domainA, time.Hour))
	require.True(t, b.end(t, domainA, ""))
	require.Equal(t, report.Totals{Success: 1, Failed: 1, RequestCount: 2}, b.progress(t).Totals)
	b.domain(t, domainA)
	b.page(t, "https://a.example/")
	_, err = b.AuditGaps(t.Context(), nil)
	require.NoError(t, err)
	stopped, err := b.StopRun(t.Context(), b.run.ID, "enough")
	require.NoError(t, err)
	require.True(t, stopped)
}

// robotsRecord is an attempt that has read a robots.txt.
func robotsRecord(id int64, domain, rules string) crawl.Attempt {
	return settled(crawl.Attempt{
		ID: id, Domain: domain, Requested: true, IP: address, Outcome: crawl.OutcomeSuccess, StatusCode: 200,
		EndedAt: time.Now(), IPDelay: crawl.Millis(time.Millisecond), Reason: reasons.Delay,
		Robots: &crawl.Robots{
			Origin: "https://" + domain, Domain: domain, Verdict: crawl.RobotsRules, Rules: rules,
			Lifetime: crawl.Millis(time.Hour),
		},
	})
}

func TestWorkersRights(t *testing.T) {
	t.Parallel()

	t.Run("AreEnoughToCrawl", func(t *testing.T) {
		t.Parallel()
		b := worker(t, dbtest.URL(t))
		require.Equal(t, "mosey_worker", one[string](t, b, "SELECT current_user::text"))
		schema, err := db.SchemaOf(t.Context(), b.Pool())
		require.NoError(t, err)
		require.NoError(t, schema.Check())
		crawlAll(t, b)
	})

	t.Run("DoNotReachTheSchemaNorHistory", func(t *testing.T) {
		t.Parallel()
		b := worker(t, dbtest.URL(t))
		crawlAll(t, b)
		for _, sql := range []string{
			"DROP TRIGGER page_crawls_no_truncate ON page_crawls",
			"ALTER TABLE page_crawls DISABLE TRIGGER ALL",
			"ALTER TABLE pages ADD COLUMN x text",
			"DROP TABLE robots_history",
			"CREATE OR REPLACE FUNCTION history_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
			"DELETE FROM page_crawls", "TRUNCATE page_crawls",
			"DELETE FROM pages", "TRUNCATE pages CASCADE",
			"DELETE FROM crawl_runs",
			"TRUNCATE robots_history", "UPDATE robots_history SET agent = 'x'",
			"DELETE FROM domain_controls", "TRUNCATE domain_controls",
			"UPDATE installation SET min_schema_version = 0",
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES (9, true)",
			"SET session_replication_role = replica",
		} {
			_, err := b.Pool().Exec(t.Context(), sql)
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg, sql)
			require.Equal(t, "42501", pg.Code, "insufficient_privilege: %s: %s", sql, pg.Message)
		}
	})
}
