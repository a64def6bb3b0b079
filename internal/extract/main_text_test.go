package extract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/extract"
)

const sentence = "The keeper of the lighthouse climbs the stairs every evening, lights the lamp and writes the weather into his book. "

// frame surrounds the text of a page with a menu, a banner and a footer, as on most sites.
func frame(main string) string {
	var menu strings.Builder
	for i := range 30 {
		fmt.Fprintf(&menu, `<li><a href="/menu/%d">Menu entry number %d</a></li>`, i, i)
	}
	return `<!doctype html><html><head><title>A title</title></head><body>` +
		`<div id="cookie-banner"><p>We and our partners use cookies to show you advertisements that are of no use to you, and you cannot refuse them here.</p></div>` +
		`<header><a href="/">Home</a> <a href="/login">Log in</a></header><nav><ul>` + menu.String() + `</ul></nav>` + main +
		`<div class="sidebar"><h3>Most read</h3><p>Ten things that nobody knew about lamps, and one that everybody did but forgot to tell you in time.</p></div>` +
		`<footer><p>Copyright 2026 by the owners of this site, who reserve all rights that there are, and some that there are not yet.</p></footer></body></html>`
}

func TestHTMLMain(t *testing.T) {
	t.Parallel()
	text := strings.TrimSpace(strings.Repeat(sentence, 3))
	article := `<h1>On lamps</h1><p>` + text + `</p><p>Short, but part of it all the same.</p><h2>Oil</h2><p>` + text + `</p>`
	for why, body := range map[string]string{
		"an article element":          `<article>` + article + `</article>`,
		"a main element":              `<main>` + article + `</main>`,
		"plain paragraphs":            article,
		"about cookies":               `<div class="cookie-recipe">` + article + `</div>`,
		"in a form, as ASP.NET does":  `<form action="/">` + article + `</form>`,
		"in divisions":                `<div><div class="with-sidebar">` + strings.NewReplacer("<p>", "<div>", "</p>", "</div>").Replace(article) + `</div></div>`,
		"in a table, as in old times": `<table><tr><td>` + article + `</td></tr></table>`,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			page := mustHTML(t, frame(body), extract.Limits{})
			require.Equal(t, strings.Join([]string{"On lamps", text, "Short, but part of it all the same.", "Oil", text}, "\n"), page.Main)
			require.Equal(t, "On lamps\nOil", page.Headings)
			require.Equal(t, text+"\nShort, but part of it all the same.\n"+text, page.Prose)
			tags := mustHTML(t, frame(body), onlyTags) // knows no classes
			require.Contains(t, tags.Main, text)
			require.NotContains(t, tags.Main, "Menu entry")
			require.NotContains(t, tags.Main, "Copyright")
		})
	}
}

func TestHTMLMainOfOtherPages(t *testing.T) {
	t.Parallel()
	code := strings.Repeat("if (x[i] == nil) { return f(x[i-1], &y); } ", 20)
	for why, c := range map[string]struct {
		body string
		main []string // is in the main text
		not  []string
		lang string // what the prose begins with
	}{
		"a forum: every post": {
			`<div class=post><b>anna</b><p>` + sentence + sentence + `</p></div><div class=post><b>bob</b><p>I do not think so. ` + sentence + `</p></div>`,
			[]string{"I do not think so."},
			[]string{"Menu entry"},
			"The keeper",
		},
		"only links: all that is visible, but no prose": {
			`<ul>` + strings.Repeat(`<li><a href=/a>The name of a page that is long enough to look like one sentence</a>`, 40) + `</ul>`,
			[]string{"The name of a page", "Menu entry"},
			nil, "",
		},
		"only code: found by it, but no prose": {
			`<pre><code>` + code + `</code></pre>`, []string{"x[i] == nil"}, nil, "",
		},
		"code without an element for it": {`<pre>` + code + `</pre>`, []string{"x[i] == nil"}, nil, ""},
		"a manual: text between code": {
			`<pre>` + code + `</pre><p>` + sentence + sentence + `</p>`, []string{"The keeper", "x[i] == nil"}, nil, "The keeper",
		},
		"Japanese": {
			`<p>` + strings.Repeat("灯台守は毎晩階段を上り、灯りをともし、天気を帳面に書きます。", 8) + `</p>`, []string{"灯台守"}, []string{"Menu entry"}, "灯台守",
		},
		"one sentence before a table": {
			`<h1>Owners</h1><p>The belonging domains are defined below.</p><table><tr><th>Name</th><td>x</td></tr></table><h2>More</h2><p>` + sentence + sentence + `</p>`,
			[]string{"The belonging domains are defined below."},
			[]string{"Menu entry"},
			"The keeper",
		},
		"sentences with links, between others": {
			`<h1>Owners</h1><p>` + sentence + sentence + `</p><p>See <a href=/a>the other table of them</a>.</p><p><a href=/b>A guide for all owners</a></p><p>That is all of it.</p>`,
			[]string{"the other table", "A guide for all owners", "That is all of it."},
			[]string{"Menu entry"},
			"The keeper",
		},
		"short paragraphs before the heading and menus of paragraphs": {
			`<div><p>We like to use cookies.</p></div><p><a href=/a>One of the menu</a></p><h1>Owners</h1><p>` + sentence + sentence + `</p>` +
				`<ul><li><a href=/c>To the top of it</a></ul><p><a href=/b>Another of the menu</a></p>`,
			[]string{"The keeper"},
			[]string{"cookies", "of the menu"},
			"The keeper",
		},
		"notes aside, as Sphinx has them": {
			`<main><p>` + sentence + sentence + sentence + `</p><aside class="footnote brackets" role="note"><p>That is not so at sea.</p></aside><aside><p>Most read of all our pages</p></aside></main>`,
			[]string{"not so at sea"},
			[]string{"Most read"},
			"The keeper",
		},
		"sidebars, as DocBook has them": {
			`<meta name="generator" content="publican v4.3.2"><h1>Owners</h1><div class="para">` + sentence + sentence + `</div>` +
				`<div class="sidebar"><p class="title">CAUTION</p><div class="para">That is not so at sea.</div></div>`,
			[]string{"not so at sea"},
			[]string{"Menu entry"},
			"The keeper",
		},
		"nothing": {"", []string{"Menu entry"}, nil, ""},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			page := mustHTML(t, frame(c.body), extract.Limits{})
			for _, want := range c.main {
				require.Contains(t, page.Main, want)
			}
			for _, no := range c.not {
				require.NotContains(t, page.Main, no)
			}
			if c.lang == "" {
				require.Empty(t, page.Prose)
			} else {
				require.True(t, strings.HasPrefix(page.Prose, c.lang), page.Prose)
			}
		})
	}
}

