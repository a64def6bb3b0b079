package activities_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
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
			_, err := b.followRobots(t)
			require.NoError(t, err)
		case activities.StepFetch:
		}
	}
	require.Fail(t, "no end")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	const links = `<a href="/linked">linked</a>`

	for name, c := range map[string]struct {
		purpose crawl.Purpose
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
		"NoAIForbidsTraining":    {purpose: crawl.PurposeAITrain, page: page{head: `<meta name=robots content=noai>`}, forbidden: "noai", followed: true, usage: `{"noai": "meta robots"}`},
		"NoAIForbidsNoSearch":    {page: page{head: `<meta name=robots content=noai>`}, followed: true, usage: `{"noai": "meta robots"}`},
		"TDMForbidsTraining":     {purpose: crawl.PurposeAITrain, page: page{header: []string{"tdm-reservation", "1"}}, forbidden: "a TDM reservation", followed: true, usage: `{"tdm_reserved": "the header tdm-reservation"}`},
		"NoarchiveForbidsCopies": {purpose: crawl.PurposeArchive, page: page{head: `<meta name=mosey content=noarchive>`}, forbidden: "noarchive", followed: true, usage: `{"noarchive": "meta mosey"}`},
		"ContentSignalOfAPage":   {page: page{header: []string{"Content-Signal", "search=no"}}, forbidden: "search=no", followed: true, usage: `{"content_signals": {"search": {"answer": "no", "by": "the header Content-Signal"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.purpose == "" {
				c.purpose = crawl.PurposeSearch
			}
			c.page.body = links
			b := setup(t, options{
				sites:    serving(map[string]web.Behaviour{"/": c.page, "/linked": page{}}),
				settings: crawl.Settings{Purpose: &c.purpose},
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

	const tdm = "/.well-known/tdmrep.json"
	reserved := `[{"location": "/mine/*", "tdm-reservation": 1}, {"location": "/", "tdm-reservation": 0}]`
	for name, c := range map[string]struct {
		purpose crawl.Purpose
		robots  string
		file    web.Behaviour
		asked   []string
		why     string
	}{
		"IsNotAskedForWhereItDoesNotMatter": {crawl.PurposeSearch, "", page{}, []string{"/", "/mine/1"}, ""},
		"ReservesSomePaths": {
			crawl.PurposeAITrain, "",
			turns{answers: []func(*web.Visit){says(reserved)}},
			[]string{tdm, "/"},
			"ai-train is forbidden by a TDM reservation (/.well-known/tdmrep.json)",
		},
		"ThatIsAPageReservesNothing":      {crawl.PurposeAITrain, "", page{}, []string{tdm, "/", "/mine/1"}, ""},
		"ThatIsMissingReservesNothing":    {crawl.PurposeAITrain, "", web.Status{Code: 404}, []string{tdm, "/", "/mine/1"}, ""},
		"ThatCannotBeReadMayReserveAll":   {crawl.PurposeAITrain, "", web.Status{Code: 500}, []string{tdm}, "ai-train is forbidden by a TDM reservation"},
		"ThatIsDisallowedMayReserveAll":   {crawl.PurposeAITrain, "User-agent: *\nDisallow: /.well-known/\n", page{}, []string{}, "is disallowed by robots.txt line 2"},
		"IsOnlyAskedForWherePagesAllowed": {crawl.PurposeAITrain, "User-agent: *\nDisallow: /\n", page{}, []string{}, "is disallowed by robots.txt line 2"},
	} {
		t.Run("TDMFile"+name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{
				sites: serving(map[string]web.Behaviour{
					"/": page{}, "/mine/1": page{}, tdm: c.file, "/robots.txt": turns{answers: []func(*web.Visit){says(c.robots)}},
				}),
				settings: crawl.Settings{Purpose: &c.purpose},
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

// A site that answers with login pages refuses us, as by 403.
func TestLoginPagesAreRefusals(t *testing.T) {
	t.Parallel()
	form := page{body: `<form><input name=user><input type=password></form>`}
	for name, c := range map[string]struct {
		behaviour web.Behaviour
		off       bool
		blocked   bool
	}{
		"InPlaceOfPages":     {behaviour: form, blocked: true},
		"BehindARedirect":    {behaviour: web.Redirect{To: "/account/login?back=1"}, blocked: true},
		"OnlyIfTheRunSaysSo": {behaviour: form, off: true},
		"NotPagesWithoutOne": {behaviour: page{body: `<p>Hello.`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			targets := []string{}
			paths := map[string]web.Behaviour{"/account/login?back=1": form}
			for i := range 6 {
				targets = append(targets, fmt.Sprintf("/secret/%c", 'a'+i))
				paths[targets[i]] = c.behaviour
			}
			b := setup(t, options{sites: serving(paths), settings: crawl.Settings{
				BlockOnLogin: new(!c.off), MaxGraylistings: new(1),
			}})
			b.seed(t, targets...)
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 50)
			require.NoError(t, err)
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, c.blocked, d.Status == crawl.DomainBlocked, d.Status)
		})
	}
}
