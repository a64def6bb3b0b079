package activities_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/manners/web"
)

// turns answers robots.txt with one behaviour after the other; the last stays.
type turns struct {
	web.Healthy

	answers []func(v *web.Visit)
}

func (b turns) Serve(v *web.Visit) { b.answers[min(v.Attempt, len(b.answers))-1](v) }

// says answers with a robots.txt and headers.
func says(text string, header ...string) func(*web.Visit) {
	return func(v *web.Visit) {
		v.W.Header().Set("Content-Type", "text/plain")
		for i := 0; i < len(header); i += 2 {
			v.W.Header().Set(header[i], header[i+1])
		}
		v.Write([]byte(text))
	}
}

func status(code int) func(*web.Visit) {
	return func(v *web.Visit) { v.W.WriteHeader(code) }
}

// withRobots is a site whose robots.txt answers in turn.
func withRobots(answers ...func(*web.Visit)) options {
	return options{sites: []web.Site{{
		Pages: 3, Plain: true, Paths: map[string]web.Behaviour{"/robots.txt": turns{answers: answers}},
	}}}
}

// age lets time pass for the site and its robots.txt.
func (b *testBundle) age(t *testing.T, by time.Duration) {
	t.Helper()
	b.exec(t, `UPDATE robots SET fetched_at = fetched_at - $1::interval, expires_at = expires_at - $1::interval,
		read_at = read_at - $1::interval, failing_since = failing_since - $1::interval WHERE domain = $2`, by, b.site)
	b.exec(t, "UPDATE politeness_slots SET free_at = free_at - $1::interval WHERE key = 'domain:' || $2", by, b.site)
}

