package extract_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

const (
	xmlHead = `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">` +
		`<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="pt-BR"><head>`
	xmlTail = `</body></html>`
)

func mustXHTML(tb testing.TB, body string, limits extract.Limits) extract.Page {
	tb.Helper()
	page, err := extract.XHTML([]byte(body), urls.Spelt{URL: mustURL(tb, pageURL)}, limits)
	require.NoError(tb, err)
	return page
}

func TestXHTML(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct{ head, body, title, text string }{
		"a script that closes itself":  {`<script src="s.js"/><title>T</title></head><body>`, `<p>a</p><script src="t.js" /><p>b</p>`, "T", "a b"},
		"a title that closes itself":   {`<title/></head><body>`, `<p>a</p>`, "", "a"},
		"style, textarea and iframe":   {`<style/></head><body>`, `<p>a</p><textarea/><p>b</p><iframe src="/f"/><p>c</p>`, "", "a b c"},
		"noembed, xmp and plaintext":   {`</head><body>`, `<p>a</p><noembed/>b<xmp/>c<plaintext/><xmp><b>d</b></xmp>e`, "", "a b c d e"},
		"a division and an anchor":     {`</head><body>`, `<h1><a id="x"/>He<b/>ad</h1><div class="sidebar"/><p>a</p>`, "", "Head a"},
		"void elements with end tags":  {`<meta name="a" content="b"></meta></head><body>`, `a<br></br>b<img src="i"></img>c`, "", "a b c"},
		"CDATA":                        {`<title><![CDATA[a < b & c]]></title></head><body>`, `<p>x <![CDATA[<y> &amp; ]]]]><![CDATA[> z]]></p>`, "a < b & c", "x <y> &amp; ]]> z"},
		"a script in CDATA":            {`<script><![CDATA[ if (a < b) document.write("</script><p>no</p>") ]]></script></head><body>`, `<p>a</p>`, "", "a"},
		"a script with other markup":   {`<script>document.write('<p>no</p>')</script><style>p &gt; a {}</style></head><body>`, `<p>a</p>`, "", "a"},
		"entities":                     {`<title>caf&eacute; &amp; &#x41;</title></head><body>`, `<p>&nbsp;&ldquo;a&rdquo; &apos;b&apos; &lt;</p>`, "café & A", "“a” 'b' <"},
		"a comment, an instruction":    {`<?xml-stylesheet href="a.css"?></head><body>`, `<p>a<!-- <p>b</p> -->c<?php d ?></p>`, "", "ac"},
		"a drawing":                    {`</head><body>`, `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0"/><text>a</text></svg><p>b</p>`, "", "a b"},
		"linked data":                  {`<script type="application/ld+json">{"description":"a &lt; &amp; b"}</script></head><body>`, `<p>a</p>`, "", "a"},
		"elements inside each other":   {`</head><body>`, `<p>a<em>b</em></p><ul><li>c</li></ul>`, "", "ab c"},
		"a document type of its own":   {`</head><body>`, `<p>a</p>`, "", "a"},
		"a title with an element":      {`<title>a <b>b</b></title></head><body>`, `<p>c</p>`, "a b", "c"},
		"is cut off":                   {`<script src="s"/></head><body>`, `<p>a</p><div><p>b`, "", "a b"},
		"cut off inside a script":      {`</head><body>`, `<p>a</p><script src="x"/>b<script>c`, "", "a b"},
		"case of elements as it is":    {`</head><body>`, `<p>a</p><P>b</P>`, "", "a b"},
		"attributes over several rows": {"<script\n src='s'\n/></head><body>", "<p\nclass='x'\n>a</p\n>b", "", "a b"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				head, tail := xmlHead, xmlTail
				switch {
				case strings.Contains(why, "cut off"):
					tail = ""
				case why == "a document type of its own":
					head = strings.Replace(head, `"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">`, `"x" [ <!ENTITY a "b"> ]>`, 1)
				}
				page := mustXHTML(t, head+c.head+c.body+tail, limits)
				require.Equal(t, c.title, page.Title)
				require.Equal(t, c.text, page.Text)
				require.Equal(t, "pt-BR", page.Language)
				if why == "linked data" {
					require.Equal(t, "a < & b", page.Description)
				}
			})
		})
	}
}

// What is not well-formed is read as HTML is.
func TestXHTMLThatIsNotWellFormed(t *testing.T) {
	t.Parallel()
	for why, body := range map[string]string{
		"paragraphs without ends":    xmlHead + `</head><body><p>a<p>b<a href="/c">c</a>` + xmlTail,
		"break without an end":       xmlHead + `</head><body>a<br>b<a href="/c">c</a>` + xmlTail,
		"script with less-than":      xmlHead + `<script>if (a<b) { "</p>" }</script></head><body><p>a</p>` + xmlTail,
		"end tags in a wrong order":  `<html><body><b><i>a</b></i></body></html>`,
		"end tags of another case":   `<html><body><P>a</p></body></html>`,
		"text after the end":         `<html><body>a</body></html>b`,
		"two documents":              `<p>a</p><p>b</p>`,
		"an end tag more":            `<html><body>a</body></html></div>`,
		"no element":                 `just text`,
		"nothing":                    ``,
		"deeper than anything is":    strings.Repeat("<div>", 5000) + `<a href="/c">c</a>` + strings.Repeat("</div>", 5000),
		"a token longer than any is": `<html><body>a<!--` + strings.Repeat("x", 300_000) + `--><a href="/c">c</a></body></html>`,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, mustHTML(t, body, extract.Limits{}), mustXHTML(t, body, extract.Limits{}))
		})
	}
}

func TestXHTMLSurvivesHostilePages(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	pages := map[string]string{
		"CDATA of entities": "<p><![CDATA[" + fill("&") + "]]></p>",
		"pieces of CDATA":   "<p>" + fill("<![CDATA[&&&&&&&&&&&&&&&]]>") + "</p>",
		"closed elements":   "<p>" + fill("<b/>") + "</p>",
		"levels":            fill("<b>"),
		"end of CDATA":      "<p><![CDATA[" + fill("]") + "]]></p>",
	}
	if !testing.Short() { // TestHTMLSurvivesHostilePages reads them in both forms
		for why, body := range hostilePages() {
			pages["as HTML: "+why] = "<html><body>" + body + "</body></html>"
		}
	}
	for why, body := range pages {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			mustXHTML(t, body, extract.Limits{})
			require.Less(t, time.Since(start), 5*time.Minute)
		})
	}
}

func FuzzXHTML(f *testing.F) {
	f.Add([]byte(xmlHead + `<title/><script src="a"/></head><body><p>a<br/><![CDATA[<b>]]></p>` + xmlTail))
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		extract.IsXHTML(body)
		page, err := extract.XHTML(body, urls.Spelt{URL: mustURL(t, pageURL)}, extract.Limits{MaxTextBytes: 64})
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Text), 64)
	})
}