func TestHTMLMainIsBoundedAndComposed(t *testing.T) {
	t.Parallel()
	page := mustHTML(t, "<p>"+strings.Repeat("e\u0301te\u0301 ", 90_000), extract.Limits{})
	require.True(t, strings.HasPrefix(page.Main, "été été"))
	require.LessOrEqual(t, len([]rune(page.Main)), extract.MaxMainRunes)
	page = mustHTML(t, "<p>"+strings.Repeat("word ", 90_000), extract.Limits{})
	require.Len(t, page.Main, extract.MaxMainRunes)
}

func TestPlain(t *testing.T) {
	t.Parallel()
	text := strings.TrimSpace(strings.Repeat(sentence, 3))
	page := extract.Plain([]byte("RFC 1\r\n\r\n"+text+"\r\n\r\n  1  2  3\r\n\r\n"+text), extract.Limits{})
	require.Equal(t, "RFC 1 "+text+" 1 2 3 "+text, page.Text)
	require.Contains(t, page.Main, text)
	require.Equal(t, text+"\n"+text, page.Prose)
	require.NotZero(t, page.Content)
	require.Empty(t, extract.Plain(nil, extract.Limits{}).Main)
}

func TestHTMLDescription(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		for head, want := range map[string]string{
			`<meta name=description content="  a   b ">`:                                                                        "a b",
			`<meta property="og:description" content=og><meta name=Description content=meta>`:                                   "meta",
			`<meta name="twitter:description" content=t><meta property="og:description" content=og>`:                            "og",
			`<script type="application/ld+json">{"@type":"Article","description":"linked"}</script>`:                            "linked",
			`<script type="application/ld+json">{"description":"broken"</script>`:                                               "",
			"<script type='application/ld+json'>/* c */ {\"description\":\"two\nlines // no \\\" comment;\", // c\n};</script>": `two lines // no " comment;`,
			"<script type='application/ld+json'>//<![CDATA[\n[{\"description\":\"one\"},]\n//]]></script>":                      "one",
			"<script type='application/ld+json'><!--\n{\"description\":\"one\"}\n--></script>":                                  "one",
			"<script type='application/ld+json'><![CDATA[{\"description\":\"one\"}]]></script>":                                 "one",
			`<script type="application/ld+json">{"@graph":[{"@type":"X"},{"description":"second"}]}</script>`:                   "second",
			`<meta name=keywords content=k>`: "",
		} {
			require.Equal(t, want, mustHTML(t, head, limits).Description, head)
		}
		require.Equal(t, "og", mustHTML(t, `<meta property="og:title" content=og>`, limits).Title)
		require.Equal(t, "t", mustHTML(t, `<meta property="og:title" content=og><title>t</title>`, limits).Title)
	})
}

func TestHTMLDates(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		for body, want := range map[string][2]time.Time{
			`<meta property="article:published_time" content="2026-03-04T05:06:07+02:00">`:                                                                        {time.Date(2026, 3, 4, 3, 6, 7, 0, time.UTC), {}},
			`<meta property="article:modified_time" content="2026-03-04">`:                                                                                        {{}, day},
			`<script type="application/ld+json">{"datePublished":"2026-03-04","dateModified":"2026-03-05T00:00:00Z"}</script><meta name=date content=2020-01-01>`: {day, day.AddDate(0, 0, 1)},
			`<p>On <time datetime=2026-03-04>the fourth</time> and <time datetime=2026-03-05>the fifth</time>`:                                                    {day, {}},
			`<time itemprop=dateModified datetime=2026-03-04></time>`:                                                                                             {{}, day},
			`<meta name=date content=yesterday>`:                                                                                                                  {},
			`<meta name=date content=0001-01-01>`:                                                                                                                 {},
			`<time datetime=1066-10-14>1066</time>`:                                                                                                               {},
		} {
			page := mustHTML(t, body, limits)
			require.Equal(t, want, [2]time.Time{page.Published, page.Modified}, body)
		}
	})
}

func TestHTMLFeedsAndLanguages(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		page := mustHTML(t, `<html lang=pt><meta http-equiv=Content-Language content=pt-BR><meta property=og:locale content=pt_BR>`+
			`<link rel=alternate type="application/rss+xml" href=/feed><link rel=alternate type=application/atom+xml href="atom">`+
			`<link rel=alternate type=application/rss+xml href=/feed><link rel=alternate hreflang=en href="/en"><link rel=alternate hreflang=pt-AO href="?x=1">`+
			`<link rel=alternate hreflang=x-default href="?x=1">`, limits)
		require.Equal(t, []string{"https://example.org/feed", "https://example.org/dir/atom"}, page.Feeds)
		require.Equal(t, []string{"pt", "pt-BR", "pt_BR", "pt-AO"}, page.Declared)
		require.Equal(t, "pt", page.Language)
	})
}
