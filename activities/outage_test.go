package activities_test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// outageOptions are of sites that are known to be dead within a second.
func outageOptions(sites ...web.Site) options {
	return options{
		sites:  sites,
		limits: fetch.Config{ConnectTimeout: 500 * time.Millisecond},
		network: network.New(network.Config{
			Jitter: rand.Float64, EvidenceTimeout: time.Second, DoubtLimit: 3 * time.Second,
		}),
	}
}

// needLinux skips a test that takes the web's network away, which no other system can.
func needLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can take the web's network away")
	}
}

// eachSite is a bundle for each site of the web.
func (b *testBundle) eachSite() []*testBundle {
	var all []*testBundle
	for _, host := range b.web.Hosts() {
		site := *b
		site.site = host
		all = append(all, &site)
	}
	return all
}

// crawlOnce calls the activity that each site needs, at the same time.
func crawlOnce(t *testing.T, sites []*testBundle) []error {
	t.Helper()
	errs := make([]error, len(sites))
	var asking sync.WaitGroup
	for i, s := range sites {
		asking.Go(func() {
			var res activities.FetchPagesResult
			if res, errs[i] = s.fetchPages(t, 50); errs[i] == nil && res.Next == activities.StepRobots {
				_, errs[i] = s.fetchRobots(t, activities.FetchRobotsInput{Domain: s.site, Origin: originOf(t, s.page("/"))})
			}
		})
	}
	asking.Wait()
	return errs
}

func requireNetworkDown(t *testing.T, err error) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, activities.TypeNetworkDown, app.Type())
	require.Equal(t, temporal.ApplicationErrorCategoryBenign, app.Category())
	require.False(t, app.NonRetryable())
	require.Less(t, app.NextRetryDelay(), 40*time.Second)
}

// While this machine's network is away, sites are not charged with it, whatever was
// under way; and when it is back they are crawled as if nothing had been.
func TestOutage(t *testing.T) {
	t.Parallel()
	needLinux(t)
	for name, at := range map[string]struct{ sites, before int }{
		"BeforeRobotsOfManySites":   {5, 0},
		"BeforeThePagesOfManySites": {5, 1},
		"OfOneSite":                 {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sites := make([]web.Site, at.sites)
			for i := range sites {
				sites[i] = web.Site{Pages: 4, Plain: true}
			}
			b := setup(t, outageOptions(sites...))
			all := b.eachSite()
			for _, s := range all {
				s.seed(t, "/")
			}
			for range at.before {
				for _, err := range crawlOnce(t, all) {
					require.NoError(t, err)
				}
			}
			history := b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL AND outcome <> 'skipped'")
			time.Sleep(time.Second)

			require.NoError(t, b.web.Disconnect())
			asked := len(b.web.Log())
			for range 2 {
				for _, err := range crawlOnce(t, all) {
					requireNetworkDown(t, err)
				}
			}
			require.Equal(t, history, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NOT NULL AND outcome <> 'skipped'"))
			require.Zero(t, b.count(t, "SELECT count(*) FROM robots WHERE failures > 0"))
			require.Zero(t, b.count(t, "SELECT count(*) FROM domain_health WHERE health -> 'errors' IS NOT NULL AND (health ->> 'errors')::int > 0"))
			for _, s := range all {
				s.requireNothingInFlight(t)
			}
			require.Len(t, b.web.Log(), asked)

			require.NoError(t, b.web.Reconnect())
			wait.Until(t, func() bool {
				crawlOnce(t, all)
				return b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL") == 0
			}, time.Minute, 100*time.Millisecond)
			for _, s := range all {
				require.Len(t, s.pages(), 5, s.site)
				for _, target := range s.pages() {
					crawls := s.report(t, target).Crawls
					require.Len(t, crawls, 1, target)
					require.Equal(t, crawl.OutcomeSuccess, crawls[0].Outcome)
				}
			}
		})
	}
}

// A request that times out within seconds is not judged by responses from before it.
func TestOutageDuringRequestsWithAShortTimeout(t *testing.T) {
	t.Parallel()
	needLinux(t)
	sites := make([]web.Site, 4)
	for i := range sites {
		sites[i] = web.Site{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/":     html("<title>Front</title>", "The first page", "/slow"),
			"/slow": serve(func(v *web.Visit) { <-v.R.Context().Done() }),
		}}
	}
	o := outageOptions(sites...)
	o.limits.TotalTimeout = 2 * time.Second
	b := setup(t, o)
	all := b.eachSite()
	for _, s := range all {
		s.seed(t, "/")
	}
	crawlOnce(t, all) // robots.txt
	ended := make(chan []error)
	go func() { ended <- crawlOnce(t, all) }()
	wait.Until(t, func() bool { return len(b.web.Log().Pages()) == 2*len(all) }, time.Minute, time.Millisecond)
	require.NoError(t, b.web.Disconnect())
	for _, err := range <-ended {
		requireNetworkDown(t, err)
	}
	require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome = 'timeout'"))
	require.Equal(t, len(all), b.count(t, "SELECT count(*) FROM page_crawls WHERE skipped = 'undone'"))
}

