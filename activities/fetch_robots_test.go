package activities_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/robots"
	"github.com/mosey-web/mosey/manners/web"
)

// robotsSite is a site with this kind of robots.txt.
func robotsSite(kind web.RobotsFile) []web.Site {
	return []web.Site{{Pages: -1, Plain: true, Robots: kind}}
}

// robotsFile is a site with this robots.txt.
func robotsFile(b web.Behaviour) []web.Site {
	return []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/robots.txt": b}}}
}

// robotsInput asks for the site's robots.txt.
func (b *testBundle) robotsInput(t *testing.T) activities.FetchRobotsInput {
	t.Helper()
	return activities.FetchRobotsInput{Domain: b.site, Origin: originOf(t, b.page("/"))}
}

// robots returns the stored robots.txt of the site.
func (b *testBundle) robots(t *testing.T) crawl.Robots {
	t.Helper()
	r, err := b.store.Robots(t.Context(), originOf(t, b.page("/")))
	require.NoError(t, err)
	return r
}

// followRobots calls FetchRobots as a workflow does, until it is done or fails.
func (b *testBundle) followRobots(t *testing.T) (activities.FetchRobotsResult, error) {
	t.Helper()
	return b.followRobotsFrom(t, b.robotsInput(t))
}

func (b *testBundle) followRobotsFrom(
	t *testing.T, in activities.FetchRobotsInput,
) (activities.FetchRobotsResult, error) {
	t.Helper()
	for {
		res, err := b.fetchRobots(t, in)
		if err != nil || res.Done {
			return res, err
		}
		time.Sleep(time.Duration(res.Wait))
		in.Origin, in.Kind = cmp.Or(res.Origin, in.Origin), res.Kind
		in.URL, in.Hops, in.Queued = res.URL, res.Hops, res.Queued
	}
}

// slot is until when the site's domain is left alone, from now on, and why.
func (b *testBundle) slot(t *testing.T) (time.Duration, reasons.Reason) {
	t.Helper()
	d, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	return time.Until(d.SlotFree), d.SlotReason
}

func TestFetchRobots(t *testing.T) {
	t.Parallel()

	t.Run("StoresTheRules", func(t *testing.T) {
		t.Parallel()
		file := web.Content{Type: "text/plain", Body: "User-agent: *\nDisallow: /\n\nUser-agent: Mosey\nDisallow: /no\n" +
			"Crawl-delay: 21.5\nSitemap: https://example.org/map.xml\nSitemap: nonsense\n"}
		b := setup(t, options{sites: robotsFile(file)})
		b.seed(t, "/no", "/yes")
		res, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.Equal(t, activities.FetchRobotsResult{Done: true, Verdict: crawl.RobotsRules}, res)

		r := b.robots(t)
		require.Equal(t, crawl.RobotsRules, r.Verdict)
		require.Equal(t, agent, r.Agent)
		require.Equal(t, b.site, r.Domain)
		require.Equal(t, 200, r.StatusCode)
		require.Equal(t, 21500*time.Millisecond, time.Duration(*r.CrawlDelay))
		require.Equal(t, []string{"https://example.org/map.xml"}, r.Sitemaps)
		require.WithinDuration(t, r.FetchedAt.Add(24*time.Hour), r.ExpiresAt, time.Second)

		// its Crawl-delay holds from this answer on
		wait, reason := b.slot(t)
		require.Equal(t, reasons.CrawlDelay, reason)
		require.LessOrEqual(t, wait, 21500*time.Millisecond)
		pages, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, 1, pages.Closed)
		require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/no").Crawls[0].Outcome)
		require.Equal(t, b.page("/yes"), pages.URL)
	})

	t.Run("IsARequestOfTheDomain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{settings: settings.Settings{Delay: new(settings.Duration(time.Minute))}})
		b.seed(t, "/")
		b.readRobots(t)
		b.requireSlot(t, b.web.Log()[0], time.Minute, reasons.Delay)
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Equal(t, reasons.Delay, res.Reason)
		require.Greater(t, time.Duration(res.Wait), 30*time.Second)
		require.Empty(t, b.pages())

		// and waits for its own turn
		b.exec(t, "DELETE FROM robots")
		again, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.False(t, again.Done)
		require.Equal(t, reasons.Delay, again.Reason)
		require.Greater(t, time.Duration(again.Wait), 30*time.Second)
		require.Len(t, b.web.Log(), 1)
		b.requireNothingInFlight(t)
	})

	t.Run("AsksOnlyWhenItHasTo", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.readRobots(t)
		b.readRobots(t)
		require.Len(t, b.web.Log(), 1)
		for i, change := range []string{"expires_at = now()", "agent = 'another'"} {
			b.exec(t, "UPDATE robots SET "+change)
			b.readRobots(t)
			require.Len(t, b.web.Log(), i+2, change)
		}
	})

	t.Run("GoesSlowerWhereItCannotUnderstand", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsSite(web.RobotsHTML)})
		b.seed(t, "/")
		b.readRobots(t)
		require.Equal(t, time.Second, time.Duration(*b.robots(t).CrawlDelay))
		_, reason := b.slot(t)
		require.Equal(t, reasons.CrawlDelay, reason)
	})

	t.Run("DropsALineThatIsCut", func(t *testing.T) {
		t.Parallel()
		head := "User-agent: *\nDisallow: /private/\n"
		last := "Disallow: /p"
		// "Disallow: /p" and, past the limit, "rivate/2"
		filler := "#" + strings.Repeat("x", robots.MaxBytes-len(head)-len(last)-2) + "\n"
		file := web.Content{Type: "text/plain", Body: head + filler + last + "rivate/2\n"}
		b := setup(t, options{sites: robotsFile(file)})
		b.seed(t, "/p/1", "/private/1")
		b.readRobots(t)
		_, err := b.fetchPages(t, 2)
		require.NoError(t, err)
		require.Equal(t, []string{"/p/1"}, b.pages())
	})

	t.Run("RefusesAnOriginThatIsNone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		for _, in := range []activities.FetchRobotsInput{
			{Domain: b.site, Origin: "nonsense"},
			{Domain: b.site, Origin: originOf(t, b.page("/")), URL: "ftp://example.org/"},
		} {
			_, err := b.fetchRobots(t, in)
			requireBadInput(t, err, "URL")
		}
	})
}

