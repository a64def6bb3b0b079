package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
)

// nextDue is when the run has something due that is not due yet.
func (b *bundle) nextDue(t *testing.T) time.Time {
	t.Helper()
	due, now, err := b.NextDue(t.Context(), b.run.ID)
	require.NoError(t, err)
	require.WithinDuration(t, b.clock(t), now, time.Minute)
	require.True(t, due.IsZero() || due.After(now))
	return due
}

// claimed makes a seeded domain of a run of its own, claimed.
func (b *bundle) claimed(t *testing.T, domain string, set settings.Settings, paths ...string) *bundle {
	t.Helper()
	own := b.in(t, domain, set)
	for _, path := range append(paths, "/") {
		own.seed(t, "https://"+domain+path)
	}
	require.Equal(t, []string{domain}, own.claim(t, 10))
	return own
}

func TestNextDue(t *testing.T) {
	t.Parallel()
	shared := setup(t, settings.Settings{})

	t.Run("IsWhatFinishingLeaves", func(t *testing.T) {
		t.Parallel()
		const domain = "later.example"
		b := shared.claimed(t, domain, settings.Settings{})
		require.Zero(t, b.nextDue(t), "what is claimed is not to be looked at")
		a := attempted(b.begin(t, domain), domain)
		a.Outcome, a.RetryIn = crawl.OutcomeTimeout, new(crawl.Millis(time.Hour))
		b.finish(t, a)
		require.True(t, b.end(t, domain, ""))
		scheduled := one[time.Time](t, b, "SELECT scheduled_for FROM page_crawls WHERE domain = $1 AND outcome IS NULL", domain)
		require.True(t, scheduled.Equal(b.nextDue(t)))
		require.Empty(t, b.claim(t, 10))

		sooner := shared.in(t, domain, settings.Settings{})
		sooner.seed(t, "https://sooner.example/")
		require.Equal(t, []string{"sooner.example"}, b.claim(t, 10))
		b.deferred(t, "sooner.example", time.Minute, "")
		require.WithinDuration(t, b.clock(t).Add(time.Minute), b.nextDue(t), 30*time.Second, "the earliest counts")
		require.Zero(t, shared.nextDue(t), "and another run's does not")
	})

	t.Run("IsNeverWhenNothingIsPending", func(t *testing.T) {
		t.Parallel()
		const domain = "done.example"
		b := shared.claimed(t, domain, settings.Settings{})
		b.fetch(t, domain)
		require.True(t, b.end(t, domain, ""))
		require.Zero(t, b.nextDue(t))
		require.Empty(t, b.claim(t, 10))
		b.seed(t, "https://done.example/more")
		require.Equal(t, []string{domain}, b.claim(t, 10), "until there is more")
	})

	t.Run("IsTheEndOfADeferral", func(t *testing.T) {
		t.Parallel()
		const domain = "deferred.example"
		b := shared.claimed(t, domain, settings.Settings{Scope: new(settings.ScopeWeb)})
		b.deferred(t, domain, time.Hour, "Retry-After")
		until := b.domain(t, domain).DeferredUntil
		require.True(t, until.Equal(b.nextDue(t)))

		linker := shared.claimed(t, "linker.example", settings.Settings{Scope: new(settings.ScopeWeb)})
		rec, err := b.Record(t.Context(), attempted(linker.begin(t, "linker.example"), "linker.example",
			links(t, "https://deferred.example/found")...))
		require.NoError(t, err)
		require.True(t, rec.HasNewWork)
		require.Empty(t, linker.claim(t, 10), "a link does not end it")
		require.True(t, until.Equal(linker.nextDue(t)))
		require.Equal(t, until, b.domain(t, domain).DeferredUntil)
	})

	t.Run("IsNowForWhoIsSeededThoughDeferred", func(t *testing.T) {
		t.Parallel()
		const domain = "revived.example"
		b := shared.claimed(t, domain, settings.Settings{})
		b.deferred(t, domain, time.Hour, "Retry-After")
		b.seed(t, "https://revived.example/")
		require.Zero(t, b.domain(t, domain).DeferredUntil)
		require.Equal(t, []string{domain}, b.claim(t, 10))
	})

	t.Run("SurvivesAStoppedRun", func(t *testing.T) {
		t.Parallel()
		const domain = "stopped.example"
		b := shared.claimed(t, domain, settings.Settings{})
		_, err := b.StopRun(t.Context(), b.run.ID, "enough")
		require.NoError(t, err)
		require.True(t, b.end(t, domain, ""))
		require.NoError(t, b.StartRun(t.Context(), b.run.ID))
		require.Equal(t, []string{domain}, b.claim(t, 10))
	})
}