// A site that is dead while others answer is charged at once.
func TestADeadSiteBesideHealthyOnes(t *testing.T) {
	t.Parallel()
	needLinux(t)
	o := outageOptions(web.Site{Pages: 2, Plain: true}, web.Site{Pages: 100, Plain: true})
	o.settings.Delay = new(settings.Duration(20 * time.Millisecond))
	b := setup(t, o)
	dead, healthy := b.eachSite()[0], b.eachSite()[1]
	for _, s := range []*testBundle{dead, healthy} {
		s.seed(t, "/")
		s.allowAll(t, s.page("/"))
	}
	require.NoError(t, b.web.Disconnect(dead.site))
	errs := crawlOnce(t, []*testBundle{dead, healthy})
	require.NoError(t, errs[1])
	requireSiteFailure(t, errs[0])
	crawls := dead.report(t, "/").Crawls
	require.Equal(t, crawl.OutcomeTimeout, crawls[len(crawls)-1].Outcome)
}

// One that is asked alone has the benefit of the doubt for a while.
func TestADeadSiteAlone(t *testing.T) {
	t.Parallel()
	needLinux(t)
	b := setup(t, outageOptions(web.Site{Pages: 2, Plain: true}))
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	require.NoError(t, b.web.Disconnect(b.site))
	began := time.Now()
	for {
		_, err := b.fetchPages(t, 50)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		if app.Type() == activities.TypeSiteFailure {
			break
		}
		requireNetworkDown(t, err)
		require.Less(t, time.Since(began), 20*time.Second)
	}
	require.Greater(t, time.Since(began), 3*time.Second)

	b.acts = b.worker(t, outageOptions())
	b.exec(t, "UPDATE politeness_slots SET free_at = now() WHERE holder IS NULL")
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
	_, err := b.fetchPages(t, 50)
	requireSiteFailure(t, err) // another worker does not begin anew
}

// crawlUntil calls the activities that sites need until something holds.
func crawlUntil(t *testing.T, sites []*testBundle, holds func() bool) {
	t.Helper()
	wait.Until(t, func() bool {
		crawlOnce(t, sites)
		return holds()
	}, 20*time.Second, 10*time.Millisecond)
}

// Names that cannot be resolved, and are all that is left of a run, are no outage for
// ever.
func TestNamesThatAreNeverFound(t *testing.T) {
	t.Parallel()
	for name, healthy := range map[string]bool{"Alone": false, "OnceTheOthersAreDone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sites := []web.Site{{DNS: web.DNSServFail}, {DNS: web.DNSServFail}, {DNS: web.DNSServFail}}
			if healthy {
				sites = append(sites, web.Site{Pages: 1, Plain: true})
			}
			b := setup(t, outageOptions(sites...))
			all := b.eachSite()
			for _, s := range all {
				s.seed(t, "/")
			}
			if healthy {
				crawlUntil(t, all[3:], func() bool { return len(all[3].pages()) == 2 })
			}
			crawlUntil(t, all[:3], func() bool { return b.count(t, "SELECT count(*) FROM robots WHERE failures > 0") == 3 })
		})
	}
}

// While all name servers fail, hosts that are cached are crawled, and the others cost
// nothing, however long.
func TestOutageOfTheResolver(t *testing.T) {
	t.Parallel()
	o := outageOptions(web.Site{Pages: 500, Plain: true}, web.Site{Pages: 1, Plain: true}, web.Site{Pages: 1, Plain: true})
	b := setup(t, o)
	all := b.eachSite()
	for _, s := range all {
		s.seed(t, "/")
	}
	crawlUntil(t, all[:1], func() bool { return len(all[0].pages()) > 0 })
	b.web.FailNames(true)
	for began := time.Now(); time.Since(began) < 8*time.Second; {
		for _, err := range crawlOnce(t, all[1:]) {
			requireNetworkDown(t, err)
		}
		before := len(all[0].pages())
		_, err := all[0].fetchPages(t, 5)
		require.NoError(t, err)
		require.Greater(t, len(all[0].pages()), before)
	}
	require.Zero(t, b.count(t, "SELECT count(*) FROM robots WHERE failures > 0"))
	require.Zero(t, b.count(t, "SELECT count(*) FROM domain_health WHERE health -> 'penalty' IS NOT NULL"))
	o.resolve = func(r activities.Resolver) activities.Resolver {
		hosts, err := b.store.ReachedHosts(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{all[0].site}, hosts)
		r.(*dns.Resolver).AddKnownHosts(hosts)
		return r
	}
	o.network = outageOptions().network
	restarted := *all[1]
	restarted.acts = b.worker(t, o)
	for range 2 {
		requireNetworkDown(t, crawlOnce(t, []*testBundle{&restarted})[0])
	}
	require.Zero(t, b.count(t, "SELECT count(*) FROM robots WHERE failures > 0"))
	b.web.FailNames(false)
	crawlUntil(t, all[1:], func() bool { return len(all[1].pages())+len(all[2].pages()) == 4 })
}

