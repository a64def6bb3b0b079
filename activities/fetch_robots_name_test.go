package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/manners/web"
)

// nameMissingFor makes it as if the site's name had first been missed so long ago.
func (b *testBundle) nameMissingFor(t *testing.T, by time.Duration) {
	t.Helper()
	b.exec(t, `UPDATE domain_health SET health = jsonb_set(health, '{dns_failing_since}', to_jsonb(now() - $1::interval))
		WHERE health ? 'dns_failing_since' AND domain = $2`, by, b.site)
	b.later(t)
}

// requireNoName fetches robots.txt of a host without a name: after one look-up it is put off for an
// hour.
func (b *testBundle) requireNoName(t *testing.T) {
	t.Helper()
	res, err := b.fetchRobots(t, b.robotsInput(t))
	require.NoError(t, err)
	require.True(t, res.Done)
	require.Equal(t, crawl.RobotsUnreachable, res.Verdict)
	r := b.robots(t)
	require.Contains(t, r.Reason, "no such host")
	require.WithinDuration(t, r.FetchedAt.Add(time.Hour), r.ExpiresAt, time.Hour)
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	require.Equal(t, crawl.DomainActive, d.Status)
}

func TestANameThatDoesNotExist(t *testing.T) {
	t.Parallel()
	gone := options{sites: []web.Site{{Pages: -1, Plain: true, DNS: web.DNSMissing}}}

	t.Run("TwiceAnHourApartMakesTheDomainUnreachable", func(t *testing.T) {
		t.Parallel()
		b := setup(t, gone)
		b.seed(t, "/")
		b.requireNoName(t)
		b.nameMissingFor(t, 59*time.Minute)
		b.requireNoName(t)
		for _, want := range []time.Duration{time.Hour, 2 * time.Hour} {
			b.nameMissingFor(t, 61*time.Minute)
			res, err := b.fetchRobots(t, b.robotsInput(t))
			require.NoError(t, err)
			require.True(t, res.Done)
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, crawl.DomainUnreachable, d.Status)
			require.Equal(t, "the host name does not exist", d.Reason)
			require.WithinDuration(t, time.Now().Add(want), d.DeferredUntil, time.Minute)
			pages, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, activities.StepFinish, pages.Next)
			_, err = activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain, activities.FinishDomainInput{Domain: b.site})
			require.NoError(t, err)

			// its time comes
			b.exec(t, "UPDATE domains SET next_crawl_after = now()")
			b.exec(t, "UPDATE run_domains SET next_due_at = now()")
			claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
			require.NoError(t, err)
			require.Equal(t, []string{b.site}, claimed)
			b.later(t)
			pages, err = b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, activities.StepRobots, pages.Next, "it is asked again")
		}
	})

	t.Run("LeavesADomainAloneOfWhichAnotherHostAnswers", func(t *testing.T) {
		t.Parallel()
		b := setup(t, gone)
		b.seed(t, "/")
		_, err := b.store.SaveRobots(t.Context(), crawl.Robots{
			Origin: "http://www." + b.site, Domain: b.site, Agent: agent, Verdict: crawl.RobotsAllowAll, Lifetime: crawl.Millis(time.Hour),
		})
		require.NoError(t, err)
		b.requireNoName(t)
		b.nameMissingFor(t, 24*time.Hour)
		b.requireNoName(t)
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainActive, d.Status)
	})
}

