package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

func TestHTMLText(t *testing.T) {
	t.Parallel()
	for why, c := range map[string][2]string{
		"blocks separate words":      {"<p>a</p><p>b<div>c</div>d<h2>e</h2>f", "a b c d e f"},
		"inline tags do not":         {"<p>CO<sub>2</sub> <span>D</span>rop <b>x</b><i>y</i><em>z</em><code>t</code><font>u</font><a href=v>w</a>", "CO2 Drop xyztuw"},
		"nor breaks within a word":   {"<p>long<wbr>er so&shy;<!-- c -->ft", "longer so\u00adft"},
		"nor unknown elements":       {"<p>a<x-y>b</x-y>c<foo>d</foo>", "abcd"},
		"line breaks do":             {"<p>a<br>b<hr>c<br/>d", "a b c d"},
		"cells and rows":             {"<table><caption>a</caption><tr><td>b</td><td>c<tr><th>d</table>e", "a b c d e"},
		"items and options":          {"<ul><li>a<li>b</ul>c<dl><dt>d<dd>e</dl><select><option>f<option>g</select>h", "a b c d e f g h"},
		"images and controls":        {"<p>a<img src=x>b<input>c<button>d</button>e<textarea>f</textarea>g<video></video>h", "a b c d e f g h"},
		"labels of a drawing":        {"<svg><text>1</text><text>2<tspan>3</tspan></text></svg>", "1 23"},
		"readings of characters":     {"<p><ruby>漢<rt>かん</rt></ruby>字", "漢 かん 字"},
		"white space":                {"<p>\n a \u00a0\u2028 b\t</p>\n", "a b"},
		"entities":                   {"<p>a &lt; b &amp;c", "a < b &c"},
		"not the title":              {"<title>t</title><p>a", "a"},
		"not scripts and styles":     {"<style>p{}</style><p>a<script>var b = '<p>c</p>'</script>d", "ad"},
		"not templates":              {"a<template>b</template>c", "ac"},
		"not frames' content":        {"a<iframe>b</iframe>c<noframes>d</noframes>", "a c"},
		"what non-scripts show":      {"a<noscript><p>b</p></noscript>c", "a b c"},
		"not comments":               {"a<!-- b -->c", "ac"},
		"not attributes":             {`<img alt="a" title=b>c`, "c"},
		"control characters":         {"<p>a\x1b[31m\x07b", "a[31mb"},
		"not UTF-8":                  {"<p>a\xffb", "a\ufffdb"},
		"other scripts, capitals":    {"<p>Ünï 日本 क्\u200dष", "Ünï 日本 क्\u200dष"},
		"unclosed script hides all":  {"a<script>b", "a"},
		"nothing":                    {"", ""},
		"title of a drawing is none": {"a<svg><title>b</title><text>c</text></svg>", "a c"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				require.Equal(t, c[1], mustHTML(t, c[0], limits).Text)
			})
		})
	}

	t.Run("cut between characters", func(t *testing.T) {
		t.Parallel()
		forBothReaders(t, func(t *testing.T, limits extract.Limits) {
			t.Helper()
			for limit, want := range map[int]string{1: "a", 2: "a", 3: "a", 4: "a ä", 5: "a ä", 6: "a ä b", 7: "a ä bb", 8: "a ä bb"} {
				limits.MaxTextBytes = limit
				require.Equal(t, want, mustHTML(t, "a <i>ä</i> bb cc", limits).Text[:len(want)], "limit %d", limit)
				require.LessOrEqual(t, len(mustHTML(t, "a <i>ä</i> bb cc", limits).Text), limit)
			}
			limits.MaxTextBytes = 0
			require.Len(t, mustHTML(t, strings.Repeat("<p>"+strings.Repeat("x", 999), 200), limits).Text, extract.MaxTextBytesDefault)
		})
	})

	t.Run("long script of a large page", func(t *testing.T) {
		t.Parallel()
		script := "<script " + strings.Repeat("x", 5000) + ">" + strings.Repeat("var a = '<p>code</p>';\n", 30_000) + "</script>"
		forBothReaders(t, func(t *testing.T, limits extract.Limits) {
			t.Helper()
			require.Equal(t, "a b", mustHTML(t, "<p>a</p>"+script+"<p>b</p>", limits).Text)
		})
	})
}

