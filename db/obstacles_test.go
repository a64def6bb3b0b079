package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

// givenUp has a domain given up by the answer to its first page.
func (b *bundle) givenUp(t *testing.T, domain string, wait time.Duration) {
	t.Helper()
	b.seed(t, "https://"+domain+"/", "https://"+domain+"/2")
	require.Contains(t, b.claim(t, 10), domain)
	a := attempted(b.begin(t, domain), domain)
	a.AbandonStatus, a.AbandonReason, a.AbandonFor = crawl.DomainUnreachable, "the probe failed", crawl.Millis(wait)
	b.finish(t, a)
	require.True(t, b.end(t, domain, ""))
	require.Equal(t, crawl.DomainUnreachable, b.domain(t, domain).Status)
	require.Empty(t, b.claim(t, 10))
}

// putOff has an origin put off because its robots.txt cannot be read.
func (b *bundle) putOff(t *testing.T, domain string, wait time.Duration) {
	t.Helper()
	b.seed(t, "https://"+domain+"/")
	require.Contains(t, b.claim(t, 10), domain)
	origin := "https://" + domain
	_, err := b.SaveRobots(t.Context(), crawl.Robots{
		Origin: origin, Domain: domain, Agent: "mosey", Verdict: crawl.RobotsUnreachable, Reason: "answered 503",
		Lifetime: crawl.Millis(wait),
	})
	require.NoError(t, err)
	r, err := b.Robots(t.Context(), origin)
	require.NoError(t, err)
	_, err = b.DeferOrigin(t.Context(), domain, origin, r.ExpiresAt, true)
	require.NoError(t, err)
	require.True(t, b.end(t, domain, ""))
	require.Empty(t, b.claim(t, 10))
}

// endAndStart stops the run and starts it, then lets it end and starts it once more.
func (b *bundle) endAndStart(t *testing.T) {
	t.Helper()
	for _, end := range []func() error{
		func() error { _, err := b.StopRun(t.Context(), b.run.ID, "a person"); return err },
		func() error { _, err := b.EndRun(t.Context(), b.run.ID, "complete"); return err },
	} {
		require.NoError(t, end())
		require.NoError(t, b.StartRun(t.Context(), b.run.ID))
	}
}

func (b *bundle) obstacles(t *testing.T) []report.Obstacle {
	t.Helper()
	list, total, err := b.Obstacles(t.Context(), b.run.ID, 10)
	require.NoError(t, err)
	require.Len(t, list, total)
	return list
}

