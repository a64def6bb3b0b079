package extract_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

// hostilePages are built to cost more than they should. Each ends in a link.
func hostilePages() map[string]string {
	const size = 10 << 20 // what the fetcher lets through
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const end = "<a href=/end>"
	return map[string]string{
		"100,000 levels":                 strings.Repeat("<div>", 100_000) + end,
		"600 levels":                     strings.Repeat("<div>", 600) + end,
		"10 MB of levels":                fill("<b>") + end,
		"10 MB of links":                 end + numbered(size/16, "<a href=/%07d>"),
		"10 MB of one link":              fill("<a href=/end>"),
		"attributes on html":             numbered(40_000, "<html a%d>") + end,
		"attributes on body":             "<body>" + numbered(40_000, "<body a%d=1>") + end,
		"attributes of one tag":          "<p " + numbered(100_000, "a%d ") + ">" + strings.Repeat("<p a>", 40_000) + end,
		"attributes of many large tags":  strings.Repeat("<p "+numbered(700, "a%d ")+">"+strings.Repeat("<p a>", 400), 50) + end,
		"10 MB of attributes":            "<p " + numbered(size/9, "a%07d ") + ">" + strings.Repeat("<p a>", 40_000) + end,
		"10 MB of tags after attributes": "<p " + numbered(20_000, "a%07d ") + ">" + fill("<p a>") + end,
		"formatting elements":            numbered(40_000, "<b a=%d><p>") + end,
		"formatting elements, closed":    numbered(20_000, "<a b=%d></p>") + end,
		"misnested tables":               strings.Repeat("<table><b>x", 16_000) + end,
		"end tags that match nothing":    strings.Repeat("<i>", 400) + strings.Repeat("</x>", 49_000) + end,
		"10 MB attribute":                "<img src='" + fill("x") + "'>" + end,
		"10 MB of less-than":             fill("<") + end,
		"10 MB of entities":              "<title>" + fill("&amp;") + "</title>" + end,
		"10 MB comment":                  "<!--" + fill("-") + "-->" + end,
		"10 MB of text":                  fill("x ") + end,
		"10 MB of NUL":                   fill("\x00") + end,
		"10 MB of binary":                end + string(noise(size)),
		"10 MB script":                   "<script>" + fill("<!--<script") + "</script>-->" + end,
		"10 MB of refresh":               fill("<meta http-equiv=refresh content=0;/end>"),
		"long link":                      "<a href='" + strings.Repeat("/", 200_000) + "'>" + end,
		"rel of many words":              "<a href=/x rel='" + strings.Repeat("a ", 100_000) + "'>" + end,
	}
}

// noise returns random bytes, like a program or a film that is served as a page.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
}

func TestHTMLSurvivesHostilePages(t *testing.T) {
	t.Parallel()
	const patience = 5 * time.Minute // measured: under 0.6 s, 18 s under the race detector; what grows with the square takes hours
	end := mustURL(t, "https://example.org/end")
	for why, body := range hostilePages() {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			page := mustHTML(t, body, extract.Limits{})
			took := time.Since(start)
			t.Logf("%.1f MB in %v, %d links", float64(len(body))/1e6, took.Round(time.Millisecond), len(page.Links))
			require.Less(t, took, patience)
			found := false
			for _, link := range page.Links {
				found = found || link.URL == end
			}
			require.True(t, found, "the link is not found")
		})
	}
}

// articlePage is about 30 KB with 150 links, like a page of a small site.
func articlePage() []byte {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang=en><head><meta charset=utf-8><title>An article</title>` +
		`<link rel=stylesheet href=/s.css><link rel=canonical href=/a><meta name=description content="About things"></head><body>`)
	for i := range 150 {
		fmt.Fprintf(&b, `<div class="item"><p>Some text with <em>emphasis</em> &amp; an entity, long enough to be a sentence or two in a blog post.</p>`+
			`<a class="link" href="/blog/2026/%d/article-%d.html?page=2">Read more</a></div>`, i%12, i)
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func BenchmarkHTML(b *testing.B) {
	hostile := hostilePages()
	for _, bench := range []struct {
		name   string
		body   []byte
		limits extract.Limits
	}{
		{"ArticleThroughDOM", articlePage(), extract.Limits{}},
		{"ArticleByTags", articlePage(), onlyTags},
		{"HostileDepth", []byte(hostile["100,000 levels"]), extract.Limits{}},
		{"HostileLinks", []byte(hostile["10 MB of links"]), extract.Limits{}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			base := urls.Spelt{URL: mustURL(b, pageURL)}
			b.SetBytes(int64(len(bench.body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = extract.HTML(bench.body, base, bench.limits)
			}
		})
	}
}
