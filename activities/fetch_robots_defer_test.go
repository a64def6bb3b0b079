package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// plainly is a URL of https by http.
func plainly(secure string) string { return "http" + strings.TrimPrefix(secure, "https") }

// The unit of politeness is the domain: what one of its origins asks for with a
// Retry-After holds for the others, too, and is not slept through in the workflow.
func TestRobotsOfADomainThatAsksToBeLeftAlone(t *testing.T) {
	t.Parallel()
	const asked = 2 * time.Hour
	// away is a domain with two origins. The https one asks for a wait.
	away := func(t *testing.T) *testBundle {
		t.Helper()
		o := options{sites: []web.Site{{
			Pages: -1, Plain: true, TLS: web.TLSValid, TLSOrHTTP: true,
			Paths: map[string]web.Behaviour{"/robots.txt": serve(func(v *web.Visit) {
				if v.Secure() {
					web.Status{Code: 503, RetryAfter: asked}.Serve(v)
					return
				}
				says("User-agent: *\nAllow: /\n")(v)
			})},
		}}}
		b := setup(t, o)
		b.trust(t, o)
		b.seedURLs(t, b.page("/"), plainly(b.page("/")))
		res, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.True(t, res.Done)
		require.Equal(t, crawl.RobotsUnreachable, res.Verdict)
		return b
	}
	// redirecting is one whose robots.txt is at another domain, which has asked for it.
	redirecting := func(t *testing.T) *testBundle {
		t.Helper()
		const other = "other.test"
		b := setup(t, options{sites: []web.Site{
			{Host: "from.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
				"/robots.txt": web.Redirect{To: "http://" + other + "{port}/robots.txt"},
			}},
			{Host: other, Pages: -1, Plain: true},
		}})
		b.seed(t, "/")
		b.exec(t, "INSERT INTO politeness_slots (key, free_at, reason) VALUES ('domain:' || $1, now() + $2::interval, 'retry-after')",
			other, asked)
		return b
	}
	requireDeferral := func(t *testing.T, b *testBundle, deferred bool, wait settings.Duration, why reasons.Reason) {
		t.Helper()
		require.True(t, deferred)
		require.InDelta(t, asked, time.Duration(wait), float64(time.Minute))
		require.Equal(t, reasons.RetryAfter, why)
		require.Len(t, b.web.Log(), 1)
	}

	t.Run("IsDeferredBeforeTheNextOrigin", func(t *testing.T) {
		t.Parallel()
		b := away(t)
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		requireDeferral(t, b, res.Defer, res.Wait, res.Reason)
		finished, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain,
			activities.FinishDomainInput{Domain: b.site, Defer: true, Wait: res.Wait, Reason: string(res.Reason)})
		require.NoError(t, err)
		require.True(t, finished.Finished)

		// its time comes
		b.exec(t, "UPDATE domains SET next_crawl_after = now()")
		b.exec(t, "UPDATE run_domains SET next_due_at = now()")
		b.pass(t, asked)
		claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []string{b.site}, claimed)
		b.work(t)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE url = $1 AND outcome = 'success'", plainly(b.page("/"))))
	})

	t.Run("IsDeferredWhereTheNextIsAlreadyAskedFor", func(t *testing.T) {
		t.Parallel()
		b := away(t)
		res, err := b.fetchRobots(t, activities.FetchRobotsInput{Domain: b.site, Origin: originOf(t, plainly(b.page("/")))})
		require.NoError(t, err)
		require.False(t, res.Done)
		requireDeferral(t, b, res.Defer, res.Wait, res.Reason)
	})

	t.Run("IsDeferredWhereTheNextIsAskedForInTheProcess", func(t *testing.T) {
		t.Parallel()
		b := redirecting(t)
		activities.SpendEase(b.acts)
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		requireDeferral(t, b, res.Defer, res.Wait, res.Reason)
	})

	t.Run("IsDeferredWhereARedirectLeadsToSuchADomain", func(t *testing.T) {
		t.Parallel()
		b := redirecting(t)
		in := b.robotsInput(t)
		res, err := b.fetchRobots(t, in)
		require.NoError(t, err)
		in.URL, in.Hops = res.URL, res.Hops
		res, err = b.fetchRobots(t, in)
		require.NoError(t, err)
		requireDeferral(t, b, res.Defer, res.Wait, res.Reason)
	})
}
