package activities_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

// html is a page of a site of the test's own.
func html(head, text string, links ...string) web.Behaviour {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><head>%s</head><body><p>%s</p>", head, text)
	for _, l := range links {
		fmt.Fprintf(&b, "<a href=\"%s\">a link</a>\n", l)
	}
	return web.Content{Type: "text/html; charset=utf-8", Body: b.String()}
}

// prose is a text of n words that only its seed decides.
func prose(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 17))
	words := make([]string, n)
	for i := range words {
		letters := make([]byte, 3+rng.IntN(7))
		for j := range letters {
			letters[j] = 'a' + byte(rng.IntN(26))
		}
		words[i] = string(letters)
	}
	return strings.Join(words, " ")
}

// paths are pages of a site.
type paths map[string]web.Behaviour

// list adds a page for each fifty targets, the first of them the root, so that all
// can be reached.
func (p paths) list(targets ...string) {
	for i := 0; i < len(targets); i += 50 {
		own, more := fmt.Sprintf("/list-%c", 'a'+i/50), fmt.Sprintf("/list-%c", 'a'+i/50+1)
		if i == 0 {
			own = "/"
		}
		links := targets[i:min(i+50, len(targets))]
		if i+50 < len(targets) {
			links = append(slices.Clip(links), more)
		}
		p[own] = html("<title>A list</title>", prose(uint64(i), 30), links...)
	}
}

// crawled makes a web of one site of these pages and crawls it from its root, in at
// most so many requests.
func (p paths) crawled(t *testing.T, most int, set settings.Settings) *testBundle {
	t.Helper()
	b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, WWW: true, Paths: p}}, settings: set})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.allowAll(t, b.web.URL("www."+b.site, "/"))
	b.crawlAll(t, most)
	return b
}

// fetched counts the pages like a pattern of SQL that were requested from the site.
func (b *testBundle) fetched(prefix string) int {
	n := 0
	for _, target := range b.pages() {
		if strings.HasPrefix(target, prefix) {
			n++
		}
	}
	return n
}

// A forum whose topics are linked to by number, and again by that of their last post.
func TestAForumIsFetchedWhole(t *testing.T) {
	t.Parallel()
	const topics = 400
	for name, c := range map[string]struct {
		long, canonical, postsFirst bool
	}{
		"TopicsFirst": {}, "PostsFirstThatNameTheirTopic": {true, true, true}, "TopicsFirstAndNamed": {long: true, canonical: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.long {
				form.Long(t)
			}
			shared := prose(1, 300)
			p := paths{}
			var all []string
			for i := range topics {
				topic, post := fmt.Sprintf("/viewtopic.php?t=%d", i), fmt.Sprintf("/viewtopic.php?p=%d", 10_000+i*7)
				head := "<title>A forum</title>"
				if c.canonical {
					head += fmt.Sprintf("<link rel=canonical href=\"%s\">", topic)
				}
				said := html(head, shared+" "+prose(uint64(100+i), 40))
				p[topic], p[post] = said, said
				if c.postsFirst {
					topic, post = post, topic
				}
				all = append(all, topic, post)
			}
			p.list(all...)
			b := p.crawled(t, 2*topics+50, settings.Settings{})
			require.Equal(t, topics, b.fetched("/viewtopic.php?t="))
			if !c.postsFirst {
				require.Less(t, b.fetched("/viewtopic.php?p="), 220, "which are copies")
			}
		})
	}
}

// A shop whose pages have much in common.
func TestAShopIsFetchedWhole(t *testing.T) {
	form.Long(t)
	t.Parallel()
	for name, c := range map[string]struct{ shared, own int }{
		"1000And26": {1000, 26}, "2000And20": {2000, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const products = 300
			shared := prose(2, c.shared)
			p := paths{}
			var all []string
			for i := range products {
				target := fmt.Sprintf("/product/%d", i)
				p[target] = html("<title>The shop</title>", shared+" "+prose(uint64(100+i), c.own))
				all = append(all, target)
			}
			p.list(all...)
			b := p.crawled(t, products+50, settings.Settings{})
			require.Equal(t, products, b.fetched("/product/"))
			require.Empty(t, b.stopped(t))
			require.Less(t, b.count(t, "SELECT max(coalesce(length(shared_text), 0) + coalesce(length(fingerprints), 0)) FROM url_patterns"), 6<<10)

			// and at a second visit nothing of it is stopped
			again := *b
			b.exec(t, "UPDATE pages SET fetched_at = fetched_at - interval '100 days' WHERE domain = $1", b.site)
			b.exec(t, "UPDATE url_patterns SET seen = 500, duplicates = 500")
			again.run = again.nextRun(t)
			again.seed(t, "/")
			again.crawlAll(t, 2*products+50)
			require.Equal(t, 2*products, again.fetched("/product/"))
		})
	}
}

// nextRun is a further run with the settings of the first.
func (b *testBundle) nextRun(t *testing.T) crawl.Run {
	t.Helper()
	run, err := b.store.EnsureRun(t.Context(), "next", "test", b.run.Settings)
	require.NoError(t, err)
	return run
}

// stopped are the site's patterns that have brought too little news.
func (b *testBundle) stopped(t *testing.T) []crawl.Trap {
	t.Helper()
	rep, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	return rep.Traps
}

