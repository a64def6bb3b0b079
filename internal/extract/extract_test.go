package extract_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

const pageURL = "https://example.org/dir/page?x=1"

func mustURL(tb testing.TB, raw string) urls.URL {
	tb.Helper()
	u, err := urls.Parse(raw)
	require.NoError(tb, err)
	return u
}

func mustHTML(tb testing.TB, body string, limits extract.Limits) extract.Page {
	tb.Helper()
	page, err := extract.HTML([]byte(body), urls.Spelt{URL: mustURL(tb, pageURL)}, limits)
	require.NoError(tb, err)
	return page
}

// onlyTags makes every page too big for a DOM.
var onlyTags = extract.Limits{MaxDOMBytes: 1}

// forBothReaders runs a test on the DOM and on the tag-by-tag reader.
func forBothReaders(t *testing.T, test func(t *testing.T, limits extract.Limits)) {
	t.Helper()
	for name, limits := range map[string]extract.Limits{"DOM": {}, "Tags": onlyTags} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, limits)
		})
	}
}

func linkStrings(links []extract.Link) []string {
	var list []string
	for _, link := range links {
		s := link.URL.String()
		if link.NoFollow {
			s += " nofollow"
		}
		list = append(list, s)
	}
	return list
}

func TestHTMLLinks(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		body string
		want []string
	}{
		"relative and absolute": {
			`<a href="a">1</a> <a href=/b>2</a> <A HREF='https://example.net/c#d'>3</A> <a href="?q">4</a>`,
			[]string{"https://example.org/dir/a", "https://example.org/b", "https://example.net/c", "https://example.org/dir/page?q"},
		},
		"entities and white space in the reference": {
			"<a href=' \n/a?b=1&amp;c=2 '>", []string{"https://example.org/a?b=1&c=2"},
		},
		"area, iframe, frame, next and prev": {
			`<link rel=next href=n><link rel="prev" href=p><link rel=Previous href=q><map><area href=a></map><iframe src=i></iframe>`,
			[]string{"https://example.org/dir/n", "https://example.org/dir/p", "https://example.org/dir/q", "https://example.org/dir/a", "https://example.org/dir/i"},
		},
		"frames of a frameset": {
			`<html><frameset><frame src=a><frame src=b></frameset></html>`,
			[]string{"https://example.org/dir/a", "https://example.org/dir/b"},
		},
		"refresh": {
			`<meta http-equiv="Refresh" content="0; URL='/new'">`, []string{"https://example.org/new"},
		},
		"refresh of the page itself": {`<meta http-equiv=refresh content=30>`, nil},
		"no links": {
			`<link rel=stylesheet href=s.css><link rel=alternate href=feed><img src=i.png><script src=s.js></script>` +
				`<form action=/f></form><a name=x>x</a><a>y</a><link rel=icon href=i>`,
			nil,
		},
		"other schemes are skipped silently": {
			`<a href="javascript:void(0)"><a href="mailto:a@b.example"><a href="tel:+1"><a href="data:text/html,x"><a href="ftp://a/">`, nil,
		},
		"places on the page are skipped silently": {`<a href="#top"><a href=""><a href>`, nil},
		"malformed references are no links": {
			`<a href="https://user:pw@example.org/"><a href="http://"><a href="http://a:b/"><a href="/ok">`,
			[]string{"https://example.org/ok"},
		},
		"links that are the same page": {
			`<a href="/a"><a href="/a#x"><a href="https://EXAMPLE.org:443/./a?utm_source=y"><a href="/b"><a href="/a">`,
			[]string{"https://example.org/a", "https://example.org/b"},
		},
		"nofollow": {
			`<a href=/a rel="noopener NoFollow"><a href=/b rel=ugc><a href=/c rel="sponsored external"><a href=/d rel=nofollowing>`,
			[]string{"https://example.org/a nofollow", "https://example.org/b", "https://example.org/c", "https://example.org/d"},
		},
		"nofollow between commas": {
			`<a href=/a rel="ugc,nofollow"><a href=/b rel="external,ugc">`,
			[]string{"https://example.org/a nofollow", "https://example.org/b"},
		},
		"templates are inert": {
			`<template><base href=/b/><p><a href="/item/{{id}}">x</a></p><meta http-equiv=refresh content="0;url=/r"></template><a href=/a>y</a>`,
			[]string{"https://example.org/a"},
		},
		"a shadow root is shown": {
			`<div><template shadowrootmode=open><a href=/s>x</a></template></div>`,
			[]string{"https://example.org/s"},
		},
		"nofollow must be on every occurrence": {
			`<a href=/a rel=nofollow><a href=/a><a href=/b rel=nofollow><a href=/b#x><a href=/c rel=nofollow><a href=/c rel=nofollow>`,
			[]string{"https://example.org/a", "https://example.org/b", "https://example.org/c nofollow"},
		},
		"base": {
			`<base href="/other/"><a href=a>`, []string{"https://example.org/other/a"},
		},
		"base on another host, after a link, first of two": {
			`<a href=a><base target=_top><base href="//example.net/x/"><base href="/y/"><a href=b>`,
			[]string{"https://example.net/x/a", "https://example.net/x/b"},
		},
		"an empty base is the first": {`<base href=""><base href="/wrong/"><a href=a>`, []string{"https://example.org/dir/a"}},
		"links of drawings": {
			`<svg><a xlink:href="/x"><text>x</text></a><a href=/y xlink:href="/no"></a></svg>`, []string{"https://example.org/x", "https://example.org/y"},
		},
		"base that is no URL of ours": {
			`<base href="data:,x"><a href=a>`, []string{"https://example.org/dir/a"},
		},
		"noscript": {
			`<noscript><a href=/a>x</a></noscript><body><noscript><a href=/b>x</a></noscript>`,
			[]string{"https://example.org/a", "https://example.org/b"},
		},
		"text that looks like links": {
			`<!-- <a href=/no> --><script>"<a href=/no>"</script><style><a href=/no></style><textarea><a href=/no></textarea><title><a href=/no></title><a href=/yes>`,
			[]string{"https://example.org/yes"},
		},
		"broken markup": {
			`<p><a href=/a><b><a href=/b></p></i><td><a href="/c"<a href=/d>`,
			[]string{"https://example.org/a", "https://example.org/b", "https://example.org/c"},
		},
		"first of two attributes": {`<a href=/a href=/b>`, []string{"https://example.org/a"}},
		"NUL":                     {"<a href='/a\x00b'>", []string{"https://example.org/a%EF%BF%BDb"}},
		"empty page":              {"", nil},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				page := mustHTML(t, c.body, limits)
				require.Equal(t, c.want, linkStrings(page.Links))
				require.Zero(t, page.LinksDropped)
			})
		})
	}
}

