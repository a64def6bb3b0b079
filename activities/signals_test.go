package activities_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/manners/web"
)

// knownPage is a page of which all that is to be found is known.
type knownPage struct {
	web.Healthy

	path, lang, title, titleWord, textWord, text string
	published                                    time.Time
	links                                        []string
	// fewer leaves out the first link.
	fewer bool
}

func (p *knownPage) Serve(v *web.Visit) {
	var body strings.Builder
	fmt.Fprintf(&body, `<!doctype html><html lang=%s><title>%s</title><meta property="article:published_time" content=%q>
		<meta name=description content="About %s"><h1>A heading</h1><p>%s</p><p>%s %s</p>`,
		p.lang, p.title, p.published.Format(time.RFC3339), p.path, p.text, p.textWord, p.text)
	for _, to := range p.said() {
		fmt.Fprintf(&body, "<p><a href=%q>to %s</a></p>", to, to)
	}
	// what templates and share buttons leave is not a link, and keeps none from being closed
	fmt.Fprintf(&body, "<a href=%q>Home</a><a href='https://example.net/share?text=%s'>Share</a>", "http://", strings.Repeat("x", urls.MaxLength))
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.Write([]byte(body.String()))
}

func (p *knownPage) said() []string {
	if p.fewer {
		return p.links[1:]
	}
	return p.links
}

// knownSite is a site of such pages in four languages, to most of which only its sitemap
// leads.
func knownSite(pages int) []*knownPage {
	texts := []struct{ lang, text string }{
		{"en", "The keeper of the tower climbs the stairs every evening and writes the weather into his book."},
		{"de", "Der Wärter steigt jeden Abend die Treppe hinauf und schreibt das Wetter in sein Buch."},
		{"fr", "Le gardien monte chaque soir les marches de la tour et note le temps dans son livre."},
		{"ru", "Смотритель каждый вечер поднимается по лестнице и записывает погоду в свою книгу."},
	}
	rng := rand.New(rand.NewPCG(7, 7))
	nonce := func() string { return fmt.Sprintf("q%07xz", rng.Uint32()>>4) }
	site := make([]*knownPage, pages)
	for i := range site {
		in := texts[i%len(texts)]
		p := &knownPage{
			path: fmt.Sprintf("/story-%d/", i), lang: in.lang, text: in.text, titleWord: nonce(), textWord: nonce(),
			published: time.Date(2026, 1, 1+i%28, i%24, 0, 0, 0, time.UTC),
		}
		if i == 0 {
			p.path = "/"
		}
		p.title = "Title of " + p.titleWord
		site[i] = p
	}
	for i, p := range site {
		for j := range 3 {
			p.links = append(p.links, site[(i/10*10+j+i%7)%pages].path)
		}
		p.links = append(p.links, "/other")
		slices.Sort(p.links)
		p.links = slices.Compact(p.links)
	}
	return site
}

// All that pages say of themselves is stored and found as it is, and what they do not say
// any more is gone.
func TestSignalsOfKnownPages(t *testing.T) {
	t.Parallel()
	const pages = 60
	site := knownSite(pages)
	paths := map[string]web.Behaviour{"/other": page{}}
	var listed []string
	for _, p := range site {
		paths[p.path] = p
		listed = append(listed, entry(p.path))
	}
	paths["/sitemap.xml"] = urlset(listed...)
	b := setup(t, listing(serving(paths), settings.Settings{MinRefetch: new(settings.Duration)}))
	b.seed(t, "/")
	b.follow(t)
	for _, p := range site {
		r := b.report(t, p.path)
		require.Equal(t, p.title, r.Title, p.path)
		require.Equal(t, p.lang, r.Language, p.path)
		require.Equal(t, "About "+p.path, r.Description)
		require.True(t, p.published.Equal(r.Published), p.path)
		require.Equal(t, []string{p.path}, b.found(t, p.titleWord), "a word of the title of %s", p.path)
		require.Equal(t, []string{p.path}, b.found(t, p.textWord), "a word of the text of %s", p.path)
		require.Equal(t, p.links, b.linksOf(t, p.path, false), p.path)
	}

	for _, p := range site {
		p.fewer = true
	}
	before := len(b.targets())
	b.again(t, "second", 0, b.run.Settings)
	b.follow(t)
	require.Greater(t, len(b.targets())-before, pages)
	for _, p := range site {
		require.Equal(t, p.said(), b.linksOf(t, p.path, false), p.path)
		require.Equal(t, p.links[:1], b.linksOf(t, p.path, true), "gone from %s", p.path)
	}
}

// linksOf are the paths that a page links to as pages do, or those that are gone.
func (b *testBundle) linksOf(t *testing.T, path string, gone bool) []string {
	t.Helper()
	u, err := urls.Parse(b.page(path))
	require.NoError(t, err)
	all, err := b.store.PageLinks(t.Context(), u.Domain(), u.String(), 1000)
	require.NoError(t, err)
	list := []string{}
	for _, l := range all.Out {
		if l.Kind == "link" && l.GoneAt.IsZero() != gone {
			to, err := url.Parse(l.URL)
			require.NoError(t, err)
			list = append(list, to.Path)
		}
	}
	slices.Sort(list)
	return list
}
