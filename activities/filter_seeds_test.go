package activities_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// Seeds are looked at together: each host's robots.txt takes half a second, and
// all of them hardly longer.
func TestSeedsAreFiltered(t *testing.T) {
	t.Parallel()
	const hosts, latency = 30, 500 * time.Millisecond
	slowly := func(text string) web.Behaviour {
		return turns{answers: []func(*web.Visit){func(v *web.Visit) {
			v.Wait(latency)
			says(text)(v)
		}}}
	}
	var sites []web.Site
	for i := range hosts {
		text := "User-agent: *\nAllow: /\n"
		if i%2 == 0 {
			text = "User-agent: *\nDisallow: /\n"
		}
		sites = append(sites, web.Uniform(hosts, web.Site{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/robots.txt": slowly(text)}})[i])
	}
	sites = append(sites,
		web.Site{Host: "down.test", Pages: -1, Plain: true, Robots: web.RobotsError},
		web.Site{Host: "banned.test", Pages: -1, Plain: true, Robots: web.RobotsDisallow},
	)
	b := setup(t, options{sites: sites, settings: settings.Settings{Delay: new(settings.Duration(time.Minute))}})
	require.NoError(t, b.control("banned.test", crawl.ControlBlock, nil))
	in := activities.StoreSeedsInput{Run: runName, URLs: b.web.Seeds()}
	res, err := activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds, in)
	require.NoError(t, err)
	require.Equal(t, activities.StoreSeedsResult{Added: hosts + 2}, res)
	require.Equal(t, hosts/2, b.filterSeeds(t))
	log := slices.DeleteFunc(b.web.Log(), func(r web.Record) bool { return r.Status != http.StatusOK })
	require.Less(t, log[1].Start, log[0].End, "all at once, not one after the other")
	require.Empty(t, b.web.Log().Pages())
	require.Len(t, b.web.Log(), hosts+1, "one request a host, and none to the blocked one")
	require.Equal(t, hosts/2, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome = 'blocked_robots' AND error_message LIKE 'robots.txt line %'"))
	require.Equal(t, hosts+1, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'robots' AND delay_ms IS NOT NULL AND NOT lost"))

	// the domain is left alone as after any request
	b.site = b.web.Hosts()[1]
	res2, err := b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, activities.StepFetch, res2.Next)
	require.Greater(t, time.Duration(res2.Wait), 50*time.Second)

	again, err := activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds, in)
	require.NoError(t, err)
	require.Equal(t, activities.StoreSeedsResult{Known: hosts + 2}, again)
	require.Zero(t, b.filterSeeds(t))
	require.Len(t, b.web.Log(), hosts+1, "nor again")
}

// A block holds for robots.txt too.
func TestBlockedDomainsAreNotAskedForRobots(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	b.seed(t, "/")
	require.NoError(t, b.control(b.site, crawl.ControlBlock, nil))
	res := b.readRobots(t)
	require.Equal(t, "the domain is blocked by a test: asked to", res.Detail)
	require.Empty(t, b.web.Log())
}

// filterSeeds runs FilterSeeds, and returns how many seeds robots.txt forbids.
func (b *testBundle) filterSeeds(t *testing.T) int {
	t.Helper()
	in := activities.FilterSeedsInput{Run: runName}
	res, err := activityCall[activities.FilterSeedsResult](t, b.acts, b.acts.FilterSeeds, in)
	require.NoError(t, err)
	return res.Disallowed
}

// A host that hangs does not keep the seeds from being stored, and what it says in
// the end is stored too. No request outlasts its activity.
func TestSeedFilterDoesNotHoldUpSeeds(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := setup(t, options{sites: []web.Site{
		{Host: "slow.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/robots.txt": g}},
		{Host: "quick.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/robots.txt": turns{answers: []func(*web.Visit){says("User-agent: *\nDisallow: /\n")}},
		}},
	}})
	res, err := activityCall[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds,
		activities.StoreSeedsInput{Run: runName, URLs: b.web.Seeds()})
	require.NoError(t, err, "while the gate is closed")
	require.Equal(t, activities.StoreSeedsResult{Added: 2}, res)
	go func() {
		<-g.arrived
		close(g.open)
	}()
	require.Equal(t, 1, b.filterSeeds(t))
	_, err = b.store.Robots(t.Context(), originOf(t, b.web.URL("slow.test", "/")))
	require.NoError(t, err)
	b.site = "slow.test"
	b.requireNothingInFlight(t)
}
