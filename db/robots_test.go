package db_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestRobots(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	save := func(t *testing.T, r crawl.Robots) int {
		t.Helper()
		failures, err := b.SaveRobots(t.Context(), r)
		require.NoError(t, err)
		return failures
	}
	load := func(t *testing.T, origin string) crawl.Robots {
		t.Helper()
		r, err := b.Robots(t.Context(), origin)
		require.NoError(t, err)
		return r
	}

	t.Run("AreNotFoundBeforeTheyAreSaved", func(t *testing.T) {
		t.Parallel()
		_, err := b.Robots(t.Context(), "https://unknown.example")
		require.ErrorIs(t, err, crawl.ErrNotFound)
	})

	t.Run("ComeBackAsTheyWere", func(t *testing.T) {
		t.Parallel()
		want := crawl.Robots{
			Origin: "https://whole.example", Domain: "whole.example", Verdict: crawl.RobotsRules, Agent: "mosey",
			Rules: "User-agent: mosey\nDisallow: /x\n", CrawlDelay: new(crawl.Millis(1500 * time.Millisecond)),
			VisitTimes: "Mon-Sun 06:00-08:45 UTC",
			Sitemaps:   []string{"https://whole.example/sitemap.xml"}, Reason: "200", StatusCode: 200, Lifetime: crawl.Millis(24 * time.Hour),
			TDM: json.RawMessage(`[]`), ETag: `"v1"`, LastModified: time.Date(2026, time.November, 1, 0, 0, 0, 0, time.Local),
		}
		before := b.clock(t)
		require.Zero(t, save(t, want))
		got := load(t, want.Origin)
		require.WithinRange(t, got.FetchedAt, before, b.clock(t))
		require.WithinDuration(t, got.FetchedAt.Add(24*time.Hour), got.ExpiresAt, time.Second)
		require.Equal(t, got.FetchedAt.UnixMicro(), got.Version)
		require.LessOrEqual(t, time.Duration(got.Lifetime), 24*time.Hour)
		require.Greater(t, time.Duration(got.Lifetime), 23*time.Hour)
		require.Less(t, got.Age, time.Minute)
		want.Age = got.Age
		want.FetchedAt, want.ExpiresAt, want.Version, want.Lifetime = got.FetchedAt, got.ExpiresAt, got.Version, got.Lifetime
		require.Equal(t, want, got)

		save(t, crawl.Robots{Origin: want.Origin, Domain: want.Domain, Verdict: crawl.RobotsAllowAll, StatusCode: 404, Lifetime: crawl.Millis(time.Hour)})
		again := load(t, want.Origin)
		require.Greater(t, again.Version, got.Version, "each fetch has a version of its own")
		require.Equal(t, crawl.RobotsAllowAll, again.Verdict)
		require.Nil(t, again.CrawlDelay, "there is no robots.txt any more")
		require.Empty(t, again.VisitTimes)
		require.Empty(t, again.Rules)
		require.Empty(t, again.Sitemaps)
	})

	t.Run("CountFailuresInARow", func(t *testing.T) {
		t.Parallel()
		r := crawl.Robots{
			Origin: "https://trouble.example", Domain: "trouble.example", Verdict: crawl.RobotsRules,
			CrawlDelay: new(crawl.Millis(time.Minute)), Lifetime: crawl.Millis(time.Hour),
		}
		require.Zero(t, save(t, r))
		down := r
		down.Verdict, down.StatusCode, down.Reason = crawl.RobotsUnreachable, 503, "503"
		require.Equal(t, 1, save(t, down))
		require.Equal(t, 2, save(t, down))
		got := load(t, r.Origin)
		require.Equal(t, new(crawl.Millis(time.Minute)), got.CrawlDelay)
		require.Equal(t, 2, got.Failures)
		require.Equal(t, crawl.RobotsUnreachable, got.Verdict)
		r.CrawlDelay = nil
		require.Zero(t, save(t, r), "it answers again")
		require.Nil(t, load(t, r.Origin).CrawlDelay)
		require.Equal(t, 1, save(t, down), "failures in a row are counted")
	})

	t.Run("MayFailFromTheStart", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 1, save(t, crawl.Robots{
			Origin: "https://dead.example", Domain: "dead.example", Verdict: crawl.RobotsUnreachable,
		}))
		got := load(t, "https://dead.example")
		require.Zero(t, got.StatusCode)
		require.Nil(t, got.CrawlDelay)
		require.True(t, got.ExpiresAt.After(got.FetchedAt), "no fetch is stale at once")
	})

	t.Run("MayAskForAnyDelay", func(t *testing.T) {
		t.Parallel()
		save(t, crawl.Robots{
			Origin: "https://huge.example", Domain: "huge.example", Verdict: crawl.RobotsRules,
			CrawlDelay: new(crawl.Millis(math.MaxInt64)), Lifetime: crawl.Millis(time.Hour),
		})
		require.Greater(t, time.Duration(*load(t, "https://huge.example").CrawlDelay), 290*365*24*time.Hour)
		save(t, crawl.Robots{
			Origin: "https://tiny.example", Domain: "tiny.example", Verdict: crawl.RobotsRules,
			CrawlDelay: new(crawl.Millis(2*time.Millisecond + 1)), Lifetime: crawl.Millis(time.Hour),
		})
		require.Equal(t, crawl.Millis(3*time.Millisecond), *load(t, "https://tiny.example").CrawlDelay, "rounded up: nobody is early")
	})
}

func TestDeferOrigin(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const origin = "https://a.example"
	b.seed(t, origin+"/flight")
	b.begin(t, domainA)
	b.seed(t, origin+"/pending1", origin+"/pending2", "http://a.example/", "https://b.example/")
	unreachable := crawl.Robots{Origin: origin, Domain: domainA, Verdict: crawl.RobotsUnreachable, Lifetime: crawl.Millis(time.Hour)}
	// deferOrigin does what is decided about the origin's first page in line
	deferOrigin := func(t *testing.T) int64 {
		t.Helper()
		f, err := b.PageFacts(t.Context(), domainA, origin+"/pending1")
		require.NoError(t, err)
		d := decide.Attempt(decide.Facts{Facts: f}, f.Now)
		if d.Action != decide.DeferOrigin {
			return 0
		}
		n, err := b.DeferOrigin(t.Context(), domainA, origin, d.Until, true)
		require.NoError(t, err)
		return n
	}
	deferred := func(t *testing.T) []string {
		t.Helper()
		return column[string](t, b, "SELECT url FROM page_crawls WHERE scheduled_for > now()")
	}

	require.Zero(t, deferOrigin(t), "its robots.txt was never asked for")
	reachable := unreachable
	reachable.Verdict = crawl.RobotsDisallowAll
	_, err := b.SaveRobots(t.Context(), reachable)
	require.NoError(t, err)
	require.Zero(t, deferOrigin(t), "what is disallowed is closed instead")

	_, err = b.SaveRobots(t.Context(), unreachable)
	require.NoError(t, err)
	require.EqualValues(t, 2, deferOrigin(t))
	require.ElementsMatch(t, []string{origin + "/pending1", origin + "/pending2"}, deferred(t))
	require.Zero(t, deferOrigin(t), "they are already")
	robots, err := b.Robots(t.Context(), origin)
	require.NoError(t, err)
	again, err := b.DeferOrigin(t.Context(), domainA, origin, robots.ExpiresAt, true)
	require.NoError(t, err)
	require.Zero(t, again, "nor by who did not look")
	require.True(t, robots.ExpiresAt.Equal(one[time.Time](t, b, "SELECT max(scheduled_for) FROM page_crawls")))
}
