package activities_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/manners/web"
)

// portal answers every name with one address, as a network does that wants a login
// first.
type portal struct{ addr netip.Addr }

func (p portal) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{p.addr}, nil
}

// What our own rule does not let be asked is nothing about the site: its domain is
// deferred, says why, and nothing of it is closed.
func TestRefusedAddress(t *testing.T) {
	t.Parallel()

	deferred := activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish, Reason: reasons.Deferred}}
	finish := func(t *testing.T, b *testBundle) {
		t.Helper()
		res, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain,
			activities.FinishDomainInput{Domain: b.site, Reason: "deferred"})
		require.NoError(t, err)
		require.True(t, res.Finished)
	}
	requireDeferred := func(t *testing.T, b *testBundle, addr string, wait time.Duration) {
		t.Helper()
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainPending, d.Status)
		require.Equal(t, b.site+" has the address "+addr+", which is not public: --allow-network "+
			addr+"/32 permits requests to it", d.Reason)
		require.WithinDuration(t, time.Now().Add(wait), d.DeferredUntil, 10*time.Second)
		require.Empty(t, d.Robots, "it is not the site's robots.txt that cannot be read")
		require.EqualValues(t, 2, d.Pending)
		for _, target := range []string{"/", "/p/1"} {
			require.Len(t, b.report(t, target).Crawls, 1)
			require.Empty(t, b.report(t, target).Crawls[0].Outcome)
		}
		due, _, err := b.store.NextDue(t.Context(), b.run.ID)
		require.NoError(t, err)
		require.WithinDuration(t, d.DeferredUntil, due, 0)
	}

	t.Run("OfARobotsDefersTheDomain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{private: true, sites: []web.Site{{Pages: 2, Plain: true}}})
		b.seed(t, "/", "/p/1")
		res, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.True(t, res.Done)
		require.Contains(t, res.Detail, "--allow-network ")
		next, err := b.fetchPages(t, 9)
		require.NoError(t, err)
		requireUntil(t, 15*time.Minute, &next)
		require.Equal(t, deferred, next)
		finish(t, b)
		addr, _ := b.web.Addr(b.site)
		requireDeferred(t, b, addr.String(), 15*time.Minute)
		require.Empty(t, b.web.Log())
	})

	t.Run("OfAPageDefersTheDomain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true}}})
		addr := netip.MustParseAddr("10.20.30.40")
		b.acts = b.worker(t, options{resolve: func(activities.Resolver) activities.Resolver { return portal{addr} }})
		b.seed(t, "/", "/p/1")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 9)
		require.NoError(t, err)
		requireUntil(t, 15*time.Minute, &res)
		require.Equal(t, deferred, res)
		b.requireNothingInFlight(t)
		facts, err := b.store.PageFacts(t.Context(), b.site, b.page("/"))
		require.NoError(t, err)
		why := decide.Attempt(decide.Facts{Facts: facts}, facts.Now)
		require.Equal(t, decide.Finish, why.Action)
		require.Contains(t, why.Explanation, "the domain is deferred ("+b.site+" has the address 10.20.30.40, which is not public: ")
	})

	t.Run("ForAnHourIsDeferredForAnother", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{private: true, sites: []web.Site{{Pages: 2, Plain: true}}})
		b.seed(t, "/", "/p/1")
		refuse := func() {
			_, err := b.fetchRobots(t, b.robotsInput(t))
			require.NoError(t, err)
			finish(t, b)
		}
		refuse()
		addr, _ := b.web.Addr(b.site)
		b.exec(t, "UPDATE domains SET refused_since = now() - interval '1 hour', next_crawl_after = NULL")
		refuse()
		b.exec(t, "DELETE FROM robots")
		requireDeferred(t, b, addr.String(), time.Hour)

		// an answer of it since shows that it is the network's fault again
		b.exec(t, `INSERT INTO domain_health (domain, health) VALUES ($1, '{}')`, b.site)
		b.exec(t, "UPDATE domains SET next_crawl_after = NULL")
		refuse()
		requireDeferred(t, b, addr.String(), 15*time.Minute)
	})

	t.Run("ThatMayBeAskedNowIsAskedAtOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{private: true, sites: []web.Site{{Pages: 2, Plain: true}}})
		b.seed(t, "/", "/p/1")
		_, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		finish(t, b)
		n, err := b.store.PermitNetworks(t.Context(), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
		require.NoError(t, err)
		require.Zero(t, n, "another network")
		claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 9)
		require.NoError(t, err)
		require.Empty(t, claimed)

		n, err = b.store.PermitNetworks(t.Context(), []netip.Prefix{b.web.Network()})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		claimed, err = b.store.ClaimDomains(t.Context(), b.run.ID, 9)
		require.NoError(t, err)
		require.Equal(t, []string{b.site}, claimed)
		b.acts = b.worker(t, options{})
		b.readRobots(t)
		res, err := b.fetchPages(t, 9)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		require.Equal(t, []string{"/", "/p/1", "/p/2"}, b.pages())
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Empty(t, d.Reason)
	})
}

// requireUntil asserts for how long a domain is put off, and takes that out of the result.
func requireUntil(t *testing.T, want time.Duration, res *activities.FetchPagesResult) {
	t.Helper()
	require.InDelta(t, want.Seconds(), time.Duration(res.Wait).Seconds(), 30)
	res.Wait = 0
}
