package activities_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// document is an answer with "{site}" for the origin that was asked.
type document struct {
	web.Healthy

	mediaType string
	body      string
	gzip      bool
	header    []string
	// asked counts the requests, and conditions those that had one.
	asked, conditions int
}

func (d *document) Serve(v *web.Visit) {
	d.asked++
	for i := 0; i < len(d.header); i += 2 {
		v.W.Header().Set(d.header[i], d.header[i+1])
	}
	if etag := v.W.Header().Get("ETag"); etag != "" && v.R.Header.Get("If-None-Match") == etag {
		d.conditions++
		v.W.WriteHeader(http.StatusNotModified)
		return
	}
	v.W.Header().Set("Content-Type", d.mediaType)
	body := []byte(strings.NewReplacer("{site}", "http://"+v.R.Host, "{other}", otherSite(v.R.Host)).Replace(d.body))
	if d.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body)
		_ = w.Close()
		body = packed.Bytes()
	}
	v.Write(body)
}

// otherSite is the origin of the second site, where the first one's host was asked, and
// the other way round.
func otherSite(host string) string {
	return "http://" + strings.NewReplacer("site-001", "site-002", "site-002", "site-001").Replace(host)
}

// targets returns the requests to the site, except its robots.txt.
func (b *testBundle) targets() []string {
	targets := []string{}
	for _, r := range b.log() {
		if r.IsPage() {
			targets = append(targets, r.Target)
		}
	}
	return targets
}

func xmlOf(body string) *document { return &document{mediaType: "application/xml", body: body} }

func urlset(entries ...string) *document {
	return xmlOf("<urlset>" + strings.Join(entries, "") + "</urlset>")
}

func entry(path string, more ...string) string {
	return "<url><loc>{site}" + path + "</loc>" + strings.Join(more, "") + "</url>"
}

func text(body string) *document { return &document{mediaType: "text/plain", body: body} }

// listing is a run that reads sitemaps and feeds.
func listing(sites []web.Site, set settings.Settings) options {
	set.Sitemaps, set.Feeds = new(true), new(true)
	return options{sites: sites, settings: set}
}

func TestSitemaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paths    map[string]web.Behaviour
		settings settings.Settings
		want     []string
	}{
		// The front page, what lists pages, and then these in their order.
		"NamedByRobots": {
			paths: map[string]web.Behaviour{
				"/robots.txt": text("User-agent: *\nDisallow:\nSitemap: {site}/map\n"),
				"/map": urlset(entry("/low", "<priority>0.1</priority>"), entry("/old", "<lastmod>2020-01-01</lastmod>"),
					entry("/new", "<lastmod>2026-01-01</lastmod>"), entry("/"), "<url><loc>http://</loc></url>"),
				"/": page{body: `<a href="/linked">x</a>`},
			},
			want: []string{"/", "/linked", "/map", "/new", "/old", "/low"},
		},
		"NamedByRobotsWithoutTheOrigin": {
			paths: map[string]web.Behaviour{"/robots.txt": text("Sitemap: /map\n"), "/": page{}, "/map": urlset(entry("/a"))},
			want:  []string{"/", "/map", "/a"},
		},
		"WhereTheyAreWontToBe": {
			paths: map[string]web.Behaviour{"/": page{}, "/sitemap.xml": urlset(entry("/a"))},
			want:  []string{"/", "/sitemap.xml", "/a"},
		},
		"NotThereIsNothingSpecial": {
			paths: map[string]web.Behaviour{"/": page{body: `<a href="/a">a</a>`}},
			want:  []string{"/", "/a", "/sitemap.xml"},
		},
		"LinkedToAsWell": {
			paths: map[string]web.Behaviour{
				"/": page{body: `<a href="/sitemap.xml">sitemap</a>`}, "/sitemap.xml": urlset(entry("/a")),
			},
			want: []string{"/", "/sitemap.xml", "/a"},
		},
		"Index": {
			paths: map[string]web.Behaviour{
				"/robots.txt": text("Sitemap: {site}/index\n"), "/": page{},
				"/index": xmlOf(`<sitemapindex><sitemap><loc>{site}/1.xml.gz</loc></sitemap><sitemap><loc>{site}/2.txt</loc></sitemap>
					<sitemap><loc>{site}/index</loc></sitemap></sitemapindex>`),
				"/1.xml.gz": &document{mediaType: "application/gzip", gzip: true, body: "<urlset>" + entry("/a") + "</urlset>"},
				"/2.txt":    text("{site}/b\n{site}/a\n"),
			},
			want: []string{"/", "/index", "/1.xml.gz", "/a", "/2.txt", "/b"},
		},
		"IndexesAreNotFollowedForEver": {
			paths: func() map[string]web.Behaviour {
				paths := map[string]web.Behaviour{"/robots.txt": text("Sitemap: {site}/0\n"), "/": page{}}
				for i := range 9 {
					paths[fmt.Sprint("/", i)] = xmlOf(fmt.Sprintf(`<sitemapindex><sitemap><loc>{site}/%d</loc></sitemap></sitemapindex>`, i+1))
				}
				return paths
			}(),
			want: []string{"/", "/0", "/1", "/2", "/3", "/4"},
		},
		"Moved": {
			paths: map[string]web.Behaviour{
				"/": page{}, "/moved": urlset(entry("/a")),
				"/sitemap.xml": &turns{answers: []func(*web.Visit){func(v *web.Visit) {
					v.W.Header().Set("Location", "/moved")
					v.W.WriteHeader(http.StatusMovedPermanently)
				}}},
			},
			want: []string{"/", "/sitemap.xml", "/moved", "/a"},
		},
		"FeedInPlaceOfOne": {
			paths: map[string]web.Behaviour{
				"/": page{}, "/sitemap.xml": xmlOf(`<rss version="2.0"><channel><item><link>{site}/a</link></item></channel></rss>`),
			},
			want: []string{"/", "/sitemap.xml", "/a"},
		},
		"PageInPlaceOfOne": {
			paths: map[string]web.Behaviour{"/": page{}, "/sitemap.xml": page{body: `<a href="/a">a</a>`}},
			want:  []string{"/", "/sitemap.xml"},
		},
		"OfAStranger": {
			paths: map[string]web.Behaviour{"/": page{}, "/sitemap.xml": urlset("<url><loc>http://site-002.test/x</loc></url>", entry("/a"))},
			want:  []string{"/", "/sitemap.xml", "/a"},
		},
		"BesideASeed": {
			paths:    map[string]web.Behaviour{"/sitemap.xml": urlset(entry("/a"))},
			settings: settings.Settings{MaxDepth: new(1)},
			want:     []string{"/", "/sitemap.xml", "/a"},
		},
		"NotIfOnlySeedsAreWanted": {
			paths:    map[string]web.Behaviour{"/": page{}, "/sitemap.xml": urlset(entry("/a"))},
			settings: settings.Settings{MaxDepth: new(0)},
			want:     []string{"/"},
		},
		"Forbidden": {
			paths: map[string]web.Behaviour{
				"/robots.txt": text("User-agent: *\nDisallow: /map\nDisallow: /no\nSitemap: {site}/map\nSitemap: {site}/other\n"),
				"/":           page{}, "/map": urlset(entry("/a")), "/other": urlset(entry("/no"), entry("/b")),
			},
			want: []string{"/", "/other", "/b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, listing(serving(c.paths), c.settings))
			b.seed(t, "/")
			b.follow(t)
			require.Equal(t, c.want, b.targets())
		})
	}
	t.Run("NotIfTurnedOff", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": page{}, "/sitemap.xml": urlset(entry("/a"))})})
		b.seed(t, "/")
		b.follow(t)
		require.Equal(t, []string{"/"}, b.targets())
	})
}