func TestSpentBudgetsAreNotDue(t *testing.T) {
	t.Parallel()
	shared := setup(t, settings.Settings{})
	spent := func(t *testing.T, domain string) *bundle {
		t.Helper()
		b := shared.claimed(t, domain, settings.Settings{MaxPagesPerDomain: new(int64(1))}, "/2", "/3")
		b.fetch(t, domain)
		require.True(t, b.end(t, domain, ""))
		require.Zero(t, b.nextDue(t))
		require.Empty(t, b.claim(t, 10))
		require.Equal(t, crawl.DomainPending, b.domain(t, domain).Status)
		return b
	}

	t.Run("UntilTheRunsIsRaised", func(t *testing.T) {
		t.Parallel()
		b := spent(t, "run.example")
		b.ensureRun(t, "run.example", settings.Settings{MaxPagesPerDomain: new(int64(2))})
		require.Equal(t, []string{"run.example"}, b.claim(t, 10))
	})

	t.Run("UntilTheDomainsIsRaised", func(t *testing.T) {
		t.Parallel()
		b := spent(t, "domain.example")
		b.control(t, "domain.example", crawl.ControlBudget, 2)
		require.Equal(t, []string{"domain.example"}, b.claim(t, 10))
	})

	t.Run("UntilTheDomainsIsLifted", func(t *testing.T) {
		t.Parallel()
		b := shared.in(t, "lifted.example", settings.Settings{})
		b.seed(t, "https://lifted.example/")
		b.control(t, "lifted.example", crawl.ControlBudget, 0)
		require.Empty(t, b.claim(t, 10))
		require.NoError(t, b.LiftControls(t.Context(), "lifted.example", "tester", crawl.ControlBudget))
		require.Equal(t, []string{"lifted.example"}, b.claim(t, 10))
	})

	t.Run("ThoughMoreIsFound", func(t *testing.T) {
		t.Parallel()
		b := spent(t, "popular.example")
		b.seed(t, "https://fan.example/")
		require.Equal(t, []string{"fan.example"}, b.claim(t, 10))
		rec, err := b.Record(t.Context(), attempted(b.begin(t, "fan.example"), "fan.example",
			links(t, "https://popular.example/4")...))
		require.NoError(t, err)
		require.False(t, rec.HasNewWork)
		require.Contains(t, b.crawls(t), "https://popular.example/4")
		require.Empty(t, b.claim(t, 10))
		b.ensureRun(t, "popular.example", settings.Settings{MaxPagesPerDomain: new(int64(9))})
		require.Equal(t, []string{"popular.example"}, b.claim(t, 10))
	})

	t.Run("AndNothingIsSpentByOthers", func(t *testing.T) {
		t.Parallel()
		b := spent(t, "both.example")
		other := shared.in(t, "both-other", settings.Settings{})
		other.seed(t, "https://both.example/")
		require.Equal(t, []string{"both.example"}, other.claim(t, 10))
		n := b.next(t, "both.example")
		require.Equal(t, "both-other", n.Run)
	})
}

