package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

func TestFetchRobotsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	quick := fetch.Config{
		ConnectTimeout: 300 * time.Millisecond, FirstByteTimeout: 300 * time.Millisecond, TotalTimeout: 600 * time.Millisecond,
	}
	type testCase struct {
		site     web.Site
		limits   fetch.Config
		says     string
		requests int
		low      time.Duration
	}
	cases := map[string]testCase{
		"A500":   {site: web.Site{Robots: web.RobotsError}, says: "status 500", requests: 1, low: 2 * time.Second},
		"A503":   {site: web.Site{Robots: web.RobotsUnavailable}, says: "status 503", requests: 1, low: 2 * time.Second},
		"A429":   {site: web.Site{Robots: web.RobotsTooMany}, says: "status 429", requests: 1, low: 2 * time.Second},
		"AReset": {site: web.Site{Robots: web.RobotsReset}, says: "fetch: reset", requests: 1, low: 2 * time.Second},
		"AHang":  {site: web.Site{Robots: web.RobotsHang}, limits: quick, says: "fetch: timeout", requests: 1, low: 2 * time.Second},
	}
	bundles := setupCases(t, options{}, cases, func(c testCase) web.Site {
		c.site.Pages, c.site.Plain = -1, true
		return c.site
	})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundles[name]
			b.acts = b.worker(t, options{limits: tc.limits})
			b.seed(t, "/")
			_, err := b.fetchRobots(t, b.robotsInput(t))
			wait := requireSiteFailure(t, err)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, "attempt 1 of 4 failed: ")
			require.GreaterOrEqual(t, wait, tc.low)
			require.LessOrEqual(t, wait, tc.low*5/4)

			r := b.robots(t)
			require.Equal(t, crawl.RobotsUnreachable, r.Verdict)
			require.Contains(t, r.Reason, tc.says)
			require.Equal(t, 1, r.Failures)
			require.Len(t, b.log(), tc.requests)
			b.requireNothingInFlight(t)

			// meanwhile nothing of the origin is fetched, and nothing is lost
			res, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, activities.StepFetch, res.Next)
			require.Zero(t, res.Closed)
			require.Greater(t, time.Duration(res.Wait), time.Second)
			require.Empty(t, b.pages())
			crawls := b.report(t, "/").Crawls
			require.Len(t, crawls, 1)
			require.Empty(t, crawls[0].Outcome)
			require.WithinDuration(t, r.ExpiresAt, crawls[0].ScheduledFor, 0)
		})
	}

	t.Run("IsPutOffForHoursAfterFourTries", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsSite(web.RobotsError)})
		b.seed(t, "/", "/p/1")
		for i, low := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
			_, err := b.fetchRobots(t, b.robotsInput(t))
			wait := requireSiteFailure(t, err)
			require.GreaterOrEqual(t, wait, low)
			require.LessOrEqual(t, wait, low*5/4)
			left, reason := b.slot(t)
			require.Equal(t, reasons.Robots, reason)
			require.InDelta(t, wait, left, float64(low/2)+float64(time.Second), "try %d", i+1)
			b.later(t)
		}
		for _, hours := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 720, 720} {
			want := time.Duration(hours) * time.Hour
			res, err := b.fetchRobots(t, b.robotsInput(t))
			require.NoError(t, err)
			require.True(t, res.Done)
			require.Equal(t, crawl.RobotsUnreachable, res.Verdict)
			r := b.robots(t)
			require.WithinDuration(t, r.FetchedAt.Add(want), r.ExpiresAt, time.Second)
			pages, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, activities.StepFinish, pages.Next)
			require.False(t, pages.Defer, "the domain may have other origins")
			require.Equal(t, 2, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL AND scheduled_for = $1", r.ExpiresAt))
			b.later(t)
		}
		require.Empty(t, b.pages())
		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainActive, dom.Status, "it is not given up, whatever its origins do")
	})

	t.Run("KeepsItsCrawlDelay", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsFile(turns{answers: []func(*web.Visit){
			says("User-agent: *\nCrawl-delay: 20\n"),
			func(v *web.Visit) { web.Status{Code: 503}.Serve(v) },
		}})})
		b.seed(t, "/")
		b.readRobots(t)
		b.exec(t, "UPDATE robots SET read_at = now() - interval '2 days', expires_at = now()")
		b.exec(t, "UPDATE politeness_slots SET free_at = now()")
		_, err := b.fetchRobots(t, b.robotsInput(t))
		requireSiteFailure(t, err)
		r := b.robots(t)
		require.Equal(t, crawl.RobotsUnreachable, r.Verdict)
		require.Equal(t, 20*time.Second, time.Duration(*r.CrawlDelay), "a failing host is not to be asked faster")
	})

	t.Run("IsReadAgainOnceItIsBack", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsFile(web.Flaky{First: 1})})
		b.seed(t, "/")
		_, err := b.fetchRobots(t, b.robotsInput(t))
		requireSiteFailure(t, err)
		b.later(t)
		b.readRobots(t)
		require.Zero(t, b.robots(t).Failures)
	})

	t.Run("IsLeftAloneForItsRetryAfter", func(t *testing.T) {
		t.Parallel()
		const asked = 90 * time.Second
		b := setup(t, options{sites: robotsFile(web.Status{Code: 503, RetryAfter: asked})})
		b.seed(t, "/")
		_, err := b.fetchRobots(t, b.robotsInput(t))
		require.GreaterOrEqual(t, requireSiteFailure(t, err), asked)
		left, _ := b.slot(t)
		require.Greater(t, left, asked-30*time.Second)
	})

	t.Run("PutsTheOriginOffForALongWait", func(t *testing.T) {
		t.Parallel()
		const asked = 3 * time.Hour
		b := setup(t, options{
			sites:    robotsFile(web.Status{Code: 429, RetryAfter: asked}),
			settings: settings.Settings{DeferAfter: new(settings.Duration(time.Hour))},
		})
		b.seed(t, "/")
		res, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.True(t, res.Done)
		require.Equal(t, crawl.RobotsUnreachable, res.Verdict)
		left, reason := b.slot(t)
		require.Equal(t, reasons.RetryAfter, reason)
		require.Greater(t, left, asked-time.Minute)
		pages, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, pages.Next)
	})
}

