package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestNext(t *testing.T) {
	t.Parallel()

	t.Run("KnowsNothingOfAnUnknownDomain", func(t *testing.T) {
		t.Parallel()
		n := setup(t, settings.Settings{}).next(t, "unknown.example")
		require.Equal(t, crawl.Facts{
			Now: n.Now, Domain: crawl.DomainFacts{Name: "unknown.example"}, Runs: []crawl.RunFacts{},
		}, n.Facts)
		require.Zero(t, n.AttemptID)
		require.Negative(t, n.DueIn)
	})

	t.Run("SaysAllThatBearsOnTheDecision", func(t *testing.T) {
		t.Parallel()
		const always, saturdays = "Mon-Sun 00:00-24:00", "Sat 00:00-24:00"
		set := settings.Settings{
			Delay: minutes(3), IPDelay: minutes(1), SubnetDelay: minutes(2), DeferAfter: minutes(30), MaxAttempts: new(7),
			Graylist: minutes(9), LatencyFactor: new(2.5), MaxGraylistings: new(8),
			MinRefetch: minutes(10), Window: new(always), MaxPages: new(int64(9)),
		}
		b := setupRun(t, "all", set)
		b.seed(t, "https://all.example:8443/page?q")
		n := b.next(t, "all.example")
		require.WithinDuration(t, time.Now(), n.Now, time.Minute)
		c := n.Runs[0].Attempt
		require.Equal(t, crawl.Facts{
			Now: n.Now, Domain: crawl.DomainFacts{Name: "all.example", Status: crawl.DomainPending},
			Runs: []crawl.RunFacts{{
				ID: b.run.ID, Name: "all", Settings: set.WithDefaults(), Seed: true,
				Attempt: &crawl.AttemptFacts{
					ID: n.AttemptID, URL: "https://all.example:8443/page?q", Kind: kinds.Page,
					Origin: "https://all.example:8443", Number: 1, ScheduledFor: c.ScheduledFor,
					Patterns: []crawl.PatternFacts{{Pattern: "/page"}, {Pattern: "/page?q"}},
				},
			}},
		}, n.Facts)
		require.WithinDuration(t, n.Now, c.ScheduledFor, time.Minute)
		require.Equal(t, decide.Pace{
			Waits: crawl.Waits{Configured: 3 * time.Minute}, IPDelay: time.Minute, SubnetDelay: 2 * time.Minute,
		}, n.Pace)
		require.Equal(t, []string{always}, decide.WindowTexts(n.Facts))
		same, err := b.Facts(t.Context(), "all.example")
		require.NoError(t, err)
		same.Now = n.Now
		require.Equal(t, n.Facts, same)

		saveRobots(t, b, n.Origin, "all.example", crawl.RobotsRules, 20*time.Second, time.Hour)
		saveRobots(t, b, "http://all.example", "all.example", crawl.RobotsRules, 50*time.Second, time.Hour)
		b.control(t, "all.example", crawl.ControlDelay, (5 * time.Minute).Milliseconds())
		b.control(t, "all.example", crawl.ControlWindow, saturdays)
		n = b.next(t, "all.example")
		robots, err := b.Robots(t.Context(), n.Origin)
		require.NoError(t, err)
		known := n.picked.Attempt.Robots
		require.NotNil(t, known)
		require.Equal(t, crawl.RobotsRules, known.Verdict)
		require.Equal(t, robots.Version, known.Version)
		require.Equal(t, "because", known.Reason)
		require.False(t, known.TDMKnown)
		require.InDelta(t, time.Hour, known.ExpiresAt.Sub(n.Now), float64(time.Minute))
		require.Equal(t, crawl.Waits{
			Configured: 3 * time.Minute, Domain: 5 * time.Minute, CrawlDelay: 50 * time.Second,
		}, n.Waits, "the largest Crawl-delay of the domain's origins")
		require.Equal(t, []string{always, saturdays}, decide.WindowTexts(n.Facts), "the runs' and the domain's own")

		b.exec(t, "UPDATE robots SET expires_at = now() - interval '1 hour' WHERE origin = $1", n.Origin)
		n = b.next(t, "all.example")
		require.True(t, n.picked.Attempt.Robots.ExpiresAt.Before(n.Now))
	})

	t.Run("TakesTheStrictestDelayOfAllRuns", func(t *testing.T) {
		t.Parallel()
		// the strictest is neither the first nor the last
		quick := setupRun(t, "quick", settings.Settings{Delay: minutes(1), IPDelay: minutes(2)})
		slow := quick.in(t, "slow", settings.Settings{Delay: minutes(9), IPDelay: minutes(4)})
		later := quick.in(t, "later", settings.Settings{Delay: minutes(1), IPDelay: minutes(2)})
		quick.seed(t, "https://strict.example/1", "https://strict.example/2", "https://strict.example/3")
		slow.seed(t, "https://strict.example/1")
		later.seed(t, "https://strict.example/1")
		n := quick.begin(t, "strict.example")
		require.Equal(t, "quick", n.Run, "no run has had its turn, and it is the oldest")
		require.Equal(t, 9*time.Minute, n.Waits.Configured)
		require.Equal(t, 4*time.Minute, n.IPDelay)
		later.exec(t, "UPDATE page_crawls SET priority = 1 WHERE run_id = $1", later.run.ID)
		slow.finish(t, attempted(n, "strict.example"))
		require.Equal(t, "slow", slow.next(t, "strict.example").Run, "priority counts within a run")
		slow.fetch(t, "strict.example")
		require.Equal(t, "later", later.next(t, "strict.example").Run)
		later.fetch(t, "strict.example")
		n = quick.next(t, "strict.example")
		require.Equal(t, "quick", n.Run)
		require.Equal(t, time.Minute, n.Waits.Configured, "the slow run wants nothing more")
	})

	t.Run("SaysWhenTheSlotIsFree", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "slot", settings.Settings{})
		b.seed(t, "https://slot.example/")
		require.True(t, b.take(t, "slot.example", "", "robots", 0).Granted)
		n := b.next(t, "slot.example")
		require.NotZero(t, n.AttemptID)
		require.Equal(t, reasons.InFlight, n.SlotReason)
		require.Greater(t, n.SlotWait, longHold/2)
		require.NoError(t, b.release(t.Context(), "slot.example", "", "robots", time.Now(), time.Minute, 0, reasons.Domain))
		n = b.next(t, "slot.example")
		require.Equal(t, reasons.Domain, n.SlotReason)
		require.InDelta(t, time.Minute, n.SlotWait, float64(30*time.Second))
		b.expire(t, "domain:slot.example")
		require.Zero(t, b.next(t, "slot.example").SlotWait)
	})

	t.Run("SaysWhenSomethingWillBeDue", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "due", settings.Settings{})
		b.seed(t, "https://due.example/1", "https://due.example/2")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '2 hours' WHERE domain = 'due.example'")
		b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE url = 'https://due.example/2'")
		n := b.next(t, "due.example")
		require.Zero(t, n.AttemptID)
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
		Origin: origin, Domain: domain, Verdict: v, CrawlDelay: new(crawl.Millis(crawlDelay)), Reason: "because", Lifetime: crawl.Millis(fresh),
	})
	require.NoError(t, err)
}