// TestEndOfADomainThatIsClosed is about domains of which nothing may be requested:
// their workflow has nothing to wait for.
func TestEndOfADomainThatIsClosed(t *testing.T) {
	t.Parallel()
	shared := setup(t, settings.Settings{})
	ended := func(t *testing.T, b *bundle, domain string) {
		t.Helper()
		n := b.next(t, domain)
		require.Equal(t, decide.Finish, decide.Decide(decide.Facts{Facts: n.Facts}, n.Now).Action)
		require.True(t, b.end(t, domain, "closed"))
		require.Empty(t, b.domain(t, domain).Claimed)
		require.Empty(t, b.claim(t, 10))
	}

	t.Run("BecauseItIsDeferred", func(t *testing.T) {
		t.Parallel()
		const domain = "deferred.example"
		b := shared.claimed(t, domain, settings.Settings{})
		b.deferred(t, domain, time.Hour, "Retry-After")
		until := b.domain(t, domain).DeferredUntil
		ended(t, b, domain) // by a workflow that was woken meanwhile
		d := b.domain(t, domain)
		require.Equal(t, until, d.DeferredUntil)
		require.Equal(t, "Retry-After", d.Reason)
		require.True(t, until.Equal(b.nextDue(t)))
	})

	t.Run("ThoughARequestWasLeftInFlight", func(t *testing.T) {
		t.Parallel()
		const domain = "paused.example"
		b := shared.claimed(t, domain, settings.Settings{}, "/2")
		b.begin(t, domain) // and its worker dies
		b.control(t, domain, crawl.ControlPause, nil)
		ended(t, b, domain)
		require.NoError(t, b.LiftControls(t.Context(), domain, "tester", crawl.ControlPause))
		require.Equal(t, []string{domain}, b.claim(t, 10))
		b.expire(t, "domain:"+domain)
		require.NotZero(t, b.next(t, domain).AttemptID)
		require.EqualValues(t, 1, b.progress(t).Failed, "then it is closed")
	})

	t.Run("ButNotWhileAnythingElseIsInFlight", func(t *testing.T) {
		t.Parallel()
		const domain = "flight.example"
		b := shared.claimed(t, domain, settings.Settings{MaxPages: new(int64(1))}, "/2", "/3")
		b.begin(t, domain) // and the budget is spent, with more pending
		require.False(t, b.end(t, domain, ""))
		require.NotEmpty(t, b.domain(t, domain).Claimed)
	})
}

// TestNoWakeIsLost races the end of a domain with what makes it due again.
//
//nolint:paralleltest,tparallel // one domain's story
func TestNoWakeIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{MaxPagesPerDomain: new(int64(1))})
	b.seed(t, "https://a.example/", "https://a.example/2")
	require.Equal(t, []string{domainA}, b.claim(t, 10))
	b.fetch(t, domainA)

	t.Run("OfARaisedBudget", func(t *testing.T) {
		b.raceWith(t, finishing(t), func() error {
			_, err := b.EnsureRun(t.Context(), "test", "test", settings.Settings{MaxPagesPerDomain: new(int64(2))})
			return err
		})
		require.Equal(t, []string{domainA}, b.claim(t, 10))
	})

	t.Run("OfAControl", func(t *testing.T) {
		b.raceWith(t, finishing(t), func() error {
			return b.SetControl(t.Context(), domainA, crawl.Control{
				Type: crawl.ControlBudget, Value: []byte("3"), SetBy: "tester",
			})
		})
		require.Equal(t, []string{domainA}, b.claim(t, 10))
	})

	t.Run("OfAnotherRobotsTxt", func(t *testing.T) {
		saveRobots(t, b, "https://a.example", domainA, crawl.RobotsDisallowAll, 0, time.Hour)
		n := b.next(t, domainA)
		a := attempted(n, domainA)
		a.Requested, a.StatusCode, a.Outcome = false, 0, crawl.OutcomeBlockedRobots
		require.Zero(t, b.finish(t, a).AttemptID)
		b.raceWith(t, finishing(t), func() error {
			_, err := b.SaveRobots(t.Context(), crawl.Robots{
				Origin: "https://a.example", Domain: domainA, Verdict: crawl.RobotsAllowAll, Lifetime: crawl.Millis(time.Hour),
			})
			return err
		})
		require.Equal(t, crawl.DomainPending, b.domain(t, domainA).Status)
		require.Equal(t, []string{domainA}, b.claim(t, 10))
		again := b.next(t, domainA)
		require.Equal(t, n.URL, again.URL)
		require.NotEqual(t, n.AttemptID, again.AttemptID)
	})
}