func TestHTMLLogin(t *testing.T) {
	t.Parallel()
	const (
		password = `<form><input name=u><input type=" Password "></form>`
		site     = "https://example.org/"
	)
	article := strings.Repeat("words of an article ", 100)
	for why, c := range map[string]struct {
		url, body string
		want      bool
	}{
		"little but a password":           {site, `<h1>Bitte anmelden</h1>` + password, true},
		"title":                           {site, `<title>Sign in · Example</title>` + article + password, true},
		"title with other words":          {site, `<title>Our blog in 2026: the catalog on paper</title>` + article + password, false},
		"URL":                             {site + "user/login?next=/", article + password, true},
		"form beside an article":          {site, article + password, false},
		"to register or change":           {site + "login", password + password, false},
		"no form":                         {site + "login", "<title>Log in</title>", false},
		"other fields":                    {site + "login", "<input type=text><input type=search><input name=password>", false},
		"a password in an input's script": {site + "login", "<script>'<input type=password>'</script>", false},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				page, err := extract.HTML([]byte(c.body), urls.Spelt{URL: mustURL(t, c.url)}, limits)
				require.NoError(t, err)
				require.Equal(t, c.want, page.Login)
			})
		})
	}
}

func TestLoginURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://example.org/login":                      true,
		"https://example.org/Login.aspx?ReturnUrl=%2fa":  true,
		"https://example.org/wp-login.php":               true,
		"https://example.org/users/sign_in":              true,
		"https://example.org/v3/signin/identifier":       true,
		"https://login.example.org/":                     true,
		"https://sso.example.org/x":                      true,
		"https://example.org/ServiceLogin?continue=x":    true,
		"https://example.org/":                           false,
		"https://example.org/?login":                     false,
		"https://example.org/blog/my-first-login":        false,
		"https://example.org/logins":                     false,
		"https://blogin.example.org/":                    false,
		"https://www.login.example/":                     false,
		"https://example.org/" + strings.Repeat("-", 99): false,
	} {
		require.Equal(t, want, extract.LoginURL(mustURL(t, url)), url)
	}
	require.False(t, extract.LoginURL(mustURL(t, "https://192.0.2.1/")))
}

// What a reader sees is the content of a page, all of it and nothing else.
func TestContent(t *testing.T) {
	t.Parallel()
	const seen = `<title>T</title><p>Some words <b>to</b> read.`
	long := strings.Repeat("word ", 30_000) // beyond what is kept of a text
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		content := func(body string) crawl.ContentHash { return mustHTML(t, body, limits).Content }
		for name, same := range map[string]string{
			"Script":     seen + `<script>var nonce = "1"</script>`,
			"Comment":    seen + `<!-- made in 0.3 s -->`,
			"Token":      seen + `<form><input type=hidden name=token value=abc></form>`,
			"Attributes": `<title>T</title><p class=x id=y>Some words <b>to</b> read.`,
			"Links":      `<title>T</title><p><a href="/x">Some words</a> <b>to</b> read.`,
			"Space":      "<title> T\n</title>\n<p>Some  words\n<b>to</b>\tread. ",
		} {
			require.Equal(t, content(seen), content(same), name)
		}
		for name, other := range map[string]string{
			"Text":        `<title>T</title><p>Some words <b>to</b> write.`,
			"Title":       `<title>U</title><p>Some words <b>to</b> read.`,
			"TitleAsText": `<p>Some words <b>to</b> read. T`,
		} {
			require.NotEqual(t, content(seen), content(other), name)
		}
		require.NotEqual(t, content("<p>"+long+"a"), content("<p>"+long+"b"), "to the end")
		require.Equal(t, mustHTML(t, "<p>"+long+"a", limits).Text, mustHTML(t, "<p>"+long+"b", limits).Text)
		require.Zero(t, content("<p><img src=x>"))
	})
}