// An outage that lasts for longer than a site alone has the benefit of the doubt costs
// nothing either, if the name that was found is not found any more.
func TestALongOutageOfOneSite(t *testing.T) {
	t.Parallel()
	needLinux(t)
	b := setup(t, outageOptions(web.Site{Pages: 2, Plain: true}))
	b.seed(t, "/")
	crawlUntil(t, []*testBundle{b}, func() bool { return len(b.pages()) > 0 })
	b.seed(t, "/p/later")
	require.NoError(t, b.web.Disconnect())
	for began := time.Now(); time.Since(began) < 8*time.Second; {
		_, err := b.fetchPages(t, 50)
		requireNetworkDown(t, err)
	}
	require.NoError(t, b.web.Reconnect())
	crawlUntil(t, []*testBundle{b}, func() bool { return b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL") == 0 })
	require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IN ('failed', 'timeout')"))
}

// withoutIPv6 is a machine without IPv6.
type withoutIPv6 struct{ activities.Fetcher }

func (f withoutIPv6) Do(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	if r.Addr.Is6() {
		return nil, &fetch.Error{Cause: fetch.CauseFamily, Msg: "this machine has no route to IPv6 addresses", EndedAt: time.Now()}
	}
	return f.Fetcher.Do(ctx, r)
}

// TestAHostOfAnotherFamily checks that a host with only an IPv6 address counts as unreachable from
// a machine without an IPv6 route. The failure does not stay in doubt forever.
func TestAHostOfAnotherFamily(t *testing.T) {
	t.Parallel()
	o := outageOptions(web.Site{Pages: 2, Plain: true})
	six := netip.MustParseAddr("2001:db8::7")
	o.allow = netip.PrefixFrom(six, six.BitLen())
	o.wrap = func(f activities.Fetcher) activities.Fetcher { return withoutIPv6{f} }
	o.resolve = func(activities.Resolver) activities.Resolver { return portal{six} }
	b := setup(t, o)
	b.seed(t, "/")
	crawlUntil(t, []*testBundle{b}, func() bool {
		return b.count(t, "SELECT count(*) FROM robots WHERE failures > 0 AND reason LIKE '%no route to IPv6%'") == 1
	})
}

// A site that has been unreachable for long is given up, so that its run ends: the breaker
// alone would take most of an hour.
func TestASiteOutOfReachIsGivenUp(t *testing.T) {
	t.Parallel()
	needLinux(t)
	o := outageOptions(web.Site{Pages: 2, Plain: true})
	o.network = nil // spares none
	b := setup(t, o)
	b.seed(t, "/", "/p/1")
	b.allowAll(t, b.page("/"))
	require.NoError(t, b.web.Disconnect(b.site))
	_, err := b.fetchPages(t, 50)
	requireSiteFailure(t, err)
	b.age(t, 7*time.Minute)
	b.exec(t, `UPDATE domain_health SET health = jsonb_set(health, '{connections_failing_since}', to_jsonb(now() - interval '7 minutes'))`)
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
	res, err := b.fetchPages(t, 50)
	require.NoError(t, err)
	require.Equal(t, activities.StepFinish, res.Next)
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	require.Equal(t, crawl.DomainUnreachable, d.Status)
	require.Contains(t, d.Reason, "unreachable for 7m")
	require.InDelta(t, time.Hour, time.Until(d.DeferredUntil), float64(time.Minute))
}

// A request that is taken back is followed by the wait that the domain's earlier answers
// have earned, as any other is.
func TestARequestUndoneKeepsTheDomainsPace(t *testing.T) {
	t.Parallel()
	needLinux(t)
	for name, health := range map[string]string{
		"Penalty": `{"penalty": "40s"}`, "Slowdown": `{"slowdown": "40s"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, outageOptions(web.Site{Pages: 2, Plain: true}))
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			b.exec(t, "INSERT INTO domain_health (domain, health) VALUES ($1, $2)", b.site, health)
			require.NoError(t, b.web.Disconnect(b.site))
			_, err := b.fetchPages(t, 50)
			requireNetworkDown(t, err)
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Greater(t, time.Until(d.SlotFree), 30*time.Second)
		})
	}
}
