package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
)

func TestDomainReport(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/1", "https://a.example/2", "https://b.example/")
	other := b.in(t, "other", settings.Settings{Scope: new(settings.ScopeWeb)})
	other.seed(t, "https://c.example/")
	other.fetch(t, "c.example", "https://a.example/1")
	b.claim(t, 1)
	saveRobots(t, b, "https://a.example", domainA, crawl.RobotsRules, time.Minute, time.Hour)
	saveRobots(t, b, "https://b.example", "b.example", crawl.RobotsRules, time.Minute, time.Hour)

	d := b.domain(t, domainA)
	require.Equal(t, crawl.DomainActive, d.Status)
	require.Empty(t, d.Controls)
	require.Zero(t, d.SlotFree, "nothing was requested yet")
	require.EqualValues(t, 3, d.Pending)
	require.Empty(t, d.Recent)
	require.Len(t, d.Robots, 1)
	r := d.Robots[0]
	require.Equal(t, report.Robots{
		Origin: "https://a.example", Verdict: crawl.RobotsRules, Reason: "because", Sitemaps: []string{},
		CrawlDelay: new(settings.Duration(time.Minute)), FetchedAt: r.FetchedAt, ExpiresAt: r.ExpiresAt, ReadAt: r.FetchedAt,
	}, r)

	a := attempted(b.begin(t, domainA), domainA)
	a.Outcome, a.StatusCode, a.Error, a.Bytes, a.Duration = crawl.OutcomeBlocked4xx, 410, "gone", 9, crawl.ElapsedMillis(70*time.Millisecond)
	a.Delay, a.Reason = crawl.Millis(time.Hour), reasons.CrawlDelay
	b.finish(t, a)
	d = b.domain(t, domainA)
	require.EqualValues(t, 2, d.Pending)
	require.Equal(t, reasons.CrawlDelay, d.SlotReason)
	require.WithinDuration(t, b.clock(t).Add(time.Hour), d.SlotFree, 5*time.Minute)
	require.Len(t, d.Recent, 1)
	require.Equal(t, report.Attempt{
		ID: a.ID, Domain: domainA, URL: "https://a.example/1", Kind: kinds.Page, Run: "test", Outcome: crawl.OutcomeBlocked4xx, StatusCode: 410,
		Error: "gone", Bytes: 9, Duration: settings.Duration(70 * time.Millisecond), CompletedAt: d.Recent[0].CompletedAt,
		Delay: settings.Duration(time.Hour), DelayReason: reasons.CrawlDelay,
	}, d.Recent[0])
	require.Equal(t, []report.DomainRun{
		{Run: "test", Status: crawl.RunRunning, Seed: true, Started: 1, Budget: -1, RunBudget: -1, Totals: report.Totals{Blocked4xx: 1, Bytes: 9, RequestCount: 1}},
		{Run: "other", Status: crawl.RunRunning, Budget: -1, RunBudget: -1},
	}, d.Runs)
	b.exec(t, "UPDATE page_crawls SET scheduled_for = $1 WHERE run_id = $2 AND domain = $3 AND outcome IS NULL", time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), b.run.ID, domainA)
	b.exec(t, "UPDATE page_crawls SET scheduled_for = '2031-01-01' WHERE run_id = $1 AND domain = $2 AND outcome IS NULL", other.run.ID, domainA)
	require.True(t, b.domain(t, domainA).NextDue.Equal(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)))

	p := b.progress(t)
	require.Equal(t, []report.WaitingDomain{{Domain: domainA, Reason: reasons.Scheduled, Until: b.domain(t, domainA).NextDue}}, p.Waiting,
		"its slot is free long before")
	require.EqualValues(t, 1, p.Active)
	require.EqualValues(t, 2, p.Domains)
	require.EqualValues(t, 2, p.Pending)
	require.EqualValues(t, 1, p.Deferred)
	require.Equal(t, b.run, p.Run)

	_, err := b.Domain(t.Context(), "unknown.example")
	require.ErrorIs(t, err, crawl.ErrNotFound)
	require.ErrorContains(t, err, "unknown.example")
}

func TestPageReport(t *testing.T) {
	t.Parallel()

	t.Run("ShowsTheNewestAttemptsFirst", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "many", settings.Settings{})
		b.seed(t, "https://many.example/")
		for range 12 {
			a := attempted(b.begin(t, "many.example"), "many.example")
			a.Outcome, a.RetryIn = crawl.OutcomeTimeout, new(crawl.Millis(0))
			b.finish(t, a)
		}
		crawls := b.page(t, "https://many.example/").Crawls
		require.Len(t, crawls, 10)
		require.Empty(t, crawls[0].Outcome, "the pending one")
		for i := range crawls[1:] {
			require.Greater(t, crawls[i].ID, crawls[i+1].ID)
		}
		recent := b.domain(t, "many.example").Recent
		require.Len(t, recent, 10)
		require.Equal(t, crawls[1].ID, recent[0].ID)
	})

	t.Run("ShowsAnAttemptInFlight", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "flight", settings.Settings{})
		b.seed(t, "https://flight.example/")
		require.Zero(t, b.page(t, "https://flight.example/").Crawls[0].LockedAt)
		before := b.clock(t)
		b.begin(t, "flight.example")
		c := b.page(t, "https://flight.example/").Crawls[0]
		require.WithinRange(t, c.LockedAt, before, b.clock(t))
		require.Zero(t, c.CompletedAt)
		require.EqualValues(t, 1, b.progress(t).InFlight)
	})

	t.Run("IsNotFoundForAnUnknownPage", func(t *testing.T) {
		t.Parallel()
		_, err := setup(t, settings.Settings{}).Page(t.Context(), "unknown.example", "https://unknown.example/")
		require.ErrorIs(t, err, crawl.ErrNotFound)
		require.ErrorContains(t, err, "https://unknown.example/")
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("RefusesABadURLWithoutItsPassword", func(t *testing.T) {
		t.Parallel()
		_, err := db.Open(t.Context(), "postgres://user:hunter2@localhost:port/x")
		require.ErrorContains(t, err, "database URL")
		require.NotContains(t, err.Error(), "hunter2")
	})

	t.Run("SaysThatItCannotReachTheDatabase", func(t *testing.T) {
		t.Parallel()
		_, err := db.Open(t.Context(), "postgres://user:hunter2@127.0.0.1:1/x?connect_timeout=5")
		require.ErrorContains(t, err, "reach the database")
		require.NotContains(t, err.Error(), "hunter2")
	})
}