func TestFetchRobotsReads(t *testing.T) {
	t.Parallel()
	type testCase struct {
		kind    web.RobotsFile
		verdict crawl.RobotsVerdict
		says    string
	}
	cases := map[string]testCase{
		"None":         {web.RobotsNone, crawl.RobotsAllowAll, "status 404: everything is allowed"},
		"Forbidden":    {web.RobotsForbidden, crawl.RobotsAllowAll, "status 403: everything is allowed"},
		"Unauthorized": {web.RobotsUnauthorized, crawl.RobotsAllowAll, "status 401: everything is allowed"},
		"HTML":         {web.RobotsHTML, crawl.RobotsDisallowAll, "is an HTML or XML document: nothing is allowed"},
		"Binary":       {web.RobotsBinary, crawl.RobotsDisallowAll, "is binary data: nothing is allowed"},
		"Huge":         {web.RobotsHuge, crawl.RobotsRules, ""},
		"BOM":          {web.RobotsBOM, crawl.RobotsRules, ""},
	}
	bundles := setupCases(t, options{}, cases, func(c testCase) web.Site { return robotsSite(c.kind)[0] })
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundles[name]
			b.seed(t, "/", "/private/1")
			res := b.readRobots(t)
			require.Equal(t, want.verdict, res.Verdict)
			require.Equal(t, want.says, res.Detail)
			b.exec(t, "UPDATE politeness_slots SET free_at = now() WHERE key = $1", "domain:"+b.site)
			_, err := b.fetchPages(t, 2)
			require.NoError(t, err)
			allowed := []string{}
			for _, target := range []string{"/", "/private/1"} {
				if done := b.report(t, target).Crawls[0]; done.Outcome != crawl.OutcomeBlockedRobots {
					allowed = append(allowed, target)
				} else if want.says != "" {
					require.Equal(t, "robots.txt: "+want.says, done.Error)
				}
			}
			require.ElementsMatch(t, allowed, b.pages())
			for _, target := range []string{"/", "/private/1"} {
				require.Equal(t, b.web.Allowed(b.page(target)), slices.Contains(allowed, target), target)
			}
		})
	}
}