// What holds for a domain holds for its robots.txt, and for a redirect that leads
// there, also while none of its pages is due.
func TestRobotsOfADomainWithNothingDue(t *testing.T) {
	t.Parallel()
	const other = "other.test"
	redirecting := func(t *testing.T) *testBundle {
		t.Helper()
		return setup(t, options{sites: []web.Site{
			{Host: "from.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
				"/robots.txt": web.Redirect{To: "http://" + other + "{port}/robots.txt"},
			}},
			{Host: other, Pages: -1, Plain: true},
		}})
	}
	// hop makes the request that leads elsewhere, and then the one there.
	hop := func(t *testing.T, b *testBundle) activities.FetchRobotsResult {
		t.Helper()
		b.seed(t, "/")
		in := b.robotsInput(t)
		res, err := b.fetchRobots(t, in)
		require.NoError(t, err)
		require.Equal(t, 1, res.Hops)
		in.URL, in.Hops = res.URL, res.Hops
		res, err = b.fetchRobots(t, in)
		require.NoError(t, err)
		return res
	}
	closed := func(t *testing.T, b *testBundle) (time.Duration, string) {
		t.Helper()
		d, err := b.store.Domain(t.Context(), other)
		require.NoError(t, err)
		return time.Until(d.SlotFree), string(d.SlotReason)
	}

	t.Run("ARedirectObeysItsOwnDelay", func(t *testing.T) {
		t.Parallel()
		b := redirecting(t)
		require.NoError(t, b.control(other, crawl.ControlDelay, crawl.Millis(time.Minute)))
		require.True(t, hop(t, b).Done)
		left, why := closed(t, b)
		require.Greater(t, left, 30*time.Second)
		require.EqualValues(t, reasons.Domain, why)
	})

	t.Run("ARedirectObeysItsCrawlDelay", func(t *testing.T) {
		t.Parallel()
		b := redirecting(t)
		b.exec(t, "INSERT INTO domains (domain) VALUES ($1)", other)
		_, err := b.store.SaveRobots(t.Context(), crawl.Robots{
			Origin: "https://" + other, Domain: other, Agent: agent, Verdict: crawl.RobotsRules,
			CrawlDelay: new(crawl.Millis(time.Minute)), Lifetime: crawl.Millis(time.Hour),
		})
		require.NoError(t, err)
		require.True(t, hop(t, b).Done)
		left, why := closed(t, b)
		require.Greater(t, left, 30*time.Second)
		require.EqualValues(t, reasons.CrawlDelay, why)
	})

	t.Run("ARedirectObeysItsWindow", func(t *testing.T) {
		t.Parallel()
		b := redirecting(t)
		require.NoError(t, b.control(other, crawl.ControlWindow, closedWindow()))
		res := hop(t, b)
		require.False(t, res.Done)
		require.Equal(t, reasons.Window, res.Reason)
		require.Greater(t, time.Duration(res.Wait), time.Hour)
		require.Len(t, b.web.Log(), 1)
	})

	t.Run("ARedirectToADomainThatWasGivenUpIsNotFollowed", func(t *testing.T) {
		t.Parallel()
		b := redirecting(t)
		b.exec(t, `INSERT INTO domains (domain, status, status_reason, next_crawl_after)
			VALUES ($1, 'unreachable', 'the probe failed', now() + interval '1 day')`, other)
		b.seed(t, "/")
		in := b.robotsInput(t)
		res, err := b.fetchRobots(t, in)
		require.NoError(t, err)
		in.URL, in.Hops = res.URL, res.Hops
		_, err = b.fetchRobots(t, in)
		requireSiteFailure(t, err)
		require.ErrorContains(t, err, "redirects to other.test, which may not be requested: the domain is unreachable (the probe failed)")
		require.Len(t, b.web.Log(), 1)
	})

	t.Run("ItsOwnRobotsObeysDelayAndWindow", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 year'")
		require.NoError(t, b.control(b.site, crawl.ControlWindow, closedWindow()))
		require.NoError(t, b.control(b.site, crawl.ControlDelay, crawl.Millis(time.Minute)))
		res, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.True(t, res.Done, "the next step decides about the window")
		require.Equal(t, "the request window is closed", res.Detail)
		require.Empty(t, b.web.Log())
		require.NoError(t, b.store.LiftControls(t.Context(), b.site, "a test", crawl.ControlWindow))
		b.readRobots(t)
		left, why := b.slot(t)
		require.Greater(t, left, 30*time.Second)
		require.Equal(t, reasons.Domain, why)
	})
}

// closedWindow is a time of the week that is neither now nor soon.
func closedWindow() string {
	day := time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3]
	return day + " 00:00-24:00 UTC"
}
