package db_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestRobotsTextsAreStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const rules = "User-agent: mosey\nDisallow: /x\n"
	save := func(t *testing.T, origin, rules string) crawl.Robots {
		t.Helper()
		_, err := b.SaveRobots(t.Context(), crawl.Robots{
			Origin: origin, Domain: domainA, Verdict: crawl.RobotsRules, Rules: rules, Lifetime: crawl.Millis(time.Hour),
		})
		require.NoError(t, err)
		r, err := b.Robots(t.Context(), origin)
		require.NoError(t, err)
		return r
	}
	first := save(t, "https://a.example", rules)
	second := save(t, "http://a.example", rules)
	save(t, "https://a.example", rules)
	require.Equal(t, rules, first.Rules)
	require.Equal(t, rules, second.Rules)
	require.Equal(t, []string{rules}, column[string](t, b, "SELECT convert_from(content, 'UTF8') FROM robots_contents"))
	require.EqualValues(t, 2, one[int64](t, b, "SELECT count(*) FROM robots_history"), "a row for each change")

	save(t, "https://a.example", "")
	require.EqualValues(t, 2, one[int64](t, b, "SELECT count(*) FROM robots_contents"))
	got, err := b.RobotsText(t.Context(), "https://a.example", first.Version)
	require.NoError(t, err)
	require.Equal(t, crawl.RobotsText{Rules: rules}, got, "also what it said before")
	_, err = b.RobotsText(t.Context(), "https://a.example", 1)
	require.ErrorIs(t, err, crawl.ErrNotFound)

	for range 20 { // a site that writes another robots.txt at each request
		last := save(t, "https://a.example", "User-agent: *\nDisallow: /"+rand.Text()+"\n")
		_, err := b.RobotsText(t.Context(), "https://a.example", last.Version)
		require.NoError(t, err)
	}
	require.EqualValues(t, 8, one[int64](t, b, "SELECT count(*) FROM robots_history WHERE origin = 'https://a.example'"))
	require.EqualValues(t, 9, one[int64](t, b, "SELECT count(*) FROM robots_contents"), "its last eight, and that of the other origin")

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = b.SaveRobots(ctx, crawl.Robots{
		Origin: "https://a.example", Domain: domainA, Verdict: crawl.RobotsRules, BodyHash: make([]byte, 32), Lifetime: crawl.Millis(time.Hour),
	})
	require.ErrorContains(t, err, "foreign key", "a body that is not stored")

	forgotten, err := b.ForgetRobots(t.Context(), domainA)
	require.NoError(t, err)
	require.EqualValues(t, 2, forgotten)
	for _, table := range []string{"robots", "robots_history", "robots_contents"} {
		require.Zero(t, one[int64](t, b, "SELECT count(*) FROM "+table), table)
	}
}

