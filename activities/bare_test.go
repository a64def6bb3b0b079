package activities_test

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/manners/web"
)

// storeSeeds stores seeds as a person writes them.
func (b *testBundle) storeSeeds(t *testing.T, run string, raw ...string) activities.StoreSeedsResult {
	t.Helper()
	res, err := activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds, activities.StoreSeedsInput{Run: run, URLs: raw})
	require.NoError(t, err)
	return res
}

// pass lets time pass for what is stored.
func (b *testBundle) pass(t *testing.T, by time.Duration) {
	t.Helper()
	b.age(t, by)
	b.exec(t, "UPDATE page_crawls SET scheduled_for = scheduled_for - $1::interval WHERE outcome IS NULL", by)
}

// work repeats the steps of the domain's workflow, skips its waits and returns their sum. It ends
// when the workflow would end, or would sleep for an hour.
func (b *testBundle) work(t *testing.T) (waited time.Duration) {
	t.Helper()
	wait := func(d time.Duration) {
		b.pass(t, d+time.Millisecond)
		waited += d
	}
	var in *activities.FetchRobotsInput
	for range 400 {
		var err error
		var pages activities.FetchPagesResult
		var robots activities.FetchRobotsResult
		if in != nil {
			robots, err = b.fetchRobots(t, *in)
		} else {
			pages, err = b.fetchPages(t, 1)
		}
		switch {
		case err != nil:
			wait(requireSiteFailure(t, err))
		case in != nil && robots.Done:
			in = nil
		case in != nil:
			in = &activities.FetchRobotsInput{
				Domain: in.Domain, Origin: in.Origin, URL: robots.URL, Hops: robots.Hops, Queued: robots.Queued,
			}
			wait(time.Duration(robots.Wait))
		case pages.Next == activities.StepRobots:
			in = &activities.FetchRobotsInput{Domain: b.site, Origin: pages.Origin}
		case pages.Next == activities.StepFinish, time.Duration(pages.Wait) >= time.Hour:
			return waited
		default:
			wait(time.Duration(pages.Wait) + time.Second) // less what is waited in the process
		}
	}
	require.Fail(t, "no end", "%v", b.log())
	return waited
}

// A host without a scheme is asked by https, and by http where that cannot be reached.
func TestSeedWithoutAScheme(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 3, Plain: true}}})
	plain := b.page("/")
	host := strings.TrimSuffix(strings.TrimPrefix(plain, "http://"), "/")
	secure := "https://" + host + "/"
	crawlsOf := func(run, url string) int {
		t.Helper()
		return b.count(t, `SELECT count(*) FROM page_crawls c JOIN crawl_runs r ON r.id = c.run_id
			WHERE r.name = $1 AND c.url = $2 AND NOT c.prerequisite`, run, url)
	}
	require.Equal(t, 1, b.storeSeeds(t, runName, host).Added)
	_, err := b.store.ClaimDomains(t.Context(), b.run.ID, 100)
	require.NoError(t, err)
	b.work(t)
	require.Len(t, b.pages(), 4)
	for _, target := range b.pages() {
		require.Equal(t, crawl.OutcomeSuccess, b.report(t, target).Crawls[0].Outcome)
	}
	page, err := b.store.Page(t.Context(), b.site, secure)
	require.NoError(t, err)
	require.Len(t, page.Crawls, 1)
	require.Equal(t, reasons.Scheme, page.Crawls[0].Skipped)
	require.Contains(t, page.Crawls[0].Error, "http is requested instead")
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'robots' AND url LIKE 'https:%'"),
		"a port that speaks no TLS need not be asked twice")

	second := func(name string) {
		t.Helper()
		_, err := b.store.EnsureRun(t.Context(), name, "test", settings.Settings{})
		require.NoError(t, err)
		require.Equal(t, 1, b.storeSeeds(t, name, host).Added)
	}
	second("soon")
	require.Equal(t, 1, crawlsOf("soon", plain), "what was found out holds for a while")
	require.Zero(t, crawlsOf("soon", secure))
	b.pass(t, 25*time.Hour)
	second("later")
	require.Zero(t, crawlsOf("later", plain))
	require.Equal(t, 1, crawlsOf("later", secure), "but not for good")
}

// One that says https:// is not asked by http.
func TestSeedWithAScheme(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 3, Plain: true}}})
	secure := strings.Replace(b.page("/"), "http://", "https://", 1)
	b.seedURLs(t, secure)
	res, err := b.fetchPages(t, 50)
	require.NoError(t, err)
	require.Equal(t, activities.StepRobots, res.Next)
	_, err = b.fetchRobots(t, activities.FetchRobotsInput{Domain: b.site, Origin: res.Origin})
	requireSiteFailure(t, err)
	require.Empty(t, b.pages())

	// also of a host that was given without one, too
	host := strings.TrimSuffix(strings.TrimPrefix(secure, "https://"), "/")
	require.Equal(t, 1, b.storeSeeds(t, runName, host+"/bare").Added)
	b.work(t)
	require.Equal(t, []string{"/bare"}, b.pages())
}

// schemes is a site that speaks https and http. Each of its requests by https is reset
// while broken says so; those by http are redirected to https if redirects is set.
type schemes struct {
	*testBundle

	host   string
	broken *atomic.Int64
	plain  *atomic.Int64
}