// Each page redirects, from www to the bare name, or from one way to write its
// address to another.
func TestASiteBehindRedirectsIsFetchedWhole(t *testing.T) {
	t.Parallel()
	const n = 100
	own := func(i int) web.Behaviour {
		return html("<title>A page</title>", prose(3, 300)+" "+prose(uint64(100+i), 40))
	}

	t.Run("FromWWW", func(t *testing.T) {
		t.Parallel()
		p := paths{}
		var links []string
		b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, WWW: true, Paths: p}}})
		for i := range n {
			target := fmt.Sprintf("/p/%d", i)
			p[target] = own(i)
			links = append(links, b.web.URL("www."+b.site, target))
		}
		p.list(links...)
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.allowAll(t, b.web.URL("www."+b.site, "/"))
		b.crawlAll(t, 2*n+10)
		require.Equal(t, 2*n, b.fetched("/p/"), "each, and the redirect to it")
		require.Equal(t, n, b.count(t, "SELECT count(*) FROM pages WHERE simhash IS NOT NULL AND url LIKE '%/p/%' AND domain = $1", b.site))
	})

	t.Run("ToAnotherPath", func(t *testing.T) {
		t.Parallel()
		p := paths{}
		var links []string
		for i := range n {
			from, to := fmt.Sprintf("/node/%d", i), fmt.Sprintf("/story/%d", i)
			p[from], p[to] = web.Redirect{To: to}, own(i)
			links = append(links, from)
		}
		p.list(links...)
		b := p.crawled(t, 2*n+10, settings.Settings{})
		require.Equal(t, n, b.fetched("/story/"))
	})

	t.Run("ButNotTheSameTargetForEver", func(t *testing.T) {
		t.Parallel()
		p := paths{"/sorry": html("<title>Not this one</title>", prose(4, 40))}
		var links []string
		for i := range 3 * n {
			from := fmt.Sprintf("/reply/%d", i)
			p[from] = web.Redirect{Code: 302, To: "/sorry"}
			links = append(links, from)
		}
		p.list(links...)
		b := p.crawled(t, 100, settings.Settings{})
		require.Less(t, b.fetched("/reply/"), 60)
		require.NotEmpty(t, b.stopped(t))
	})
}

// Odd parameters name real pages.
func TestOddParametersAreFetchedWhole(t *testing.T) {
	t.Parallel()
	const n = 80
	p := paths{}
	var links []string
	for i := range n {
		for _, target := range []string{
			fmt.Sprintf("/article?sid=%d", i),
			fmt.Sprintf("/talk?session_id=day%d", i),
			fmt.Sprintf("/news?newsid=5f1d7f3e9b1e8a0017a3%04x", i*1111),
			fmt.Sprintf("/paper/%d/%02d/%02d", 1900+i/4, i%12+1, i%28+1),
		} {
			p[target] = html("<title>A site</title>", prose(5, 300)+" "+prose(uint64(1000+len(links)), 40))
			links = append(links, target)
		}
	}
	p.list(links...)
	b := p.crawled(t, 4*n+20, settings.Settings{})
	for _, prefix := range []string{"/article", "/talk", "/news", "/paper"} {
		require.Equal(t, n, b.fetched(prefix), prefix)
	}
}

// Filters that combine in any order bring nothing new, whatever they are called.
func TestFacetsEnd(t *testing.T) {
	t.Parallel()
	colours, sizes := strings.Fields("red green blue white black pink"), strings.Fields("tiny small large huge")
	p := paths{}
	var links []string
	for _, colour := range colours {
		for _, size := range sizes {
			for i := range 10 {
				target := fmt.Sprintf("/shoes?colour=%s&page=%d&size=%s", colour, i, size)
				p[target] = html(fmt.Sprintf("<title>%s shoes, %s</title>", size, colour), prose(6, 400))
				links = append(links, target)
			}
		}
	}
	p.list(links...)
	b := p.crawled(t, 150, settings.Settings{MinRefetch: new(settings.Duration(time.Hour))})
	require.LessOrEqual(t, b.fetched("/shoes?"), 110)
}

// What is not worth a request costs none, and says why.
func TestUnwantedPagesCostNoRequest(t *testing.T) {
	t.Parallel()
	page := html("<title>A page</title>", prose(8, 40))
	links := []string{
		"/pub/", "/pub/?C=N;O=D", "/pub/?C=M;O=A", "/wiki/A", "/wiki/Special:Log", "/w/index.php?title=A&action=edit", "/a.zip", "/photo.JPG",
		"/a/?replytocom=17", "/private/1", "/private/2",
	}
	p := paths{}
	for _, l := range links {
		p[l] = page
	}
	p.list(links...)
	b := p.crawled(t, 50, settings.Settings{Exclude: &[]string{"/private/"}})
	require.ElementsMatch(t, []string{"/", "/pub/", "/wiki/A"}, b.pages())
	for reason, n := range map[reasons.Reason]int{reasons.Variant: 5, reasons.Extension: 2, reasons.Excluded: 2} {
		require.Equal(t, n, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome = 'skipped' AND skipped = $1", reason), reason)
	}
	last := b.report(t, "/a.zip").Crawls[0]
	require.Equal(t, "it is an archive by its extension (.zip), which cannot be parsed; to fetch it, seed it or use --set skip=variants", last.Error)

	// what a person seeds is requested, and so is what the run wants after all
	b.seed(t, "/a.zip", "/private/1")
	b.crawlAll(t, 50)
	require.ElementsMatch(t, []string{"/", "/pub/", "/wiki/A", "/a.zip", "/private/1"}, b.pages())
	_, err := b.store.EnsureRun(t.Context(), runName, "test", settings.Settings{Skip: &[]string{settings.SkipVariants}, Exclude: &[]string{}})
	require.NoError(t, err)
	b.crawlAll(t, 50)
	require.ElementsMatch(t, []string{"/", "/pub/", "/wiki/A", "/a.zip", "/private/1", "/private/2", "/photo.JPG"}, b.pages())
}