func TestHTMLRefresh(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"0;url=/a":           "https://example.org/a",
		" 5 ; URL = /a ":     "https://example.org/a",
		"0.5, url='/a'x":     "https://example.org/a",
		"0 url=/a":           "https://example.org/a",
		"0;/a":               "https://example.org/a",
		`0; url=&quot;/a`:    "https://example.org/a",
		"0;urlx":             "https://example.org/dir/urlx",
		"5":                  "",
		"5;":                 "",
		"5; url=":            "",
		"5x; url=/a":         "",
		"url=/a":             "",
		"":                   "",
		"0; url=mailto:a@b.": "",
	} {
		page := mustHTML(t, fmt.Sprintf(`<meta http-equiv=refresh content="%s">`, content), extract.Limits{})
		var list []string
		if want != "" {
			list = []string{want}
		}
		require.Equal(t, list, linkStrings(page.Links), content)
	}
}

func TestHTMLTitle(t *testing.T) {
	t.Parallel()
	for why, c := range map[string][2]string{
		"plain":                     {"<title>A title</title>", "A title"},
		"white space":               {"<title>\n\t A \u00a0\u2028 title\r\n</title>", "A title"},
		"entities":                  {"<title>a &amp; b &lt;i&gt;</title>", "a & b <i>"},
		"markup is text":            {"<title><b>a</b></title>", "<b>a</b>"},
		"first one":                 {"<title>a</title><title>b</title>", "a"},
		"empty first one":           {"<title></title><title>b</title>", "b"},
		"missing":                   {"<p>a</p>", ""},
		"in the body":               {"<body><p>x</p><title>a</title>", "a"},
		"control characters":        {"<title>a\x1b[31m\x07b\u0085c\x00</title>", "a[31mb c\ufffd"},
		"not UTF-8":                 {"<title>a\xffb</title>", "a\ufffdb"},
		"unclosed":                  {"<title>a", "a"},
		"joiners of scripts stay":   {"<title>क्\u200dष</title>", "क्\u200dष"},
		"heading is not the title":  {"<h1>a</h1>", ""},
		"title of a drawing before": {"<title>a</title><svg><title>b</title></svg>", "a"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				require.Equal(t, c[1], mustHTML(t, c[0], limits).Title)
			})
		})
	}

	t.Run("drawing's title is not the page's", func(t *testing.T) {
		t.Parallel()
		forBothReaders(t, func(t *testing.T, limits extract.Limits) {
			t.Helper()
			require.Equal(t, "b", mustHTML(t, "<body><svg><title>a</title></svg><title>b</title>", limits).Title)
			require.Equal(t, "c", mustHTML(t, "<meta property=og:title content=c><body><svg><title>a</title></svg>", limits).Title)
		})
	})
	t.Run("cut between runes", func(t *testing.T) {
		t.Parallel()
		title := mustHTML(t, "<title>"+strings.Repeat("ä ", 5000), extract.Limits{MaxTitleBytes: 10}).Title
		require.Equal(t, "ä ä ä", title) // 8 bytes: one more would make 11
		require.Len(t, mustHTML(t, "<title>"+strings.Repeat("x", 5000), extract.Limits{}).Title, extract.MaxTitleBytesDefault)
	})
}

