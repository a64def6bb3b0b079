//go:build linux

package e2e_test

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

var claimsDomains = flag.Int("claims.domains", 0, "how many domains TestClaims crawls; 0 is 300")

const (
	// claimsPages is how many pages each domain has.
	claimsPages = 5
	claimsDelay = 500 * time.Millisecond
	// claimsLatency is how long an answer takes: the next workflow of a domain can begin
	// while a request of the one before is in flight.
	claimsLatency = 300 * time.Millisecond
	// claimsBlows is how many times workflows are terminated and claims run out.
	claimsBlows = 20
	// claimsLook is how often what the crawl has done is looked at, and claimsCalm how
	// often claims run out once no workflow is terminated any more.
	claimsLook = 50 * time.Millisecond
	claimsCalm = time.Second
	// claimsPatience is how long the crawl may last. It takes a fifth of that at the most.
	claimsPatience = 15 * time.Minute
)

// claims is one run of TestClaims.
type claims struct {
	*chaos

	domains             int
	terminated, expired int
}

// TestClaims crawls with three workers while workflows are terminated and claims run out,
// of domains that have no workflow any more and of those that have one. Two workers and the
// dispatcher go the same way. No domain may be served twice at a time for that and none be
// forgotten: the web's log says so.
//
// The progress of the crawl, and not a clock, decides when it is disturbed, so that a
// slow machine has no more of it than a fast one.
func TestClaims(t *testing.T) {
	form.Long(t)
	t.Parallel()
	alone(t)
	n := cmp.Or(*claimsDomains, 300)
	s := newSite(t, web.Options{Sites: web.Uniform(n, web.Site{
		Pages: claimsPages - 1, Plain: true, Behaviour: web.Slow{Latency: claimsLatency},
	})})
	c := &claims{domains: n, chaos: &chaos{
		fleet:  newFleet(t, s, workerBin, workerBin, workerBin),
		random: rand.New(rand.NewPCG(rand.Uint64(), 0)),
		began:  time.Now(),
	}}
	seeding := c.seed(t, map[string]any{
		"delay": claimsDelay.String(), "ip_delay": "0s", "latency_factor": 0, "max_attempts": 6,
		// some have to wait for their turn
		"max_active_domains": max(n/3, 1), "sitemaps": false,
	})
	for i := range claimsBlows {
		// the last when two thirds are done: the crawl has to find again what it hits
		c.awaitPages(t, n*claimsPages*2/3*i/claimsBlows)
		switch i {
		case claimsBlows / 4, claimsBlows / 2:
			c.killWorker(t)
		case claimsBlows * 3 / 4:
			c.terminate(t, "crawl/"+chaosRun)
		}
		few := n/2/claimsBlows + 1
		ids := c.claimed(t, few)
		c.terminate(t, ids...)
		c.expire(t, append(ids[:len(ids)/2], c.claimed(t, few/2)...))
	}
	// the claims of what was terminated would last for half an hour
	c.expire(t, c.claimed(t, n))
	calm := time.Now()
	c.awaitEnd(t)
	t.Logf("the crawl was done %s after the start, %s after the last blow",
		time.Since(c.began).Round(time.Second), time.Since(calm).Round(time.Second))
	require.NoError(t, seeding.Get(t.Context(), nil))
	c.judge(t)
}

// awaitPages waits until so many pages were asked for, keeping the workers alive.
func (c *claims) awaitPages(t *testing.T, n int) {
	t.Helper()
	for len(c.site.Log().Pages()) < n {
		c.inTime(t)
		c.until(t, time.Now().Add(claimsLook))
	}
}

// awaitEnd waits for the run's end. Meanwhile claims go on to run out: a request that a
// terminated workflow had under way renews one that nobody uses any more.
func (c *claims) awaitEnd(t *testing.T) {
	t.Helper()
	for !c.done(t) {
		c.inTime(t)
		c.expire(t, c.claimed(t, c.queryInt(t, "SELECT count(*) / 10 + 1 FROM domains WHERE claimed_by IS NOT NULL")))
		c.until(t, time.Now().Add(claimsCalm))
	}
}

func (c *claims) inTime(t *testing.T) {
	t.Helper()
	if time.Since(c.began) > claimsPatience {
		require.FailNow(t, "the run is not done", "it waits for:\n%s", c.busy(t))
	}
}

// claimed are the ids of the workflows of a few domains that are claimed, at random. Some
// may have been terminated before.
func (c *claims) claimed(t *testing.T, most int) []string {
	t.Helper()
	rows, err := c.pool.Query(t.Context(),
		"SELECT claimed_by FROM domains WHERE claimed_by IS NOT NULL ORDER BY random() LIMIT $1", most)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return ids
}

// terminate terminates those workflows that run. It does not retry if Temporal is too
// busy: that some are terminated counts, not which.
func (c *claims) terminate(t *testing.T, ids ...string) {
	t.Helper()
	var group sync.WaitGroup
	var terminated atomic.Int64
	for _, id := range ids {
		group.Go(func() {
			if err := c.client.TerminateWorkflow(t.Context(), id, "", "by a test"); err == nil {
				terminated.Add(1)
			}
		})
	}
	group.Wait()
	c.terminated += int(terminated.Load())
}

// expire has claims run out, but for those that are just being changed.
func (c *claims) expire(t *testing.T, ids []string) {
	t.Helper()
	tag, err := c.pool.Exec(t.Context(), `
		UPDATE domains d SET claim_expires_at = now() - interval '1 second'
		FROM (SELECT id FROM domains WHERE claimed_by = ANY ($1) FOR UPDATE SKIP LOCKED) few
		WHERE d.id = few.id`, ids)
	require.NoError(t, err)
	c.expired += int(tag.RowsAffected())
}

// judge asserts what has to hold after all that happened, and prints the figures.
func (c *claims) judge(t *testing.T) {
	t.Helper()
	log := c.site.Log()
	c.keepLog(t)
	lost := c.queryInt(t, "SELECT count(*) FROM audit_requests WHERE lost")
	report := web.Judge(log, web.Expectations{
		Plan: c.site.Plan, Delay: claimsDelay,
		// an answer whose worker died is asked for again
		Refetches: lost, UserAgent: "mosey/",
	})
	t.Logf("%d workflows terminated, %d claims run out, %d workers killed: %d requests lost",
		c.terminated, c.expired, c.counts.kills, lost)
	t.Logf("%s", report)
	for _, v := range report.Violations() {
		t.Error(v)
	}
	require.GreaterOrEqual(t, report.Covered, c.domains*(claimsPages+1))
	require.Equal(t, c.domains*claimsPages, c.queryInt(t,
		"SELECT count(DISTINCT page_id) FROM page_crawls WHERE outcome = 'success' AND NOT prerequisite"), "pages recorded")
	require.Zero(t, c.queryInt(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL"), "pages left")
	require.Greater(t, c.terminated, c.domains/10)
	require.Greater(t, c.expired, c.domains/10)
	c.judgeRows(t)
	audit := c.audit(t)
	require.True(t, audit.Clean(), "%+v", audit.Violations)
	c.judgeAudit(t, log)
	c.judgeWorkflows(t, "Failed", "TimedOut", "Canceled")
}
