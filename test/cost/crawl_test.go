package cost_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/request"
)

const (
	// companySize is the number of domains in one group: each domain makes a request, and all
	// requests are recorded together. 300 domains with a delay of one second make groups of
	// about ten.
	companySize = 10
	companies   = 5
	domains     = companies * companySize
	// batchPages is the number of pages that an activity fetches.
	batchPages = 10
)

// crawler crawls a web with the real activities, in place of Temporal.
type crawler struct {
	acts  *activities.Activities
	store *db.Store
	wire  *wire
	web   webProcess
	envs  map[string]*testsuite.TestActivityEnvironment // by host
}

func newCrawler(t *testing.T, url string) *crawler {
	t.Helper()
	c := &crawler{web: startWeb(t, domains), envs: map[string]*testsuite.TestActivityEnvironment{}}
	c.store, c.wire = openStore(t, url)
	c.store.SetLockstep(companySize)
	client, err := fetch.New(fetch.Config{
		UserAgent: "mosey/test (+https://example.org/bot)", AllowNetworks: []netip.Prefix{c.web.Network()},
	})
	require.NoError(t, err)
	resolver, err := dns.New(dns.Config{Servers: []string{c.web.dns}})
	require.NoError(t, err)
	c.acts, err = activities.New(activities.Config{
		Store: c.store, Starter: nobody{}, Agent: "mosey", Languages: language.New(models.Models{}),
		Requests: request.Config{
			Fetcher: client, Resolver: resolver, Log: slog.New(slog.DiscardHandler),
			Network: network.New(network.Config{Jitter: rand.Float64, DoubtLimit: -1}),
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { activities.Wait(c.acts) })
	for _, host := range c.web.Hosts() {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		c.envs[host] = suite.NewTestActivityEnvironment()
		c.envs[host].RegisterActivity(c.acts)
	}
	return c
}

// nobody is who would start workflows.
type nobody struct{}

func (nobody) StartCrawl(context.Context, string) error               { return nil }
func (nobody) StartDomain(context.Context, string, string, int) error { return nil }

// seed makes a run of all sites, each as a dispatcher would have found it.
func (c *crawler) seed(t *testing.T) {
	t.Helper()
	run, err := c.store.EnsureRun(t.Context(), "cost", "test", settings.Settings{
		Delay: new(settings.Duration(0)), IPDelay: new(settings.Duration(time.Millisecond)), LatencyFactor: new(float64),
	})
	require.NoError(t, err)
	seeds, err := urls.ParseAll(c.web.Seeds())
	require.NoError(t, err)
	added, err := c.store.AddSeeds(t.Context(), run.ID, seeds)
	require.NoError(t, err)
	require.Equal(t, domains, added)
	claimed, err := c.store.ClaimDomains(t.Context(), run.ID, domains)
	require.NoError(t, err)
	require.Len(t, claimed, domains)
}

// begin reads what comes before the pages of each domain, such as its robots.txt.
func (c *crawler) begin(t *testing.T) {
	t.Helper()
	c.inStep(func(host string) {
		for {
			res := call[activities.FetchPagesResult](t, c, host, c.acts.FetchPages, activities.FetchPagesInput{Domain: host, MaxPages: 1})
			if res.Next != activities.StepRobots {
				require.Equal(t, activities.StepFetch, res.Next, "%s: %+v", host, res)
				return
			}
			call[activities.FetchRobotsResult](t, c, host, c.acts.FetchRobots, res.Robots(host))
		}
	})
}

// crawl fetches some pages of each domain.
func (c *crawler) crawl(t *testing.T, each int) {
	t.Helper()
	for ; each > 0; each -= batchPages {
		pages := min(each, batchPages)
		c.inStep(func(host string) {
			res := call[activities.FetchPagesResult](t, c, host, c.acts.FetchPages, activities.FetchPagesInput{Domain: host, MaxPages: pages})
			require.Equal(t, activities.StepFetch, res.Next, "%s: %+v", host, res)
			require.Equal(t, pages, res.Closed, "%s: %+v", host, res)
		})
	}
}

// inStep does something for each domain, for one company after the other.
func (c *crawler) inStep(do func(host string)) {
	hosts := c.web.Hosts()
	for first := 0; first < len(hosts); first += companySize {
		var group sync.WaitGroup
		for _, host := range hosts[first : first+companySize] {
			group.Go(func() { do(host) })
		}
		group.Wait()
	}
}

// call runs an activity as a worker does.
func call[Out any](t *testing.T, c *crawler, host string, activity, in any) (out Out) {
	t.Helper()
	c.envs[host].SetTestTimeout(time.Minute)
	value, err := c.envs[host].ExecuteActivity(activity, in)
	require.NoError(t, err)
	require.NoError(t, value.Get(&out))
	return out
}