// canonicalLinks are links that a page's canonical URLs are.
func canonicalLinks(raw ...string) []extract.Link {
	links := make([]extract.Link, len(raw))
	for i, r := range raw {
		u, err := urls.Parse(r)
		if err != nil {
			panic(err)
		}
		links[i] = extract.Link{URL: u, Rel: crawl.RelCanonical}
	}
	return links
}

// What a page's head links to is a link, too, but for the page itself.
func TestHTMLLinksOfTheHead(t *testing.T) {
	t.Parallel()
	page := mustHTML(t, `<link rel=canonical href=`+pageURL+`>
		<link rel=alternate hreflang=en href=`+pageURL+`><link rel=alternate hreflang=de href=/de>
		<link rel=alternate type=application/rss+xml href=/feed><link rel=alternate media=handheld href=/m>
		<link rel=canonical href=/both><a href=/both>both</a><link rel=next href=/2>`, extract.Limits{})
	got := map[string]string{}
	for _, l := range page.Links {
		got[strings.TrimPrefix(l.URL.String(), "https://example.org")] = strings.Join(l.Rel.Names(), " ")
	}
	require.Equal(t, map[string]string{"/de": "alternate", "/both": "", "/2": ""}, got)
}

func TestHTMLCanonicalLanguage(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct {
		body string
		want extract.Page
	}{
		"nothing said":        {`<p>`, extract.Page{}},
		"canonical":           {`<link rel=canonical href="../a?utm_source=b#c">`, extract.Page{Signals: crawl.Signals{Canonical: "https://example.org/a"}, Links: canonicalLinks("https://example.org/a")}},
		"canonical on a base": {`<link rel=canonical href=a><base href=//example.net/b/>`, extract.Page{Signals: crawl.Signals{Canonical: "https://example.net/b/a"}, Links: canonicalLinks("https://example.net/b/a")}},
		"first valid canonical": {`<link rel=canonical href="http://"><link rel=Canonical href=/a><link rel=canonical href=/b>`, extract.Page{
			Signals: crawl.Signals{Canonical: "https://example.org/a"}, Links: canonicalLinks("https://example.org/a", "https://example.org/b"),
		}},
		"language":                 {`<html lang="pt-BR">`, extract.Page{Language: "pt-BR"}},
		"generator":                {`<meta name=Generator content=" Hugo   0.1 "><meta name=generator content=b>`, extract.Page{Signals: crawl.Signals{Generator: "Hugo 0.1"}}},
		"language with spaces":     {`<html LANG=" en ">`, extract.Page{Language: "en"}},
		"language of a paragraph":  {`<p lang=en>`, extract.Page{}},
		"language too long":        {`<html lang="` + strings.Repeat("x", 36) + `">`, extract.Page{}},
		"language with a NUL":      {"<html lang='e\x00n'>", extract.Page{}},
		"language on a second tag": {`<html><p><html lang=de>`, extract.Page{Language: "de"}},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				page := mustHTML(t, c.body, limits)
				page.Metas, page.Declared = nil, nil // have their own tests
				require.Equal(t, c.want, page)
			})
		})
	}
}

