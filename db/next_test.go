package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestNext(t *testing.T) {
	t.Parallel()
	shared := setup(t, crawl.Settings{})

	t.Run("KnowsNothingOfAnUnknownDomain", func(t *testing.T) {
		t.Parallel()
		n := shared.next(t, "unknown.example")
		require.Equal(t, crawl.Next{DueIn: -time.Millisecond, Now: n.Now}, n)
	})

	t.Run("SaysAllThatBearsOnTheDecision", func(t *testing.T) {
		t.Parallel()
		b := shared.in(t, "all", crawl.Settings{
			Delay: minutes(3), IPDelay: minutes(1), SubnetDelay: minutes(2), Patience: minutes(30), MaxAttempts: new(7),
			Graylist: minutes(9), LatencyFactor: new(2.5), MaxGraylistings: new(8),
			MinRefetch: minutes(10), Window: new("Mon-Sun 00:00-24:00"),
		})
		b.seed(t, "https://all.example:8443/page?q")
		n := b.next(t, "all.example")
		require.WithinDuration(t, time.Now(), n.Now, time.Minute)
		const always, saturdays = "Mon-Sun 00:00-24:00", "Sat 00:00-24:00"
		require.Equal(t, crawl.Next{
			CrawlID: n.CrawlID, Run: "all", URL: "https://all.example:8443/page?q", Origin: "https://all.example:8443",
			Attempt: 1, MaxAttempts: 7, Patience: 30 * time.Minute,
			LatencyFactor: 2.5, Breaker: crawl.BreakerSettings{Graylist: 9 * time.Minute, Most: 8},
			Waits: crawl.Waits{Configured: 3 * time.Minute}, IPDelay: time.Minute, SubnetDelay: 2 * time.Minute, DueIn: n.DueIn,
			Purpose: crawl.PurposeSearch, BlockOnLogin: true, MinRefetch: 10 * time.Minute, Windows: []string{always}, Now: n.Now,
		}, n)

		saveRobots(t, b, n.Origin, "all.example", crawl.RobotsRules, 20*time.Second, time.Hour)
		saveRobots(t, b, "http://all.example", "all.example", crawl.RobotsRules, 50*time.Second, time.Hour)
		require.NoError(t, b.SetDomain(t.Context(), "all.example", new(5*time.Minute), nil, new("Sat 00:00-24:00")))
		n = b.next(t, "all.example")
		robots, err := b.Robots(t.Context(), n.Origin)
		require.NoError(t, err)
		require.Equal(t, crawl.RobotsRules, n.RobotsVerdict)
		require.Equal(t, robots.Version, n.RobotsVersion)
		require.Equal(t, "because", n.RobotsReason)
		require.InDelta(t, time.Hour, n.RobotsFresh, float64(time.Minute))
		require.Equal(t, crawl.Waits{
			Configured: 3 * time.Minute, Domain: 5 * time.Minute, CrawlDelay: 50 * time.Second,
		}, n.Waits, "the largest Crawl-delay of the domain's origins")
		require.Equal(t, []string{always, saturdays}, n.Windows, "the runs' and the domain's own")

		b.exec(t, "UPDATE robots SET expires_at = now() - interval '1 hour' WHERE origin = $1", n.Origin)
		require.Negative(t, b.next(t, "all.example").RobotsFresh)
	})

	t.Run("TakesTheStrictestDelayOfAllRuns", func(t *testing.T) {
		t.Parallel()
		// the strictest is neither the first nor the last
		quick := shared.in(t, "quick", crawl.Settings{Delay: minutes(1), IPDelay: minutes(2)})
		slow := shared.in(t, "slow", crawl.Settings{Delay: minutes(9), IPDelay: minutes(4)})
		later := shared.in(t, "later", crawl.Settings{Delay: minutes(1), IPDelay: minutes(2)})
		quick.seed(t, "https://strict.example/1", "https://strict.example/2", "https://strict.example/3")
		slow.seed(t, "https://strict.example/1")
		later.seed(t, "https://strict.example/1")
		n := quick.begin(t, "strict.example")
		require.Equal(t, "quick", n.Run, "its crawl is older")
		require.Equal(t, 9*time.Minute, n.Waits.Configured)
		require.Equal(t, 4*time.Minute, n.IPDelay)
		slow.exec(t, "UPDATE page_crawls SET priority = 1 WHERE run_id = $1", slow.run.ID)
		slow.finish(t, attempted(n, "strict.example"))
		require.Equal(t, "slow", slow.next(t, "strict.example").Run, "priority counts over all runs")
		slow.fetch(t, "strict.example")
		n = quick.next(t, "strict.example")
		require.Equal(t, "quick", n.Run)
		require.Equal(t, time.Minute, n.Waits.Configured, "the slow run wants nothing more")
	})

	t.Run("SaysWhenTheSlotIsFree", func(t *testing.T) {
		t.Parallel()
		b := shared.in(t, "slot", crawl.Settings{})
		b.seed(t, "https://slot.example/")
		require.True(t, b.take(t, "slot.example", "", "robots", 0).Granted)
		n := b.next(t, "slot.example")
		require.NotZero(t, n.CrawlID)
		require.Equal(t, crawl.ReasonInFlight, n.SlotReason)
		require.Greater(t, n.SlotWait, longHold/2)
		require.NoError(t, b.release(t.Context(), "slot.example", "", "robots", time.Now(), time.Minute, 0, crawl.ReasonDomain))
		n = b.next(t, "slot.example")
		require.Equal(t, crawl.ReasonDomain, n.SlotReason)
		require.InDelta(t, time.Minute, n.SlotWait, float64(30*time.Second))
		b.expire(t, "domain:slot.example")
		require.Zero(t, b.next(t, "slot.example").SlotWait)
	})

	t.Run("SaysWhenSomethingWillBeDue", func(t *testing.T) {
		t.Parallel()
		b := shared.in(t, "due", crawl.Settings{})
		b.seed(t, "https://due.example/1", "https://due.example/2")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '2 hours' WHERE domain = 'due.example'")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE url = 'https://due.example/2'")
		n := b.next(t, "due.example")
		require.Zero(t, n.CrawlID)
		require.LessOrEqual(t, n.DueIn, time.Hour)
		require.Greater(t, n.DueIn, 50*time.Minute)
		p := b.progress(t)
		require.EqualValues(t, 2, p.Pending)
		require.EqualValues(t, 2, p.Deferred)
	})
}