func TestAbandon(t *testing.T) {
	t.Parallel()

	t.Run("GivesEverythingBack", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "back", settings.Settings{})
		b.seed(t, "https://back.example/")
		n := b.next(t, "back.example")
		n.IPDelay = time.Minute
		start := startOf(n, "back.example", address)
		p, err := b.Begin(t.Context(), start)
		require.NoError(t, err)
		require.True(t, p.Granted)
		require.NoError(t, b.Abandon(t.Context(), start, n.AttemptID, 0, false, "no route"))
		again := b.next(t, "back.example")
		require.Equal(t, n.AttemptID, again.AttemptID)
		require.Zero(t, again.SlotWait)
		require.True(t, b.take(t, "neighbour.example", address, "n", time.Minute).Granted)
		require.NoError(t, b.Abandon(t.Context(), start, n.AttemptID, 0, false, "no route"), "twice")
		require.Zero(t, one[int64](t, b, "SELECT pages_started FROM run_domains WHERE domain = 'back.example'"))
	})

	t.Run("LeavesASiteAloneThatMayHaveNoticed", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "noticed", settings.Settings{})
		b.seed(t, "https://noticed.example/")
		n := b.next(t, "noticed.example")
		n.IPDelay = 10 * time.Second
		start := startOf(n, "noticed.example", "192.0.2.77")
		p, err := b.Begin(t.Context(), start)
		require.NoError(t, err)
		require.True(t, p.Granted)
		leased := one[time.Time](t, b, "SELECT locked_at FROM page_crawls WHERE id = $1", n.AttemptID)
		require.NoError(t, b.Withdraw(t.Context(), start, n.AttemptID, time.Minute, true, "the network is down", 7))
		began := one[time.Time](t, b, "SELECT started_at FROM audit_requests WHERE id = $1", n.AttemptID)
		require.False(t, began.Before(leased), "%s before its lease", leased.Sub(began))
		again := b.next(t, "noticed.example")
		require.InDelta(t, time.Minute, again.SlotWait, float64(5*time.Second))
		require.NotEqual(t, n.AttemptID, again.AttemptID)
		require.Equal(t, 1, again.Attempt, "it counts for nothing")
		require.Zero(t, one[int64](t, b, "SELECT pages_started FROM run_domains WHERE domain = 'noticed.example'"))
		require.Equal(t, []string{"undone 60000 7 the network is down"}, column[string](t, b,
			`SELECT concat_ws(' ', c.skipped, a.delay_ms, c.robots_version, c.error_message)
			FROM audit_requests a JOIN page_crawls c ON c.id = a.id WHERE c.domain = 'noticed.example'`), "and an audit sees it")
		p = b.take(t, "neighbour.noticed.example", "192.0.2.77", "n", 10*time.Second)
		require.False(t, p.Granted)
		require.InDelta(t, 10*time.Second, p.Wait, float64(5*time.Second))
	})

	t.Run("ChangesNothingForWhoWasTakenForDead", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.seed(t, "https://a.example/")
		zombie := b.begin(t, domainA)
		b.expire(t, "domain:a.example")
		b.begin(t, domainA)
		before := b.snapshot(t)
		require.NoError(t, b.Abandon(t.Context(), startOf(zombie, domainA, ""), zombie.AttemptID, 0, false, "no route"))
		require.Equal(t, before, b.snapshot(t))
	})
}
