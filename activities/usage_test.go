package activities_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/manners/web"
)

// page answers with an HTML page and headers.
type page struct {
	web.Healthy

	head   string
	body   string
	header []string
}

func (b page) Serve(v *web.Visit) {
	for i := 0; i < len(b.header); i += 2 {
		v.W.Header().Set(b.header[i], b.header[i+1])
	}
	v.W.Header().Set("Content-Type", "text/html")
	v.Write([]byte("<!doctype html><title>Title</title>" + b.head + "<body>" + b.body))
}

// serving is a site with these targets, robots.txt among them perhaps.
func serving(paths map[string]web.Behaviour) []web.Site {
	return []web.Site{{Pages: -1, Plain: true, Paths: paths}}
}

// follow calls what FetchPages asks for until the site is finished.
func (b *testBundle) follow(t *testing.T) {
	t.Helper()
	for range 50 {
		res, err := b.fetchPages(t, 100)
		require.NoError(t, err)
		switch res.Next {
		case activities.StepFinish:
			return
		case activities.StepRobots:
			b.followStep(t, res.NextStep)
		case activities.StepFetch:
		}
	}
	require.Fail(t, "no end")
}

// followStep requests what a page needs first.
func (b *testBundle) followStep(t *testing.T, step activities.NextStep) {
	t.Helper()
	in := b.robotsInput(t)
	in.Origin, in.Kind = step.Origin, step.Kind
	_, err := b.followRobotsFrom(t, in)
	require.NoError(t, err)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	const links = `<a href="/linked">linked</a>`

	for name, c := range map[string]struct {
		purpose settings.Purpose
		page    page
		// forbidden says that nothing of the page may be kept, and why
		forbidden string
		followed  bool
		noIndex   bool
		usage     string
	}{
		"NothingSaid":            {followed: true},
		"NoindexIsKept":          {page: page{head: `<meta name=robots content=noindex>`}, followed: true, noIndex: true, usage: `{"noindex": "meta robots"}`},
		"HeaderForUsAlone":       {page: page{header: []string{"X-Robots-Tag", "mosey: nofollow"}}, usage: `{"nofollow": "X-Robots-Tag to mosey"}`},
		"HeaderForOthers":        {page: page{header: []string{"X-Robots-Tag", "otherbot: none"}}, followed: true},
		"NoAIForbidsTraining":    {purpose: settings.PurposeAITrain, page: page{head: `<meta name=robots content=noai>`}, forbidden: "noai", usage: `{"noai": "meta robots"}`},
		"NoAIForbidsNoSearch":    {page: page{head: `<meta name=robots content=noai>`}, followed: true, usage: `{"noai": "meta robots"}`},
		"TDMForbidsTraining":     {purpose: settings.PurposeAITrain, page: page{header: []string{"tdm-reservation", "1"}}, forbidden: "a TDM reservation", usage: `{"tdm_reserved": "the header tdm-reservation"}`},
		"NoarchiveForbidsCopies": {purpose: settings.PurposeArchive, page: page{head: `<meta name=mosey content=noarchive>`}, forbidden: "noarchive", usage: `{"noarchive": "meta mosey"}`},
		"ContentSignalOfAPage":   {page: page{header: []string{"Content-Signal", "search=no"}}, forbidden: "search=no", usage: `{"content_signals": {"search": {"answer": "no", "by": "the header Content-Signal"}}}`},
		"UseOfNothing":           {page: page{header: []string{"Content-Signal", "search=yes,use=immediate"}}, forbidden: "use=immediate", usage: `{"content_signals": {"search": {"answer": "yes", "by": "the header Content-Signal"}, "use": {"answer": "immediate", "by": "the header Content-Signal"}}}`},
		"UseByReference":         {page: page{header: []string{"Content-Signal", "use=reference"}}, followed: true, usage: `{"content_signals": {"use": {"answer": "reference", "by": "the header Content-Signal"}}}`},
		"UseForbidsArchives":     {purpose: settings.PurposeArchive, page: page{header: []string{"Content-Signal", "use=reference, use=full"}}, forbidden: "use=reference", usage: `{"content_signals": {"use": {"answer": "reference", "by": "the header Content-Signal"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.purpose == "" {
				c.purpose = settings.PurposeSearch
			}
			c.page.body = links
			b := setup(t, options{
				sites:    serving(map[string]web.Behaviour{"/": c.page, "/linked": page{}}),
				settings: settings.Settings{Purpose: &c.purpose},
			})
			b.seed(t, "/")
			b.follow(t)
			r := b.report(t, "/")
			require.Equal(t, crawl.OutcomeSuccess, r.Crawls[0].Outcome)
			require.Equal(t, c.noIndex, r.NoIndex)
			if c.usage == "" {
				require.Empty(t, r.Usage)
			} else {
				require.JSONEq(t, c.usage, string(r.Usage))
			}
			if c.forbidden != "" {
				require.Empty(t, r.Title, "nothing of what it says is kept")
				require.Zero(t, b.count(t, "SELECT count(*) FROM pages WHERE url = $1", b.page("/linked")), "its links are part of that")
				require.Zero(t, b.count(t, "SELECT count(*) FROM pages WHERE url = $1 AND (content_hash IS NOT NULL OR etag IS NOT NULL)", b.page("/")))
				require.Contains(t, r.Crawls[0].Error, fmt.Sprintf("%s is forbidden by %s", c.purpose, c.forbidden))
			} else {
				require.Equal(t, "Title", r.Title)
			}
			require.Equal(t, c.followed, slices.Contains(b.pages(), "/linked"))
		})
	}

	t.Run("ContentSignalInRobotsSparesTheRequest", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{
			"/": page{}, "/robots.txt": turns{answers: []func(*web.Visit){says("User-agent: *\nContent-Signal: search=no, ai-train=yes\nAllow: /\n")}},
		})})
		b.seed(t, "/")
		b.follow(t)
		require.Empty(t, b.pages())
		require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/").Crawls[0].Outcome)
		require.Equal(t, "search is forbidden by search=no (Content-Signal in robots.txt)", b.report(t, "/").Crawls[0].Error)
	})

	t.Run("ContentUsageInRobotsIsOfPaths", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites: serving(map[string]web.Behaviour{
				"/": page{}, "/ours/1": page{}, "/header": page{header: []string{"Content-Usage", "train-ai=n"}},
				"/robots.txt": turns{answers: []func(*web.Visit){says("User-agent: *\nContent-Usage: /ours/ train-ai=n\nContent-Usage: / train-ai=y\n")}},
			}),
			settings: settings.Settings{Purpose: new(settings.PurposeAITrain)},
		})
		b.seed(t, "/", "/ours/1", "/header")
		b.follow(t)
		require.ElementsMatch(t, []string{"/.well-known/tdmrep.json", "/", "/header"}, b.pages())
		require.Equal(t, "ai-train is forbidden by ai-train=no (Content-Usage in robots.txt)", b.report(t, "/ours/1").Crawls[0].Error)
		require.Contains(t, b.report(t, "/header").Crawls[0].Error, "ai-train is forbidden by ai-train=no (the header Content-Usage)")
		require.Empty(t, b.report(t, "/header").Title)
		require.Equal(t, "Title", b.report(t, "/").Title)
	})

	t.Run("TermsOfServiceAreNoted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{
			"/": page{header: []string{"Link", `</style.css>; rel=preload, </terms>; rel="terms-of-service"`}},
		})})
		b.seed(t, "/")
		b.follow(t)
		require.JSONEq(t, `{"terms": "`+b.page("/terms")+`"}`, string(b.report(t, "/").Usage))
		require.Equal(t, []string{"/"}, b.pages(), "nobody asks for them")
	})

	t.Run("LicencesAreNoted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{
			"/robots.txt": serve(says("License: https://rsl.example/site.xml\nUser-agent: *\nDisallow: /x\n")),
			"/":           page{},
			"/header":     page{header: []string{"Link", `</rsl.xml>; rel="license"; type="application/rsl+xml"`}},
			"/page":       page{head: `<link rel=license type=application/rsl+xml href=/page.xml>`},
		})})
		b.seed(t, "/", "/header", "/page")
		b.follow(t)
		license := func(url string, by usage.Source) string {
			data, err := json.Marshal(usage.Usage{License: url, LicenseBy: by})
			require.NoError(t, err)
			return string(data)
		}
		require.JSONEq(t, license("https://rsl.example/site.xml", usage.SourceRobotsLicense), string(b.report(t, "/").Usage))
		require.JSONEq(t, license(b.page("/rsl.xml"), usage.SourceHeaderLicense), string(b.report(t, "/header").Usage))
		require.JSONEq(t, license(b.page("/page.xml"), usage.SourceLinkLicense), string(b.report(t, "/page").Usage))
		require.ElementsMatch(t, []string{"/", "/header", "/page"}, b.pages(), "nobody asks for them")
	})

	const tdm = "/.well-known/tdmrep.json"
	reserved := `[{"location": "/mine/*", "tdm-reservation": 1}, {"location": "/", "tdm-reservation": 0}]`
	for name, c := range map[string]struct {
		purpose settings.Purpose
		robots  string
		file    web.Behaviour
		asked   []string
		why     string
	}{
		"IsNotAskedForWhereItDoesNotMatter": {settings.PurposeSearch, "", page{}, []string{"/", "/mine/1"}, ""},
		"ReservesSomePaths": {
			settings.PurposeAITrain, "",
			turns{answers: []func(*web.Visit){says(reserved)}},
			[]string{tdm, "/"},
			"ai-train is forbidden by a TDM reservation (/.well-known/tdmrep.json)",
		},
		"ThatIsAPageReservesNothing":      {settings.PurposeAITrain, "", page{}, []string{tdm, "/", "/mine/1"}, ""},
		"ThatIsMissingReservesNothing":    {settings.PurposeAITrain, "", web.Status{Code: 404}, []string{tdm, "/", "/mine/1"}, ""},
		"ThatCannotBeReadMayReserveAll":   {settings.PurposeAITrain, "", web.Status{Code: 500}, []string{tdm}, "ai-train is forbidden by a TDM reservation"},
		"ThatIsDisallowedMayReserveAll":   {settings.PurposeAITrain, "User-agent: *\nDisallow: /.well-known/\n", page{}, []string{}, "but robots.txt line 2 disallows reading it"},
		"IsOnlyAskedForWherePagesAllowed": {settings.PurposeAITrain, "User-agent: *\nDisallow: /\n", page{}, []string{}, "but robots.txt line 2 disallows reading it"},
	} {
		t.Run("TDMFile"+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{
				sites: serving(map[string]web.Behaviour{
					"/": page{}, "/mine/1": page{}, tdm: c.file, "/robots.txt": turns{answers: []func(*web.Visit){says(c.robots)}},
				}),
				settings: settings.Settings{Purpose: &c.purpose},
			})
			b.seed(t, "/", "/mine/1")
			b.follow(t)
			require.ElementsMatch(t, c.asked, b.pages())
			last := b.report(t, "/mine/1").Crawls[0]
			if c.why == "" {
				require.Equal(t, crawl.OutcomeSuccess, last.Outcome)
				return
			}
			require.Equal(t, crawl.OutcomeBlockedRobots, last.Outcome)
			require.Contains(t, last.Error, c.why)
			b.requireNothingInFlight(t)
		})
	}
}

// A tdmrep.json that is elsewhere is read there, within the domain.
func TestRedirectedTDMFile(t *testing.T) {
	t.Parallel()
	const tdm = "/.well-known/tdmrep.json"
	const unknown = "ai-train is forbidden by a TDM reservation"
	file := turns{answers: []func(*web.Visit){says(`[{"location": "/mine/*", "tdm-reservation": 1}]`)}}
	for name, c := range map[string]struct {
		to     string
		robots string
		asked  []string
		reason string // of what is stored; empty for none
	}{
		"OnTheOrigin":        {to: "/tdm.json", asked: []string{tdm, "/tdm.json", "/"}},
		"ThatIsDisallowed":   {to: "/tdm.json", robots: "User-agent: *\nDisallow: /tdm\n", asked: []string{tdm}, reason: "redirects to a URL that robots.txt disallows"},
		"ToAnotherDomain":    {to: "http://elsewhere.test{port}" + tdm, asked: []string{tdm}, reason: "redirects to another domain"},
		"WithoutAnEnd":       {to: tdm, asked: []string{tdm, tdm, tdm, tdm, tdm, tdm}, reason: "redirects more than 5 times"},
		"ToNowhere":          {to: "http://[", asked: []string{tdm}, reason: "redirects to an unusable location"},
		"ToWhatIsNotThere":   {to: "/none", asked: []string{tdm, "/none", "/", "/mine/1"}},
		"ToAServerThatFails": {to: "/503", asked: []string{tdm, "/503"}, reason: "status 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{
				sites: serving(map[string]web.Behaviour{
					"/": page{}, "/mine/1": page{}, tdm: web.Redirect{To: c.to}, "/tdm.json": file,
					"/none": web.Status{Code: 404}, "/503": web.Status{Code: 503},
					"/robots.txt": turns{answers: []func(*web.Visit){says(c.robots)}},
				}),
				settings: settings.Settings{Purpose: new(settings.PurposeAITrain)},
			})
			b.seed(t, "/", "/mine/1")
			b.follow(t)
			require.Equal(t, c.asked, b.pages())
			if c.reason == "" {
				require.Empty(t, b.robots(t).Reason)
			} else {
				require.Contains(t, b.report(t, "/").Crawls[0].Error, unknown)
				require.Contains(t, b.robots(t).Reason, tdm+" "+c.reason)
				require.LessOrEqual(t, time.Duration(b.robots(t).Lifetime), time.Hour, "it is asked for again")
			}
			b.requireNothingInFlight(t)
		})
	}

	t.Run("OfAnotherOriginAfterItsRobots", func(t *testing.T) {
		t.Parallel()
		sites := serving(map[string]web.Behaviour{"/": page{}, "/mine/1": page{}, tdm: file})
		sites[0].WWW = true
		b := setup(t, options{sites: sites, settings: settings.Settings{Purpose: new(settings.PurposeAITrain)}})
		www := func(target string) string { return b.web.URL("www."+b.site, target) }
		b.seedURLs(t, www("/"), www("/mine/1"))
		b.follow(t)
		asked := []string{}
		for _, r := range b.log() {
			asked = append(asked, r.URL())
		}
		require.Equal(t, []string{
			www("/robots.txt"), www(tdm), b.page("/robots.txt"), b.page(tdm), www(tdm), www("/"), b.page("/"),
		}, asked)
	})
}

// answering fetches six seeds of a site that answers each alike, until the domain is judged.
func answering(t *testing.T, behaviour web.Behaviour, others map[string]web.Behaviour) (b *testBundle, targets []string) {
	t.Helper()
	paths := maps.Clone(others)
	for i := range 6 {
		targets = append(targets, fmt.Sprintf("/secret/%c", 'a'+i))
		paths[targets[i]] = behaviour
	}
	b = setup(t, options{sites: serving(paths), settings: settings.Settings{MaxGraylistings: new(1)}})
	b.seed(t, targets...)
	b.allowAll(t, b.page("/"))
	_, err := b.fetchPages(t, 50)
	require.NoError(t, err)
	return b, targets
}

// A site that answers with login pages refuses us, as by 403.
func TestLoginPagesAreRefusals(t *testing.T) {
	t.Parallel()
	form := page{body: `<form><input name=user><input type=password></form>`}
	for name, c := range map[string]struct {
		behaviour web.Behaviour
		blocked   bool
	}{
		"InPlaceOfPages":     {behaviour: form, blocked: true},
		"BehindARedirect":    {behaviour: web.Redirect{To: "/account/login?back=1"}, blocked: true},
		"NotPagesWithoutOne": {behaviour: page{body: `<p>Hello.`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := answering(t, c.behaviour, map[string]web.Behaviour{"/account/login?back=1": form})
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, c.blocked, d.Status == crawl.DomainBlocked, d.Status)
		})
	}
}

// Every answer's header is read, also that of one that has no news: pages gain
// signals while they stay as they are.
func TestUsageOfAnUnchangedPage(t *testing.T) {
	t.Parallel()
	const html = `<title>Title</title><meta name=robots content=nosnippet><p><a href="/linked">linked</a>`
	first := says(html, "Content-Type", "text/html", "ETag", `"1"`)
	answer := func(code int, header ...string) func(*web.Visit) {
		return func(v *web.Visit) {
			for i := 0; i < len(header); i += 2 {
				v.W.Header().Set(header[i], header[i+1])
			}
			v.W.Header().Set("ETag", `"1"`)
			v.W.Header().Set("Content-Type", "text/html")
			v.W.WriteHeader(code)
		}
	}
	for name, c := range map[string]struct {
		purpose   settings.Purpose
		first     func(*web.Visit)
		second    func(*web.Visit)
		usage     string
		forbidden bool
		followed  bool
	}{
		"304":                       {settings.PurposeSearch, first, answer(304, "X-Robots-Tag", "noai"), `{"nosnippet": "meta robots", "noai": "X-Robots-Tag"}`, false, true},
		"304ThatForbids":            {settings.PurposeAITrain, first, answer(304, "X-Robots-Tag", "noai"), `{"nosnippet": "meta robots", "noai": "X-Robots-Tag"}`, true, false},
		"304ThatReserves":           {settings.PurposeAITrain, first, answer(304, "tdm-reservation", "1"), `{"nosnippet": "meta robots", "tdm_reserved": "the header tdm-reservation"}`, true, false},
		"304ThatSaysNofollow":       {settings.PurposeSearch, first, answer(304, "X-Robots-Tag", "nofollow"), `{"nosnippet": "meta robots", "nofollow": "X-Robots-Tag"}`, false, false},
		"200OfTheSameTag":           {settings.PurposeSearch, first, answer(200, "X-Robots-Tag", "noindex"), `{"nosnippet": "meta robots", "noindex": "X-Robots-Tag"}`, false, true},
		"200OfTheSameTagThatForbid": {settings.PurposeAITrain, first, answer(200, "X-Robots-Tag", "noai"), `{"nosnippet": "meta robots", "noai": "X-Robots-Tag"}`, true, false},
		"304LeavesOutWhatHolds":     {settings.PurposeSearch, says(html, "Content-Type", "text/html", "ETag", `"1"`, "X-Robots-Tag", "noarchive"), answer(304), `{"nosnippet": "meta robots", "noarchive": "X-Robots-Tag"}`, false, true},
		"200TakesItBack":            {settings.PurposeSearch, says(html, "Content-Type", "text/html", "ETag", `"1"`, "X-Robots-Tag", "noindex"), first, `{"nosnippet": "meta robots"}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{
				sites: serving(map[string]web.Behaviour{
					"/": turns{answers: []func(*web.Visit){c.first, c.second}}, "/linked": page{}, "/.well-known/tdmrep.json": web.Status{Code: 404},
				}),
				settings: settings.Settings{Purpose: &c.purpose},
			})
			b.seed(t, "/")
			b.follow(t)
			b.exec(t, "UPDATE pages SET fetched_at = fetched_at - interval '25 h' WHERE fetched_at IS NOT NULL")
			stored, err := b.store.EnsureRun(t.Context(), "second", "test", settings.Settings{
				Sitemaps: new(false),
				Purpose:  &c.purpose, Delay: new(settings.Duration), IPDelay: new(settings.Duration),
			})
			require.NoError(t, err)
			b.run = stored
			b.seed(t, "/")
			b.follow(t)
			r := b.report(t, "/")
			require.NotEmpty(t, r.Crawls[0].Unchanged)
			require.JSONEq(t, c.usage, string(r.Usage))
			require.Equal(t, strings.Contains(c.usage, "noindex"), r.NoIndex)
			if c.forbidden {
				require.Empty(t, r.Title, "nothing of what it says is kept")
				require.Contains(t, r.Crawls[0].Error, "ai-train is forbidden by")
				require.Zero(t, b.count(t, "SELECT count(*) FROM pages WHERE url = $1 AND etag IS NOT NULL", b.page("/")))
			} else {
				require.Equal(t, "Title", r.Title)
			}
			want := []string{"/", "/linked", "/"}
			if c.followed {
				want = append(want, "/linked")
			}
			require.Equal(t, want, slices.DeleteFunc(b.pages(), func(p string) bool { return p == "/.well-known/tdmrep.json" }))
		})
	}
}

// A run is bound by what a page has said, also where it does not ask for it again.
func TestUsageOfASkippedPage(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: serving(map[string]web.Behaviour{
		"/": page{head: `<meta name=robots content=noarchive>`, body: `<a href="/linked">linked</a>`}, "/linked": page{},
	})})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.follow(t)
	require.Equal(t, []string{"/", "/linked"}, b.pages(), "a search may follow its links")
	_, err := b.store.StopRun(t.Context(), b.run.ID, "over") // a crawler has one purpose at a time
	require.NoError(t, err)
	stored, err := b.store.EnsureRun(t.Context(), "archive", "test", settings.Settings{Purpose: new(settings.PurposeArchive)})
	require.NoError(t, err)
	b.run = stored
	b.seed(t, "/")
	b.follow(t)
	require.Equal(t, reasons.MinRefetch, b.report(t, "/").Crawls[0].Skipped)
	require.Len(t, b.report(t, "/linked").Crawls, 1, "an archive may not")
}