func saveRobots(
	t *testing.T, b *bundle, origin, domain string, v crawl.RobotsVerdict, crawlDelay, fresh time.Duration,
) {
	t.Helper()
	_, err := b.SaveRobots(t.Context(), crawl.Robots{
		Origin: origin, Domain: domain, Verdict: v, CrawlDelay: &crawlDelay, Reason: "because", Fresh: fresh,
	})
	require.NoError(t, err)
}

func TestAbandon(t *testing.T) {
	t.Parallel()
	shared := setup(t, crawl.Settings{})

	t.Run("GivesEverythingBack", func(t *testing.T) {
		t.Parallel()
		b := shared.in(t, "back", crawl.Settings{})
		b.seed(t, "https://back.example/")
		n := b.next(t, "back.example")
		n.IPDelay = time.Minute
		p, err := b.Begin(t.Context(), n, "back.example", address, longHold, longHold, false)
		require.NoError(t, err)
		require.True(t, p.Granted)
		require.NoError(t, b.Abandon(t.Context(), n.CrawlID, "back.example", address))
		again := b.next(t, "back.example")
		require.Equal(t, n.CrawlID, again.CrawlID)
		require.Zero(t, again.SlotWait)
		require.True(t, b.take(t, "neighbour.example", address, "n", time.Minute).Granted)
		require.NoError(t, b.Abandon(t.Context(), n.CrawlID, "back.example", address), "twice")
		require.Zero(t, one[int64](t, b, "SELECT pages_started FROM run_domains WHERE domain = 'back.example'"))
	})

	t.Run("ChangesNothingForWhoWasTakenForDead", func(t *testing.T) {
		t.Parallel()
		b := setup(t, crawl.Settings{})
		b.seed(t, "https://a.example/")
		zombie := b.begin(t, domainA)
		b.expire(t, "domain:a.example")
		b.begin(t, domainA)
		before := b.snapshot(t)
		require.NoError(t, b.Abandon(t.Context(), zombie.CrawlID, domainA, ""))
		require.Equal(t, before, b.snapshot(t))
	})
}