// later makes the waits that are stored pass.
func (b *testBundle) later(t *testing.T) {
	t.Helper()
	b.exec(t, "UPDATE robots SET expires_at = now()")
	b.exec(t, "UPDATE politeness_slots SET free_at = now()")
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
}

func TestFetchRobotsWhenInterrupted(t *testing.T) {
	t.Parallel()

	// cancelled is as Temporal cancels an activity.
	cancelled := func(t *testing.T) (context.Context, func()) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		return ctx, func() { cancel(temporal.NewCanceledError()) }
	}
	run := func(t *testing.T, b *testBundle, with envOption) (activities.FetchRobotsResult, error) {
		t.Helper()
		return activityCall[activities.FetchRobotsResult](t, b.acts, b.acts.FetchRobots, b.robotsInput(t), with)
	}

	t.Run("WithTheSlotTakenMakesTheRequest", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := cancelled(t)
		b := setup(t, options{wrap: func(f activities.Fetcher) activities.Fetcher { return cancelling{f, cancel} }})
		b.seed(t, "/")
		res, err := run(t, b, cancelledBy(ctx))
		require.NoError(t, err)
		require.True(t, res.Done)
		b.requireNothingInFlight(t)
	})

	t.Run("DuringTheRequestFinishesIt", func(t *testing.T) {
		t.Parallel()
		g := newGate()
		b := setup(t, options{
			sites: robotsFile(g), settings: settings.Settings{Delay: new(settings.Duration(time.Minute))},
		})
		b.seed(t, "/")
		ctx, cancel := cancelled(t)
		go func() {
			<-g.arrived
			cancel()
			close(g.open)
		}()
		res, err := run(t, b, cancelledBy(ctx))
		require.NoError(t, err)
		require.True(t, res.Done)
		require.Zero(t, b.robots(t).Failures)
		left, reason := b.slot(t)
		require.Greater(t, left, 30*time.Second)
		require.Equal(t, reasons.Delay, reason)
		b.requireNothingInFlight(t)
	})

	t.Run("BeforeAFailureHandsTheWaitOver", func(t *testing.T) {
		t.Parallel()
		stop := make(chan struct{})
		b := setup(t, options{sites: robotsFile(serve(func(v *web.Visit) {
			close(stop)
			web.Status{Code: 503, RetryAfter: 90 * time.Second}.Serve(v)
		}))})
		b.seed(t, "/")
		_, err := run(t, b, stoppedBy(stop))
		require.Equal(t, 90*time.Second, requireSiteFailure(t, err))
		require.Equal(t, 1, b.robots(t).Failures)
	})
}