func TestFetchRobotsFollowsRedirects(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	paced := settings.Settings{Delay: new(settings.Duration(delay)), IPDelay: new(settings.Duration(delay))}

	for kind, hops := range map[web.RobotsFile]int{
		web.RobotsChain: 5, web.RobotsWWW: 1, web.RobotsOther: 1,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: robotsSite(kind), settings: paced})
			b.seed(t, "/private/1")
			res, err := b.followRobots(t)
			require.NoError(t, err)
			require.Equal(t, crawl.RobotsRules, res.Verdict)
			report := web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Delay: delay, IPDelay: delay, Partial: true})
			require.Empty(t, report.Violations(), "each hop is paced")
			require.Equal(t, hops+1, report.Answered)
			_, err = b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/private/1").Crawls[0].Outcome,
				"what is found holds for the origin that redirected")
			require.Zero(t, b.count(t, "SELECT count(*) FROM politeness_slots WHERE holder IS NOT NULL"),
				"the slots of a domain on the way are given back too")
		})
	}

	t.Run("OneHopACall", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsSite(web.RobotsChain)})
		b.seed(t, "/")
		res, err := b.fetchRobots(t, b.robotsInput(t))
		require.NoError(t, err)
		require.Equal(t, activities.FetchRobotsResult{URL: b.page("/r/1"), Hops: 1}, res)
		require.Len(t, b.web.Log(), 1)
		_, err = b.store.Robots(t.Context(), originOf(t, b.page("/")))
		require.ErrorIs(t, err, crawl.ErrNotFound, "nothing is known yet")
	})

	t.Run("NotForEver", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsSite(web.RobotsMany)})
		b.seed(t, "/")
		_, err := b.followRobots(t)
		requireSiteFailure(t, err)
		require.ErrorContains(t, err, "redirects more than 5 times")
		require.Len(t, b.web.Log(), 6)
		require.Equal(t, crawl.RobotsUnreachable, b.robots(t).Verdict)
	})

	t.Run("NotToWhereItMayNot", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: robotsFile(serve(func(v *web.Visit) {
			_, port, _ := strings.Cut(v.R.Host, ":")
			web.Redirect{To: "http://127.0.0.1:" + port + "/robots.txt"}.Serve(v)
		}))})
		b.seed(t, "/")
		_, err := b.followRobots(t)
		requireSiteFailure(t, err)
		require.ErrorContains(t, err, "redirects to 127.0.0.1, whose address 127.0.0.1 is not public")
		require.Len(t, b.web.Log(), 1, "the redirect's target was not asked")
		require.Equal(t, crawl.RobotsUnreachable, b.robots(t).Verdict)
	})

	for name, location := range map[string]string{
		"NotWithoutALocation": "", "NotToBadUTF8": "gopher://\xff\xfe/", "NotToAnAbyss": "/" + strings.Repeat("é", 9000),
		"NotToWhatNoPayloadHolds": "/?" + strings.Repeat("&", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\nLocation: " + location + "\r\n\r\n"
			b := setup(t, options{sites: robotsFile(raw(answer))})
			b.seed(t, "/")
			_, err := b.followRobots(t)
			requireSiteFailure(t, err)
			require.Equal(t, crawl.RobotsUnreachable, b.robots(t).Verdict)
			b.requireNothingInFlight(t)
		})
	}
}

// What is forbidden by a rule that is not well-formed is not requested, from the
// answer on the wire to the request.
func TestRobotsThatAreNotWellFormedForbid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		robots            string
		allowed, disallow string
	}{
		"BarePercent":       {"User-agent: *\nDisallow: /*%\n", "/plain", "/a%C3%A9"},
		"CutEscape":         {"User-agent: *\nDisallow: /a%2\n", "/a%3Fb", "/a%2Fb"},
		"AllowWithoutSlash": {"User-agent: *\nAllow: app/uploads/\nDisallow: /*?\n", "/app/uploads/a", "/app/uploads/a?b=c"},
		"NoBreakSpace":      {"User-agent: *\nDisallow:\u00a0/a\u00a0\n", "/b", "/a"},
		"Semicolon":         {"User-agent: *\nDisallow; /a\n", "/b", "/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: serving(map[string]web.Behaviour{
				"/robots.txt": turns{answers: []func(*web.Visit){says(c.robots)}}, c.allowed: page{}, c.disallow: page{},
			})})
			b.seed(t, c.allowed, c.disallow)
			b.follow(t)
			require.Equal(t, []string{c.allowed}, b.pages())
			require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, c.disallow).Crawls[0].Outcome)
		})
	}
}

// A robots.txt whose response only browsers read is obeyed.
func TestRobotsInOddResponses(t *testing.T) {
	t.Parallel()
	const rules = "User-agent: *\nDisallow: /a\n"
	for name, head := range map[string]string{
		"ChunkedTwice":     "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n1b\n" + rules + "\n0\n\n",
		"LineWithoutColon": "no colon here\r\nContent\u2010Type: x\r\nContent-Length: aaah\r\n\r\n" + rules,
		"UnknownCoding":    "Content-Encoding: aws-chunked\r\n\r\n" + rules,
		"PlainAsGzip":      "Content-Encoding: gzip\r\n\r\n" + rules,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: robotsFile(raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + head))})
			b.seed(t, "/a", "/b")
			b.follow(t)
			require.Equal(t, []string{"/b"}, b.pages())
			require.Equal(t, crawl.RobotsRules, b.robots(t).Verdict)
		})
	}
}