func TestGivenUp(t *testing.T) {
	t.Parallel()

	t.Run("IsAskedAgainByItself", func(t *testing.T) {
		t.Parallel()
		const domain = "itself.example"
		b := setupRun(t, "itself", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		d := b.domain(t, domain)
		require.WithinDuration(t, b.clock(t).Add(time.Hour), d.DeferredUntil, time.Minute)
		require.True(t, d.DeferredUntil.Equal(b.nextDue(t)), "then the dispatcher looks at it")
		require.Equal(t, []report.Obstacle{{
			Name: domain, Domain: domain, State: report.ObstacleUnreachable, Until: d.DeferredUntil, Reason: "the probe failed",
		}}, b.obstacles(t))

		b.exec(t, "UPDATE domains SET next_crawl_after = now() WHERE domain = $1", domain)
		b.makeDue(t)
		require.Equal(t, []string{domain}, b.claim(t, 10))
		require.Equal(t, crawl.DomainActive, b.domain(t, domain).Status)
		require.Empty(t, b.obstacles(t))
		b.begin(t, domain)
	})

	t.Run("IsAskedAgainAfterItsTimeWhateverElseIsSet", func(t *testing.T) {
		t.Parallel()
		const domain = "set.example"
		b := setupRun(t, "set", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		until := b.domain(t, domain).DeferredUntil
		b.control(t, domain, crawl.ControlDelay, crawl.Millis(time.Second))
		b.control(t, domain, crawl.ControlPause, nil)
		require.NoError(t, b.LiftControls(t.Context(), domain, "another", crawl.ControlPause))
		require.Equal(t, until, b.domain(t, domain).DeferredUntil)
		require.Empty(t, b.claim(t, 10))
		require.True(t, until.Equal(b.nextDue(t)))
		finished, err := b.FinishDomain(t.Context(), domain, func(f crawl.Facts) (crawl.Finish, bool) {
			return decide.Deferral(f, 0, "cancelled"), true
		})
		require.NoError(t, err)
		require.True(t, finished)
		require.Equal(t, until, b.domain(t, domain).DeferredUntil, "a workflow that is cancelled changes nothing")
		require.True(t, until.Equal(b.nextDue(t)))
	})

	t.Run("IsLiftedByARetry", func(t *testing.T) {
		t.Parallel()
		const domain = "retry.example"
		b := setupRun(t, "retry", settings.Settings{})
		require.ErrorIs(t, b.RetryDomain(t.Context(), domain), crawl.ErrNotFound)
		b.givenUp(t, domain, time.Hour)
		require.NoError(t, b.RetryDomain(t.Context(), domain))
		require.Equal(t, []string{domain}, b.claim(t, 10))
		require.ErrorIs(t, b.RetryDomain(t.Context(), domain), crawl.ErrNotFound)
	})

	t.Run("IsLiftedAsABlockIs", func(t *testing.T) {
		t.Parallel()
		const domain = "unblock.example"
		b := setupRun(t, "unblock", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		require.NoError(t, b.LiftControls(t.Context(), domain, "another", crawl.ControlBlock, crawl.ControlStop))
		require.Equal(t, []string{domain}, b.claim(t, 10))
	})

	t.Run("StaysBlockedByAPerson", func(t *testing.T) {
		t.Parallel()
		const domain = "person.example"
		b := setupRun(t, "person", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		b.control(t, domain, crawl.ControlBlock, nil)
		require.Empty(t, b.obstacles(t))
		require.ErrorIs(t, b.RetryDomain(t.Context(), domain), crawl.ErrNotFound)
		require.NoError(t, b.StartRun(t.Context(), b.run.ID))
		b.seed(t, "https://person.example/3")
		require.Empty(t, b.claim(t, 10))
	})

	t.Run("IsLiftedByASeed", func(t *testing.T) {
		t.Parallel()
		const domain = "seed.example"
		b := setupRun(t, "seed", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		b.seed(t, "https://seed.example/")
		require.Equal(t, []string{domain}, b.claim(t, 10))
	})

	t.Run("KeepsItsTimeWhenARunIsStartedAgain", func(t *testing.T) {
		t.Parallel()
		const domain = "goeson.example"
		b := setupRun(t, "goeson", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		before := b.obstacles(t)
		b.endAndStart(t)
		require.Empty(t, b.claim(t, 10))
		require.Equal(t, before, b.obstacles(t))
		require.True(t, before[0].Until.Equal(b.nextDue(t)))
	})

	t.Run("IsLiftedByANewRunThatFindsIt", func(t *testing.T) {
		t.Parallel()
		const domain = "found.example"
		b := setupRun(t, "found", settings.Settings{})
		b.givenUp(t, domain, time.Hour)
		other := b.in(t, "finder", settings.Settings{Scope: new(settings.ScopeWeb)})
		other.seed(t, "https://finder.example/", "https://finder.example/2")
		require.Equal(t, []string{"finder.example"}, other.claim(t, 10))
		find := func(url string) {
			a := attempted(other.begin(t, "finder.example"), "finder.example", links(t, url)...)
			a.Follow = &crawl.Follow{Depth: 1}
			other.finish(t, a)
		}
		find("https://found.example/3")
		require.Equal(t, []string{domain}, other.claim(t, 10))
	})
}

func TestRobotsPutOff(t *testing.T) {
	t.Parallel()

	t.Run("IsNamed", func(t *testing.T) {
		t.Parallel()
		const domain = "named.example"
		b := setupRun(t, "named", settings.Settings{})
		b.putOff(t, domain, 2*time.Hour)
		list := b.obstacles(t)
		require.Len(t, list, 1)
		require.WithinDuration(t, b.clock(t).Add(2*time.Hour), list[0].Until, time.Minute)
		require.Equal(t, report.Obstacle{
			Name: "https://named.example", Domain: domain, State: report.ObstacleRobots, Until: list[0].Until, Reason: "answered 503",
		}, list[0])
		require.True(t, list[0].Until.Equal(b.nextDue(t)), "then it is asked for again, by itself")
	})

	lift := map[string]func(t *testing.T, b *bundle, domain string){
		"retry": func(t *testing.T, b *bundle, domain string) { require.NoError(t, b.RetryDomain(t.Context(), domain)) },
		"seed":  func(t *testing.T, b *bundle, domain string) { b.seed(t, "https://"+domain+"/") },
	}
	for name, lift := range lift {
		t.Run("IsLiftedBy "+name, func(t *testing.T) {
			t.Parallel()
			domain := name + ".robots.example"
			b := setupRun(t, "robots-"+name, settings.Settings{})
			b.putOff(t, domain, 2*time.Hour)
			lift(t, b, domain)
			require.Equal(t, []string{domain}, b.claim(t, 10))
			n := b.next(t, domain)
			require.NotZero(t, n.AttemptID)
			require.Equal(t, decide.FetchPrerequisite, decide.Decide(decide.Facts{Facts: n.Facts, Agent: "mosey"}, n.Now).Action)
		})
	}

	t.Run("KeepsItsTimeWhenARunIsStartedAgain", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "robots-kept", settings.Settings{})
		b.putOff(t, "kept.robots.example", 2*time.Hour)
		before := b.obstacles(t)
		b.endAndStart(t)
		require.Empty(t, b.claim(t, 10))
		require.Equal(t, before, b.obstacles(t))
	})

	t.Run("BringsItsPagesBackOnceItIsRead", func(t *testing.T) {
		t.Parallel()
		const domain = "back.robots.example"
		b := setupRun(t, "robots-back", settings.Settings{})
		b.putOff(t, domain, 2*time.Hour)
		_, err := b.SaveRobots(t.Context(), crawl.Robots{
			Origin: "https://" + domain, Domain: domain, Agent: "mosey", Verdict: crawl.RobotsAllowAll, Lifetime: crawl.Millis(time.Hour),
		})
		require.NoError(t, err)
		require.NotZero(t, b.next(t, domain).AttemptID)
	})
}