// A sitemap may be at another site, if robots.txt names it.
func TestSitemapElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		robots string
		want   []string
	}{
		"Named":    {"Sitemap: {other}/map", []string{"/", "/a"}},
		"NotNamed": {"", []string{"/", "/sitemap.xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, listing([]web.Site{
				{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
					"/": page{}, "/robots.txt": text(c.robots), "/a": page{},
				}},
				{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
					"/robots.txt": text("Sitemap: {site}/map"), "/": page{},
					"/map": text("{other}/a\n{site}/b\nhttp://third.test/\n"),
				}},
			}, settings.Settings{Scope: new(settings.ScopeWeb)}))
			other := *b
			other.site = b.web.Hosts()[1]
			b.seed(t, "/")
			other.seed(t, "/")
			b.follow(t)
			other.follow(t)
			b.follow(t)
			require.Equal(t, c.want, b.targets())
			require.Contains(t, other.targets(), "/b")
			require.Zero(t, b.count(t, "SELECT count(*) FROM pages WHERE domain = 'third.test'"), "named by a stranger")
		})
	}
}

const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/news/2"/></entry><entry><link href="{site}/news/1"/></entry></feed>`

func TestFeeds(t *testing.T) {
	t.Parallel()
	head := `<link rel="alternate" type="application/atom+xml" href="/feed">`
	front := page{head: head, body: `<a href="/a">a</a><a href="/feed">feed</a><a href="/news/1">1</a>`}
	t.Run("ComeAfterTheLinkedPagesAndTheirPagesFirst", func(t *testing.T) {
		t.Parallel()
		b := setup(t, listing(serving(map[string]web.Behaviour{
			"/": front, "/feed": xmlOf(atom), "/sitemap.xml": urlset(), "/a": page{head: `<link rel="alternate" type="application/atom+xml" href="/a/feed">`},
		}), settings.Settings{}))
		b.seed(t, "/")
		b.follow(t)
		require.Equal(t, []string{"/", "/a", "/news/1", "/sitemap.xml", "/feed", "/news/2"}, b.targets(),
			"a feed of few pages is not asked for")
	})
	t.Run("AreAskedForMoreOftenThanPages", func(t *testing.T) {
		t.Parallel()
		b := setup(t, listing(serving(map[string]web.Behaviour{"/": front, "/feed": xmlOf(atom)}), settings.Settings{}))
		b.seed(t, "/")
		b.follow(t)
		b.exec(t, "UPDATE pages SET fetched_at = fetched_at - interval '2 hours', failed_at = failed_at - interval '2 hours'")
		before := len(b.targets())
		b.again(t, "next", 0, b.run.Settings)
		b.follow(t)
		require.Equal(t, []string{"/feed"}, b.targets()[before:])
	})
	t.Run("CanBeMalformed", func(t *testing.T) {
		t.Parallel()
		b := setup(t, listing(serving(map[string]web.Behaviour{"/": front, "/feed": xmlOf("<rss><channel><item>")}), settings.Settings{}))
		b.seed(t, "/")
		b.follow(t)
		require.Contains(t, b.targets(), "/feed")
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'feed' AND outcome = 'success' AND error_message LIKE 'as a feed: %'"))
	})
}

