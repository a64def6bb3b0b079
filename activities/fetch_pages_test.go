package activities_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

func TestFetchPages(t *testing.T) {
	t.Parallel()

	t.Run("AsksForRobotsBeforeAnyPage", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepRobots, Origin: originOf(t, b.page("/"))},
		}, res)
		require.Empty(t, b.web.Log())

		b.readRobots(t)
		res, err = b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 1}, res)
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("AsksForTheRobotsOfEveryOrigin", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, WWW: true}}})
		other := b.web.URL("www."+b.site, "/p/1")
		b.seedURLs(t, b.page("/"), other)
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepRobots, Origin: originOf(t, other)},
			Closed:   1,
		}, res, "the alias is of the same domain, but another origin")
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("AsksForRobotsAgainWhenTheyAreOldOrForAnotherAgent", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, Robots: web.RobotsDisallow}}})
		b.seed(t, "/")
		b.readRobots(t)
		for _, change := range []string{
			"UPDATE robots SET agent = 'another'",
			"UPDATE robots SET agent = 'mosey', expires_at = now()",
		} {
			// the rules are cached by the version, which is when they were fetched
			b.exec(t, change+", fetched_at = clock_timestamp()")
			res, err := b.fetchPages(t, 10)
			require.NoError(t, err)
			require.Equal(t, activities.StepRobots, res.Next, change)
		}
		require.Empty(t, b.pages())
	})

	t.Run("StopsAtMaxPages", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 8, Plain: true}}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 3)
		require.NoError(t, err)
		require.Equal(t, 3, res.Closed)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Contains(t, res.URL, b.page("/p/"))
		require.Len(t, b.pages(), 3)
		b.requireNothingInFlight(t)
	})

	t.Run("WaitsInTheWorkflowForLongDelays", func(t *testing.T) {
		t.Parallel()
		const delay = time.Minute
		b := setup(t, options{
			sites:    []web.Site{{Pages: 4, Plain: true}},
			settings: settings.Settings{Delay: new(settings.Duration(delay))},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		for _, want := range []int{1, 0} {
			res, err := b.fetchPages(t, 10)
			require.NoError(t, err)
			require.Equal(t, want, res.Closed)
			require.Equal(t, activities.StepFetch, res.Next)
			require.Equal(t, reasons.Delay, res.Reason)
			// the last moments are waited out in the process
			require.InDelta(t, delay, time.Duration(res.Wait), float64(20*time.Second))
			b.requireSlot(t, b.web.Log()[0], delay, reasons.Delay)
		}
		require.Len(t, b.pages(), 1)
	})

	t.Run("KeepsTheGapWithinASlice", func(t *testing.T) {
		t.Parallel()
		const delay = 900 * time.Millisecond // longer than a slice of one page waits
		b := setup(t, options{
			sites:    []web.Site{{Pages: 8, Plain: true, Behaviour: web.Slow{Latency: 50 * time.Millisecond}}},
			settings: settings.Settings{Delay: new(settings.Duration(delay))},
		})
		b.seed(t, "/")
		b.readRobots(t)
		res, err := b.fetchPages(t, 3)
		require.NoError(t, err)
		require.Equal(t, 3, res.Closed)
		require.Equal(t, activities.StepFetch, res.Next)
		report := web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Delay: delay, Partial: true})
		require.Empty(t, report.Violations())
		require.Equal(t, 4, report.Answered, "robots.txt and three pages")
	})

	t.Run("KeepsTheCrawlDelayOfRobots", func(t *testing.T) {
		t.Parallel()
		const delay = 400 * time.Millisecond
		b := setup(t, options{sites: []web.Site{{
			Pages: 4, Plain: true, Robots: web.RobotsCrawlDelay, CrawlDelay: delay,
		}}})
		b.seed(t, "/")
		b.readRobots(t)
		res, err := b.fetchPages(t, 2)
		require.NoError(t, err)
		require.Equal(t, 2, res.Closed)
		require.Equal(t, reasons.CrawlDelay, res.Reason)
		report := web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Partial: true})
		require.Empty(t, report.Violations())
		require.GreaterOrEqual(t, report.Gaps.Min, delay-time.Millisecond)
		require.Equal(t, 2, report.Gaps.N)
	})

	t.Run("QueuesForASharedAddress", func(t *testing.T) {
		t.Parallel()
		const delay = 500 * time.Millisecond
		b := setup(t, options{
			sites: []web.Site{
				{Pages: -1, Plain: true, IPGroup: "shared"}, {Pages: -1, Plain: true, IPGroup: "shared"},
			},
			settings: settings.Settings{IPDelay: new(settings.Duration(delay))},
		})
		other := b.web.Hosts()[1]
		b.seedURLs(t, b.web.Seeds()...)
		b.allowAll(t, b.page("/"))
		b.allowAll(t, b.web.URL(other, "/"))
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)

		in := activities.FetchPagesInput{Domain: other, MaxPages: 1}
		res, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
		require.NoError(t, err)
		for res.Next == activities.StepFetch { // as the workflow does
			require.Equal(t, reasons.IP, res.Reason)
			require.True(t, res.Queued)
			time.Sleep(time.Duration(res.Wait))
			in.Queued = res.Queued
			res, err = activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
			require.NoError(t, err)
		}
		require.Equal(t, 1, res.Closed)
		report := web.Judge(b.web.Log(), web.Expectations{IPDelay: delay})
		require.Empty(t, report.Violations())
		require.Equal(t, 2, report.Answered)
	})

	t.Run("QueuesForTheHostsOfARegisteredDomain", func(t *testing.T) {
		t.Parallel()
		const delay = 500 * time.Millisecond
		b := setup(t, options{
			sites:    []web.Site{{Pages: -1, Plain: true, Host: "a.group.test"}, {Pages: -1, Plain: true, Host: "b.group.test"}},
			settings: settings.Settings{Delay: new(settings.Duration(delay)), GroupBy: new(settings.GroupByRegistered)},
		})
		b.seedURLs(t, b.web.Seeds()...)
		other := b.web.Hosts()[1]
		b.allowAll(t, b.page("/"))
		b.allowAll(t, b.web.URL(other, "/"))
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		in := activities.FetchPagesInput{Domain: other, MaxPages: 1}
		res, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
		require.NoError(t, err)
		for in.Queued = true; res.Next == activities.StepFetch; {
			time.Sleep(time.Duration(res.Wait))
			res, err = activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
			require.NoError(t, err)
		}
		require.Equal(t, 1, res.Closed)
		log := b.web.Log()
		require.Len(t, log, 2)
		require.GreaterOrEqual(t, log[1].Start-log[0].End, delay-time.Millisecond)
	})

	t.Run("FinishesWhenNothingIsDueForLong", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		for due, want := range map[string]activities.Step{
			"1 hour": activities.StepFinish, "50 seconds": activities.StepFetch,
		} {
			b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + $1::text::interval", due)
			res, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, want, res.Next, due)
			require.Greater(t, time.Duration(res.Wait), 40*time.Second, due)
		}
		require.Empty(t, b.web.Log())
	})

	t.Run("StaysWithinTheBudget", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: 8, Plain: true}},
			settings: settings.Settings{MaxPages: new(int64(2))},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 10)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 2}, res)
		require.Len(t, b.pages(), 2)
	})

	t.Run("AsksNothingOfABlockedDomainOrAStoppedRun", func(t *testing.T) {
		t.Parallel()
		for _, stop := range []func(*testBundle) error{
			func(b *testBundle) error { return b.control(b.site, crawl.ControlStop, nil) },
			func(b *testBundle) error {
				_, err := b.store.StopRun(t.Context(), b.run.ID, "enough")
				return err
			},
		} {
			b := setup(t, options{})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			require.NoError(t, stop(b))
			res, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, activities.StepFinish, res.Next)
			require.Empty(t, b.web.Log())
		}
	})
}