func TestRecordOfARobotsTxt(t *testing.T) {
	t.Parallel()

	t.Run("IsOneTransaction", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		l := b.take(t, domainA, "", "robots", 0)
		bad := robotsRecord(l.AttemptID, domainA, "User-agent: *\n")
		bad.IP, bad.Shared, bad.Robots.Verdict = "", nil, "nonsense"
		before := b.snapshot(t)
		_, err := b.Record(t.Context(), bad)
		require.ErrorContains(t, err, "nonsense")
		require.Equal(t, before, b.snapshot(t), "neither the attempt nor the slot without the verdict")

		good := bad
		good.Robots.Verdict = crawl.RobotsRules
		rec, err := b.Record(t.Context(), good)
		require.NoError(t, err)
		require.True(t, rec.Closed)
		r, err := b.Robots(t.Context(), "https://a.example")
		require.NoError(t, err)
		require.Equal(t, "User-agent: *\n", r.Rules)
		require.Equal(t, []string{"robots success"},
			column[string](t, b, "SELECT kind || ' ' || outcome FROM page_crawls"))
	})

	t.Run("ChangesNothingForWhoWasTakenForDead", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		zombie := b.take(t, domainA, "", "zombie", 0)
		b.expire(t, "domain:a.example")
		require.True(t, b.take(t, domainA, "", "heir", 0).Granted)
		before := b.snapshot(t)
		rec, err := b.Record(t.Context(), robotsRecord(zombie.AttemptID, domainA, "User-agent: *\n"))
		require.NoError(t, err)
		require.False(t, rec.Closed)
		require.Equal(t, before, b.snapshot(t))
	})

	t.Run("IsNoPartOfTheFrontierNorOfTheTotals", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{MaxPages: new(int64(1))})
		b.seed(t, "https://a.example/")
		for _, holder := range []string{"one", "two"} {
			require.True(t, b.take(t, domainA, "", holder, 0).Granted)
			require.EqualValues(t, 1, b.progress(t).Pending)
			require.NoError(t, b.release(t.Context(), domainA, "", holder, time.Now(), 0, 0, reasons.Delay))
		}
		require.Zero(t, b.progress(t).Totals)
		n := b.begin(t, domainA)
		require.Equal(t, 1, n.Attempt)
		require.Equal(t, []string{"https://a.example/"}, b.crawls(t))
	})

	t.Run("SaysWhatIsNextElsewhere", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/")
		// its robots.txt redirects to another domain
		l := b.take(t, "b.example", "", "robots", 0)
		at := robotsRecord(l.AttemptID, domainA, "")
		at.Domain, at.FactsDomain = "b.example", domainA
		rec, err := b.Record(t.Context(), at)
		require.NoError(t, err)
		n := viewOf(rec.Facts)
		require.Equal(t, "https://a.example/", n.URL)
		require.NotNil(t, n.picked.Attempt.Robots)
	})
}

// TestSharedSlotsAreFreeBeforeLinksAreWritten has the links of an attempt wait for
// another transaction that has found the same page.
func TestSharedSlotsAreFreeBeforeLinksAreWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{IPDelay: new(settings.Duration(time.Millisecond))})
	b.seed(t, "https://a.example/")
	a := attempted(b.beginAt(t, domainA, address), domainA, links(t, "https://a.example/found")...)
	a.IP, a.IPDelay, a.Delay = address, crawl.Millis(time.Millisecond), crawl.Millis(time.Minute)
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // it was committed
	_, err = tx.Exec(t.Context(), `INSERT INTO pages (url, domain, origin)
		VALUES ('https://a.example/found', 'a.example', 'https://a.example')`)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := b.Record(t.Context(), settled(a))
		done <- err
	}()
	eventually(t, "the links wait", func() bool { return b.blocked(t) })
	require.Equal(t, []string{"domain:a.example"},
		column[string](t, b, "SELECT key FROM politeness_slots WHERE holder IS NOT NULL"), "the domain's own is part of the record")
	eventually(t, "a neighbour has the address", func() bool {
		return b.takeQueued(t, "neighbour.example", address, "n", time.Millisecond).Granted
	})
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, report.Totals{Success: 1, RequestCount: 1}, b.progress(t).Totals)
}

// TestSharedSlotsAreFreeSinceTheRecordedEnd looks at what an audit computes from.
func TestSharedSlotsAreFreeSinceTheRecordedEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{IPDelay: new(settings.Duration(time.Second))})
	b.seed(t, "https://a.example/")
	a := attempted(b.beginAt(t, domainA, address), domainA)
	a.IP, a.IPDelay, a.Delay = address, crawl.Millis(time.Second), crawl.Millis(time.Minute)
	rec, err := b.Record(t.Context(), settled(a))
	require.NoError(t, err)
	ended := one[time.Time](t, b, "SELECT completed_at FROM page_crawls WHERE id = $1", a.ID)
	require.True(t, ended.Equal(rec.Ended))
	free := one[time.Time](t, b, "SELECT free_at FROM politeness_slots WHERE key = 'ip:' || $1", address)
	require.True(t, ended.Add(time.Second).Equal(free), "%s after %s", free.Sub(ended), ended)
}