// TestListsAreReadAgain checks that an unchanged sitemap leads to the same pages again. A changed
// sitemap drops the pages that it no longer lists.
func TestListsAreReadAgain(t *testing.T) {
	t.Parallel()
	list := urlset(entry("/a"), entry("/b"))
	list.header = []string{"ETag", `"1"`}
	b := setup(t, listing(serving(map[string]web.Behaviour{"/": page{}, "/sitemap.xml": list}), settings.Settings{MinRefetch: new(settings.Duration)}))
	b.seed(t, "/")
	b.follow(t)
	again := func(name string) []string {
		before := len(b.targets())
		b.again(t, name, 0, b.run.Settings)
		b.follow(t)
		return b.targets()[before:]
	}
	require.Equal(t, []string{"/", "/sitemap.xml", "/a", "/b"}, again("second"))
	require.Equal(t, 1, list.conditions)
	list.header, list.body = []string{"ETag", `"2"`}, "<urlset>"+entry("/b")+entry("/c")+"</urlset>"
	require.Equal(t, []string{"/", "/sitemap.xml", "/b", "/c"}, again("third"))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM page_links l JOIN pages p ON p.id = l.to_page_id WHERE l.gone_at IS NOT NULL AND p.url LIKE '%/a'`))
}

// The second sitemap of many waits for the pages of the first.
func TestManySitemapsWait(t *testing.T) {
	t.Parallel()
	paths := map[string]web.Behaviour{"/": page{}}
	var robots strings.Builder
	for i := range 20 {
		name := fmt.Sprintf("/map-%d", i)
		fmt.Fprintf(&robots, "Sitemap: {site}%s\n", name)
		paths[name] = text(fmt.Sprintf("{site}/p%d\n{site}/q%d\n", i, i))
	}
	paths["/robots.txt"] = text(robots.String())
	b := setup(t, listing(serving(paths), settings.Settings{}))
	b.seed(t, "/")
	b.follow(t)
	require.Equal(t, []string{"/", "/map-0", "/p0", "/q0", "/map-1", "/p1", "/q1", "/map-2"}, b.targets()[:8])
}

// What somebody else calls a sitemap or a feed is a page all the same, where it is one.
func TestAPageThatIsCalledAList(t *testing.T) {
	t.Parallel()
	b := setup(t, listing(serving(map[string]web.Behaviour{
		"/robots.txt": text("Sitemap: {site}/all/\n"), "/sitemap.xml": urlset(),
		"/":     page{head: `<link rel=alternate type="application/rss+xml" href="/news/">`},
		"/all/": page{body: `<a href="/a">a</a>`}, "/news/": page{body: `<a href="/b">b</a>`},
	}), settings.Settings{MinRefetch: new(settings.Duration)}))
	b.seed(t, "/")
	b.follow(t)
	require.Equal(t, []string{"/", "/all/", "/news/", "/a", "/b"}, b.targets())
	require.Equal(t, "Title", b.report(t, "/all/").Title)
	require.Equal(t, 3, b.count(t, "SELECT count(*) FROM pages WHERE kind = 'page' AND status = 'fetched'"))
}

// A run that wants no lists, or comes by another way, leaves them as they are.
func TestListsOutliveRunsThatDoNotWantThem(t *testing.T) {
	t.Parallel()
	front := &document{mediaType: "text/html", body: `<title>1</title><link rel=alternate type="application/rss+xml" href="/feed">`}
	b := setup(t, listing(serving(map[string]web.Behaviour{
		"/": front, "/feed": xmlOf(atom), "/sitemap.xml": urlset(entry("/a")),
	}), settings.Settings{MinRefetch: new(settings.Duration)}))
	b.seed(t, "/")
	b.follow(t)
	front.body = strings.Replace(front.body, "1", "2", 1)
	b.again(t, "without", 0, settings.Settings{MinRefetch: new(settings.Duration), Sitemaps: new(false), Feeds: new(false)})
	require.Zero(t, b.count(t, "SELECT count(*) FROM page_links WHERE gone_at IS NOT NULL"))
	front.body = `<title>3</title>`
	b.again(t, "with", 0, b.run.Settings)
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_links WHERE gone_at IS NOT NULL AND kind = 'feed'"))
}

// A redirect vouches for nothing: its site may redirect to wherever it is told.
func TestRedirectsDoNotVouch(t *testing.T) {
	t.Parallel()
	b := setup(t, listing([]web.Site{
		{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/": page{}, "/victim": page{}, "/go": redirectTo("{other}/map")}},
		{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/robots.txt": text("Sitemap: {other}/go"), "/": page{}, "/map": text("{other}/victim\n{site}/mine\n"),
		}},
	}, settings.Settings{Scope: new(settings.ScopeWeb)}))
	other := *b
	other.site = b.web.Hosts()[1]
	other.seed(t, "/")
	other.follow(t)
	b.follow(t)
	other.follow(t)
	require.Contains(t, b.targets(), "/go")
	require.Contains(t, other.targets(), "/map")
	require.Contains(t, other.targets(), "/mine")
	require.NotContains(t, b.targets(), "/victim")
}

// redirectTo is a redirect to a URL with "{other}" for the origin of the other site.
func redirectTo(to string) web.Behaviour {
	return &turns{answers: []func(*web.Visit){func(v *web.Visit) {
		v.W.Header().Set("Location", strings.Replace(to, "{other}", otherSite(v.R.Host), 1))
		v.W.WriteHeader(http.StatusFound)
	}}}
}