// What a page's templates say is not said by the page.
func TestHTMLTemplates(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		limits.Images = true
		page := mustHTML(t, `<template><title>no</title><meta name=robots content=noindex><link rel=canonical href=/no>`+
			`<img src=/no.png alt=no><p>no</p></template><title>yes</title><p>yes</p>`, limits)
		require.Equal(t, "yes", page.Title)
		require.Equal(t, "yes", page.Text)
		require.Empty(t, page.Metas)
		require.Empty(t, page.Canonical)
		require.Empty(t, page.Images)
		require.Empty(t, page.Links)
	})
}

func TestHTMLLicense(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		`<link rel=license href=/l.html>`: "https://example.org/l.html",
		`<link rel="License" href=/cc><link rel=license type=" application/RSL+xml" href=/r.xml><link rel=license type=application/rsl+xml href=/s.xml>`: "https://example.org/r.xml",
		`<base href=https://other.example/x/><link rel=license href=l>`:                                                                                  "https://other.example/x/l",
		`<link rel=license type=application/rsl+xml href="mailto:a@a.example"><link rel=license href=/cc>`:                                               "https://example.org/cc",
		`<link rel=license><link rel=licence href=/x><a rel=license href=/a>x</a>`:                                                                       "",
	} {
		require.Equal(t, want, mustHTML(t, head, extract.Limits{}).License, head)
		require.Equal(t, want, mustHTML(t, head, onlyTags).License, head)
	}
}

func TestHTMLIcon(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		for head, want := range map[string]string{
			`<link rel=icon href=/i.png>`:                                      "https://example.org/i.png",
			`<link rel="shortcut icon" href=/i.ico><link rel=icon href=other>`: "https://example.org/i.ico",
			`<base href=/b/><link rel=ICON href=i.png>`:                        "https://example.org/b/i.png",
			`<link rel=icon href="data:,"><link rel=icon href=/i.png>`:         "https://example.org/i.png",
			`<link rel=apple-touch-icon href=/i.png>`:                          "",
			`<link rel=icon>`: "",
		} {
			require.Equal(t, want, mustHTML(t, head, limits).Icon, head)
		}
	})
}

func TestHTMLMetas(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		page := mustHTML(t, `<meta name=" ROBOTS" content="NoIndex, noai"><meta name=description content=noai><meta content=1 name=tdm-reservation>`+
			`<meta name=googlebot content=none><meta name=tdm-policy content=" /p "><body><meta name=Mosey><meta name="">`, limits)
		require.Equal(t, []extract.Meta{
			{Name: "robots", Content: "NoIndex, noai"}, {Name: "tdm-reservation", Content: "1"}, {Name: "tdm-policy", Content: " /p "}, {Name: "mosey"},
		}, page.Metas)

		page = mustHTML(t, strings.Repeat(`<meta name=robots content="`+strings.Repeat("x", 10_000)+`">`, 20), limits)
		require.Len(t, page.Metas, 16)
		require.Len(t, page.Metas[15].Content, extract.MaxMetaBytes)
	})
}