func TestFetchPagesRecords(t *testing.T) {
	t.Parallel()

	t.Run("TheCanonicalURLOfTheHeader", func(t *testing.T) {
		t.Parallel()
		for body, want := range map[string]string{`<p>x</p>`: "/header", `<link rel=canonical href=/element>`: "/element"} {
			b := setup(t, options{sites: one(serve(func(v *web.Visit) {
				v.W.Header().Add("Link", `</style.css>; rel=preload, </header>; rel="canonical"`)
				web.Content{Type: "text/html", Body: body}.Serve(v)
			}))})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, b.page(want), b.report(t, "/").Canonical)
			require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL AND depth = 1"))
		}
	})

	t.Run("ASuccessWithItsSignalsAndLinks", func(t *testing.T) {
		t.Parallel()
		const latency = 20 * time.Millisecond
		page := serve(func(v *web.Visit) {
			v.Wait(latency)
			web.Content{Type: "text/html; charset=utf-8", Body: `<!doctype html><title> A  title </title>
				<link rel="canonical" href="/canonical"><meta name="robots" content="noindex">
				<a href="/a">a</a><a href="/a#again">a</a><a href="b?x=1">b</a>
				<a href="/private" rel="nofollow">n</a><a href="http://elsewhere.test/">e</a>`}.Serve(v)
		})
		b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/dir/page": page}}}})
		b.seed(t, "/dir/page")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepFetch, URL: b.page("/a"), Reason: reasons.Delay},
			Closed:   1,
		}, res)

		logged := b.web.Log()
		require.Len(t, logged, 1)
		addr, _ := b.web.Addr(b.site)
		rep := b.report(t, "/dir/page")
		require.Equal(t, "fetched", rep.Status)
		require.Equal(t, "A title", rep.Title)
		require.Equal(t, b.page("/canonical"), rep.Canonical)
		require.True(t, rep.NoIndex)
		require.False(t, rep.NoFollow)
		require.WithinDuration(t, rep.Crawls[0].CompletedAt, rep.FetchedAt, 0)
		require.Len(t, rep.Crawls, 1)
		done := rep.Crawls[0]
		require.Equal(t, crawl.OutcomeSuccess, done.Outcome)
		require.Equal(t, http.StatusOK, done.StatusCode)
		require.Equal(t, logged[0].Bytes, done.Bytes)
		require.Equal(t, "text/html; charset=utf-8", done.ContentType)
		require.Equal(t, addr.String(), done.IP)
		require.GreaterOrEqual(t, time.Duration(done.Duration), latency)
		require.Empty(t, done.Error)

		require.EqualValues(t, 5, rep.LinksOut, "each target once, the canonical URL among them")
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_links WHERE nofollow"))
		require.Equal(t, 3, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL AND depth = 1"))
		for target, crawls := range map[string]int{"/a": 1, "/dir/b?x=1": 1, "/private": 0} {
			require.Len(t, b.report(t, target).Crawls, crawls, target)
		}
		require.Zero(t, b.count(t, "SELECT count(*) FROM run_domains WHERE domain = 'elsewhere.test'"), "out of scope")
		b.requireNothingInFlight(t)
	})

	t.Run("ADisallowedPageWithoutARequest", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: -1, Plain: true, Robots: web.RobotsDisallow}},
			settings: settings.Settings{Delay: new(settings.Duration(time.Minute))},
		})
		b.seed(t, "/private/1", "/private/2", "/public")
		b.readRobots(t)
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, 2, res.Closed, "pages that cost no request need not wait")
		require.Equal(t, b.page("/public"), res.URL)
		require.Empty(t, b.pages())
		for _, target := range []string{"/private/1", "/private/2"} {
			rep := b.report(t, target)
			require.Equal(t, "failed", rep.Status)
			require.Len(t, rep.Crawls, 1)
			require.Equal(t, crawl.OutcomeBlockedRobots, rep.Crawls[0].Outcome)
			require.Equal(t, "robots.txt line 3: Disallow: /private/", rep.Crawls[0].Error)
			require.Zero(t, rep.Crawls[0].StatusCode)
		}
	})

	t.Run("ARedirectWithoutFollowingIt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/old": web.Redirect{To: "new#part"}, "/self": web.Redirect{To: "/self"},
			"/away": web.Redirect{Code: 302, To: "http://elsewhere.test/x"}, "/nowhere": web.Redirect{To: "javascript:1"},
		}}}})
		b.seed(t, "/old", "/self", "/away", "/nowhere")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 4)
		require.NoError(t, err)
		require.Equal(t, 4, res.Closed)
		require.ElementsMatch(t, []string{"/old", "/self", "/away", "/nowhere"}, b.pages())
		for target, want := range map[string]struct {
			status   int
			to, says string
		}{
			"/old":     {301, b.page("/new"), ""},
			"/self":    {301, "", "redirect to itself"},
			"/away":    {302, "http://elsewhere.test/x", ""},
			"/nowhere": {301, "", "redirect not followed"},
		} {
			rep := b.report(t, target)
			require.Equal(t, crawl.OutcomeSuccess, rep.Crawls[0].Outcome, target)
			require.Equal(t, want.status, rep.Crawls[0].StatusCode, target)
			require.Equal(t, want.to, rep.RedirectTo, target)
			require.Contains(t, rep.Crawls[0].Error, want.says, target)
		}
		require.Len(t, b.report(t, "/new").Crawls, 1, "the target is enqueued")
		require.Empty(t, b.report(t, "/new").Crawls[0].Outcome)
		// a seed that has moved takes its scope along
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE domain = 'elsewhere.test' AND depth = 0"))
	})
}