func bareSite(t *testing.T, broken int64, redirects bool, o options) schemes {
	t.Helper()
	s := schemes{broken: new(atomic.Int64), plain: new(atomic.Int64)}
	s.broken.Store(broken)
	meet := func(then func(*web.Visit)) web.Behaviour {
		return serve(func(v *web.Visit) {
			switch {
			case v.Secure() && s.broken.Add(-1) >= 0:
				v.Reset()
			case v.Secure():
				then(v)
			case redirects:
				s.plain.Add(1)
				http.Redirect(v.W, v.R, "https://"+v.R.Host+v.R.RequestURI, http.StatusMovedPermanently)
			default:
				s.plain.Add(1)
				then(v)
			}
		})
	}
	o.sites = []web.Site{{
		Pages: 2, Plain: true, TLS: web.TLSValid, TLSOrHTTP: true, Behaviour: meet((*web.Visit).Answer),
		Paths: map[string]web.Behaviour{"/robots.txt": meet(says("User-agent: *\nAllow: /\n"))},
	}}
	s.testBundle = setup(t, o)
	s.trust(t, o)
	s.host = strings.TrimPrefix(originOf(t, s.page("/")), "https://")
	require.Equal(t, 1, s.storeSeeds(t, runName, s.host).Added)
	_, err := s.store.ClaimDomains(t.Context(), s.run.ID, 100)
	require.NoError(t, err)
	return s
}

// trust has the worker trust the certificates of the web.
func (b *testBundle) trust(t *testing.T, o options) {
	t.Helper()
	o.limits.RootCAs = x509.NewCertPool()
	require.True(t, o.limits.RootCAs.AppendCertsFromPEM(b.web.RootCA()))
	b.acts = b.worker(t, o)
}

// requireCrawled checks that all pages were crawled by a scheme.
func (s schemes) requireCrawled(t *testing.T, scheme string) {
	t.Helper()
	for _, target := range []string{"/", "/p/1", "/p/2"} {
		require.Equal(t, 1, s.count(t, `SELECT count(*) FROM page_crawls
			WHERE url = $1 AND outcome = 'success' AND status_code = 200 AND NOT prerequisite`, scheme+s.host+target), target)
	}
	require.Zero(t, s.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL"))
}

func TestSeedWithoutASchemeThatFails(t *testing.T) {
	t.Parallel()

	t.Run("AResetIsTriedAgainByHTTPS", func(t *testing.T) {
		t.Parallel()
		s := bareSite(t, 3, true, options{})
		s.work(t)
		s.requireCrawled(t, "https://")
		require.Zero(t, s.plain.Load(), "http is not asked")
	})

	t.Run("WhatHTTPRedirectsToIsCrawledByHTTPSAfterAll", func(t *testing.T) {
		t.Parallel()
		s := bareSite(t, 4, true, options{})
		waited := s.work(t)
		s.requireCrawled(t, "https://")
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM page_crawls WHERE skipped = 'scheme'"))
		require.Less(t, waited, 5*time.Minute)
	})

	t.Run("OneOfHTTPAloneIsFoundSoon", func(t *testing.T) {
		t.Parallel()
		s := bareSite(t, 1000, false, options{settings: settings.Settings{Delay: new(settings.Duration(10 * time.Second))}})
		waited := s.work(t)
		s.requireCrawled(t, "http://")
		require.EqualValues(t, 1000-4, s.broken.Load(), "as often as any robots.txt that cannot be read")
		require.Less(t, waited, 10*time.Minute)
	})

	t.Run("SeedingItWithItsSchemeAsksByHTTPS", func(t *testing.T) {
		t.Parallel()
		s := bareSite(t, 4, false, options{})
		s.work(t)
		s.requireCrawled(t, "http://")
		require.Equal(t, 1, s.storeSeeds(t, runName, "https://"+s.host).Added)
		s.work(t)
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM page_crawls WHERE url = $1 AND outcome = 'success'", "https://"+s.host+"/"))
	})

	t.Run("SeedingItAgainAsksByHTTPSOnceThatIsDue", func(t *testing.T) {
		t.Parallel()
		s := bareSite(t, 4, false, options{})
		s.work(t)
		require.Zero(t, s.storeSeeds(t, runName, s.host).Added, "http is known to be meant")
		s.pass(t, 25*time.Hour)
		require.Equal(t, 1, s.storeSeeds(t, runName, s.host).Added)
		s.work(t)
		require.Equal(t, 1, s.count(t, "SELECT count(*) FROM page_crawls WHERE url = $1 AND outcome = 'success'", "https://"+s.host+"/"))
	})

	t.Run("ANameThatCannotBeResolvedSaysNothingOfTheScheme", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			why     error
			lookups int64
		}{"failing": {dns.ErrTemporary, 4}, "missing": {dns.ErrNotFound, 1}} {
			var down atomic.Int64
			down.Store(c.lookups)
			s := bareSite(t, 0, true, options{resolve: func(r activities.Resolver) activities.Resolver {
				return failingNames{r, &down, c.why}
			}})
			s.exec(t, "UPDATE domains SET claim_expires_at = now() - interval '1 s'") // as of a domain without a workflow
			s.filterSeeds(t)
			require.Equal(t, c.lookups-1, down.Load(), name)
			s.work(t)
			s.pass(t, 2*time.Hour)
			s.work(t)
			s.requireCrawled(t, "https://")
			require.Zero(t, s.plain.Load(), name)
		}
	})
}

// failingNames cannot resolve any name so many times.
type failingNames struct {
	activities.Resolver

	times *atomic.Int64
	why   error
}

// Lookup implements activities.Resolver.
func (f failingNames) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if f.times.Add(-1) >= 0 {
		return nil, f.why
	}
	return f.Resolver.Lookup(ctx, host)
}