func TestHTMLRefusesToResolveAgainstNothing(t *testing.T) {
	t.Parallel()
	_, err := extract.HTML([]byte("<a href=a>"), urls.Spelt{}, extract.Limits{})
	require.ErrorContains(t, err, "zero value")
}

func TestHTMLBoundsLinks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "<a href=/%d>", i)
	}
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		limits.MaxLinks = 10
		page := mustHTML(t, b.String(), limits)
		require.Len(t, page.Links, 10)
		require.Equal(t, "https://example.org/9", page.Links[9].URL.String())
		require.Equal(t, 990, page.LinksDropped)

		// What can never be stored is not left out.
		var none strings.Builder
		for i := range 100 {
			fmt.Fprintf(&none, "<a href='http://?%d'><a href=mailto:%d@example.org><a href='/%0*d'>", i, i, urls.MaxLength, i)
		}
		page = mustHTML(t, "<a href=/a>"+none.String(), limits)
		require.Equal(t, []string{"https://example.org/a"}, linkStrings(page.Links))
		require.Zero(t, page.LinksDropped)
	})
}

func TestLimitsWithDefaults(t *testing.T) {
	t.Parallel()
	require.Equal(t, extract.Limits{
		MaxDOMBytes: extract.MaxDOMBytesDefault, MaxDOMTags: extract.MaxDOMTagsDefault,
		MaxLinks: extract.MaxLinksDefault, MaxTextBytes: extract.MaxTextBytesDefault,
		MaxTitleBytes: extract.MaxTitleBytesDefault, MaxImages: extract.MaxImagesDefault,
	}, extract.Limits{}.WithDefaults())
	own := extract.Limits{MaxDOMBytes: 1, MaxDOMTags: 2, MaxLinks: 3, MaxTextBytes: 4, MaxTitleBytes: 5, Images: true, MaxImages: 6}
	require.Equal(t, own, own.WithDefaults())
}

// fuzzSeeds are the seed inputs for fuzzing.
var fuzzSeeds = []string{
	"", "<a href=a>", "<base href=//b/><title>t</title><a href='x y' rel=nofollow>", "<html lang=en><meta name=robots content=none>",
	"<meta http-equiv=refresh content='0;url=\"a'>", "<link rel=canonical href=c><noscript><a href=b></noscript>",
	"<script><!--<script></script><a href=x>", "<title>\xff\x00</title>", strings.Repeat("<div>", 520) + "<a href=z>", "<svg><title>a</title></svg>",
	"<frameset><frame src=a>", "<table><a href=1><tr><a href=2>", "<plaintext><a href=no>", "<![CDATA[<a href=x>]]>", "<a href=\"http://[::1\">",
}

func FuzzHTML(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	base := urls.Spelt{URL: mustURL(f, pageURL)}
	f.Fuzz(func(t *testing.T, body []byte, dom bool) {
		limits := extract.Limits{MaxLinks: 8, MaxTextBytes: 16, MaxTitleBytes: 32}
		if !dom {
			limits.MaxDOMBytes = 1
		}
		page, err := extract.HTML(body, base, limits)
		require.NoError(t, err)

		require.LessOrEqual(t, len(page.Title), 32)
		require.LessOrEqual(t, len(page.Text), 16)
		for _, text := range []string{page.Title, page.Text} {
			require.True(t, utf8.ValidString(text))
			require.NotContains(t, text, "\x00")
			require.Equal(t, strings.Join(strings.Fields(text), " "), text)
		}
		require.LessOrEqual(t, len(page.Language), 35)
		require.LessOrEqual(t, len(page.Links), 8)
		seen := map[urls.URL]bool{}
		for _, link := range page.Links {
			require.False(t, seen[link.URL], "twice: %v", link.URL)
			seen[link.URL] = true
			require.Equal(t, link.URL, mustURL(t, link.URL.String()))
		}
		if page.Canonical != "" {
			require.Equal(t, page.Canonical, mustURL(t, page.Canonical).String())
		}
	})
}