func TestRobotsLife(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour

	t.Run("HoldsAsLongAsItSaysWithinBounds", func(t *testing.T) {
		t.Parallel()
		for control, want := range map[string]time.Duration{
			"": day, "max-age=3600": time.Hour, "max-age=604800": day, "no-cache": 10 * time.Minute,
		} {
			b := setup(t, withRobots(says("User-agent: *\nDisallow: /x\n", "Cache-Control", control)))
			b.seed(t, "/")
			b.readRobots(t)
			r := b.robots(t)
			require.WithinDuration(t, r.FetchedAt.Add(want), r.ExpiresAt, time.Second, control)
		}
	})

	t.Run("IsAskedForWithConditions", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withRobots(
			says("User-agent: *\nDisallow: /p/2\nCrawl-delay: 0.5\n", "ETag", `"v1"`),
			func(v *web.Visit) {
				require.Equal(t, `"v1"`, v.R.Header.Get("If-None-Match"))
				v.W.Header().Set("Cache-Control", "max-age=7200")
				v.W.WriteHeader(http.StatusNotModified)
			},
		))
		b.seed(t, "/")
		b.readRobots(t)
		before := b.robots(t)
		b.age(t, 25*time.Hour)
		res := b.readRobots(t)
		require.Equal(t, crawl.RobotsRules, res.Verdict)
		r := b.robots(t)
		require.Equal(t, before.Rules, r.Rules)
		require.Equal(t, before.CrawlDelay, r.CrawlDelay)
		require.Equal(t, `"v1"`, r.ETag)
		require.Greater(t, r.Version, before.Version)
		require.Less(t, r.Age, time.Minute, "it has been read anew")
		require.WithinDuration(t, r.FetchedAt.Add(2*time.Hour), r.ExpiresAt, time.Second)
	})

	t.Run("ItsCopyHoldsForADayWhenItFails", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withRobots(says("User-agent: *\nDisallow: /p/2\n", "Cache-Control", "max-age=3600"), status(503)))
		b.seed(t, "/")
		b.readRobots(t)
		for i, age := range []time.Duration{2 * time.Hour, 8 * time.Hour, 13 * time.Hour} {
			b.age(t, age)
			res := b.readRobots(t)
			require.Equal(t, crawl.RobotsRules, res.Verdict)
			require.Contains(t, res.Detail, "status 503: the copy read")
			r := b.robots(t)
			require.Equal(t, i+1, r.Failures)
			require.LessOrEqual(t, r.ExpiresAt.Sub(r.FetchedAt), day-r.Age+time.Second, "never past its day")
			require.Contains(t, r.Rules, "/p/2")
		}
		b.age(t, 2*time.Hour)
		_, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err, "put off for hours, after so many failures")
		require.Equal(t, crawl.RobotsUnreachable, b.robots(t).Verdict, "after a day nothing is allowed")
		require.Empty(t, b.robots(t).Rules)
	})

	t.Run("IsReadAgainOnceASiteWithoutItRefuses", func(t *testing.T) {
		t.Parallel()
		o := withRobots(status(404), says("User-agent: *\nDisallow: /p/2\n"))
		o.sites[0].Paths["/p/1"], o.sites[0].Paths["/p/3"] = web.Status{Code: 404}, web.Status{Code: 403}
		b := setup(t, o)
		b.seed(t, "/p/1")
		b.readRobots(t)
		b.exec(t, "UPDATE robots SET version = version - $1", decide.RobotsLifetimeMin.Microseconds())
		b.work(t)
		b.seed(t, "/p/3")
		b.work(t)
		b.seed(t, "/p/2")
		require.Equal(t, crawl.RobotsAllowAll, b.robots(t).Verdict, "a missing page says nothing")
		b.work(t)
		require.Equal(t, crawl.RobotsRules, b.robots(t).Verdict)
		require.Equal(t, []string{"/p/1", "/p/3"}, b.pages())
	})

	t.Run("AFailureAMonthLaterIsOneMore", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withRobots(status(500), says("User-agent: *\nDisallow: /x\n")))
		b.seed(t, "/")
		_, err := b.fetchRobots(t, b.robotsInput(t))
		requireSiteFailure(t, err)
		b.age(t, 40*day) // nobody asked meanwhile
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
		require.Equal(t, crawl.RobotsRules, b.readRobots(t).Verdict)

		b = setup(t, withRobots(status(500)))
		b.seed(t, "/")
		for try := range 2 {
			_, err := b.fetchRobots(t, b.robotsInput(t))
			requireSiteFailure(t, err)
			require.Equal(t, try+1, b.robots(t).Failures)
			b.age(t, 40*day)
		}
		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainActive, dom.Status)
	})

	t.Run("PagesComeBackWhenItsRulesChange", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withRobots(
			says("User-agent: *\nDisallow: /p/1\nDisallow: /p/2\n"),
			says("User-agent: *\nDisallow: /p/1\nDisallow: /p/2\n"),
			says("User-agent: *\nDisallow: /p/2\n"),
		))
		b.seed(t, "/", "/p/1", "/p/2")
		b.readRobots(t)
		b.crawlAll(t, 10)
		require.ElementsMatch(t, []string{"/", "/p/3"}, b.pages())
		// without a page that is wanted, its robots.txt is not asked for
		b.seed(t, "/next-year")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 year' WHERE outcome IS NULL")
		b.age(t, 25*time.Hour)
		b.readRobots(t)
		require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL AND url NOT LIKE '%/next-year'"), "the same rules change nothing")
		b.age(t, 25*time.Hour)
		b.readRobots(t)
		require.Equal(t, 2, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL AND previous_id IS NOT NULL"))
		b.crawlAll(t, 10)
		require.ElementsMatch(t, []string{"/", "/p/3", "/p/1"}, b.pages())
		require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/p/2").Crawls[0].Outcome)
		require.Len(t, b.report(t, "/p/2").Crawls, 2)
	})

	t.Run("OneThatCannotBeUnderstoodMayBeTakenForNone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, withRobots(says("<!doctype html><title>Welcome</title><p>Hello")))
		b.seed(t, "/")
		require.Equal(t, crawl.RobotsDisallowAll, b.readRobots(t).Verdict)
		b.acts = b.worker(t, options{allowMalformed: true})
		b.age(t, 2*time.Second)
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepRobots, res.Next, "it is looked at again at once")
		require.Equal(t, crawl.RobotsAllowAll, b.readRobots(t).Verdict)
		delay := b.robots(t).CrawlDelay
		require.NotNil(t, delay)
		require.Equal(t, time.Second, time.Duration(*delay))
	})
}

// What a robots.txt said is kept as it was sent, for an audit, and named by each later
// fetch that has it hold.
func TestRobotsBodyIsKept(t *testing.T) {
	t.Parallel()
	const sent = "\xef\xbb\xbfUser-agent: *\r\nDisallow:\xa0/a\x00\r\n# for all \xff"
	failing := status(503)
	b := setup(t, options{sites: robotsFile(turns{answers: []func(*web.Visit){
		says(sent, "ETag", `"1"`), status(304), failing,
	}})})
	b.seed(t, "/a")
	for _, verdict := range []string{"read", "confirmed", "a copy"} {
		b.exec(t, "UPDATE robots SET expires_at = clock_timestamp()")
		_, err := b.followRobots(t)
		require.NoError(t, err, verdict)
		text, err := b.store.RobotsText(t.Context(), originOf(t, b.page("/")), b.robots(t).Version)
		require.NoError(t, err, verdict)
		require.Equal(t, []byte(sent), text.Body, verdict)
	}
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM robots_history"))
	require.Equal(t, 1, b.count(t, "SELECT count(DISTINCT body_hash) FROM robots_history"))
}
