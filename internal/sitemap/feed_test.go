package sitemap_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/sitemap"
)

func TestReadFeed(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 3, d, 10, 0, 0, 0, time.UTC) }
	want := []sitemap.FeedEntry{{Link: at(t, "https://a.example/2"), Published: day(5)}, {Link: at(t, "https://a.example/1"), Published: day(4)}}
	for name, c := range map[string]struct {
		body string
		want []sitemap.FeedEntry
		err  string
	}{
		"RSS": {`<?xml version="1.0"?><rss version="2.0"><channel><title>A</title><link>https://a.example/</link>
			<item><title>Two</title><link>https://a.example/2</link><pubDate>Thu, 05 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><title>One</title><link>https://a.example/1</link><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><title>None</title></item></channel></rss>`, want, ""},
		"Atom": {`<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><link href="https://a.example/"/>
			<entry><title>Two</title><link rel="alternate" href="https://a.example/2"/><published>2026-03-01T10:00:00Z</published>
				<updated>2026-03-05T10:00:00Z</updated></entry>
			<entry><title>One</title><link href="https://a.example/1"/><updated>2026-03-04T11:00:00+01:00</updated></entry></feed>`, want, ""},
		"JSON": {`{"version":"https://jsonfeed.org/version/1.1","title":"A","items":[
			{"id":"2","url":"https://a.example/2","date_published":"2026-03-05T10:00:00Z"},
			{"id":"1","url":"https://a.example/1","date_published":"2026-03-04T10:00:00Z"}]}`, want, ""},
		"RDF": {`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
			xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>A</title></channel>
			<item><link>https://a.example/2</link><dc:date>2026-03-05T10:00:00Z</dc:date></item>
			<item><link>https://a.example/1</link><dc:date>2026-03-04T10:00:00Z</dc:date></item></rdf:RDF>`, want, ""},
		"LinksOfOtherElements": {`<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel xml:base="/blog/">
			<item><guid>https://a.example/2</guid><pubDate>Thu, 05 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><guid isPermaLink="false">https://a.example/no</guid><atom:link href="../1"/><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><guid isPermaLink="false">https://a.example/no</guid></item></channel></rss>`, want, ""},
		"BasesAndSources": {`<feed xml:base="/blog/"><entry xml:base="2026/"><link rel="self" href="/no"/><link href="../../2"/>
			<source><link href="/no"/><updated>2027-01-01T00:00:00Z</updated></source><updated>2026-03-05T10:00:00Z</updated></entry>
			<entry><link href="../1" xml:base="x/../"></link><updated>2026-03-04T10:00:00Z</updated></entry></feed>`, want, ""},
		"Unclosed": {`<rss><channel><item><link>/2</link><pubDate>Thu, 05 Mar 2026 10:00:00 GMT<description>a<p>b</item>
			<item><b><br><link>/no</link></b></item><item><link>/1</link><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item></channel></rss>`, want, ""},
		"MarkOfJSON": {"\ufeff" + `{"version":"https://jsonfeed.org/version/1.1","items":[
			{"id":"https://a.example/2","date_published":"2026-03-01T10:00:00Z","date_modified":"2026-03-05T10:00:00Z"},
			{"id":1,"url":"/1","date_published":"2026-03-04T10:00:00Z"},{"id":2}]}`, want, ""},
		"CutOff":     {`<rss><channel><item><link>https://a.example/2</link><pubDate>Thu, 05 Mar 2026 10:00:00 GMT</pubDate></item><item><link>https://a.exa`, want[:1], "unexpected EOF"},
		"HTML":       {"<html><body>no</body></html>", nil, "read the feed"},
		"Nothing":    {"", nil, "read the feed"},
		"OtherJSON":  {`{"version":"1","items":[{"url":"/1"}]}`, nil, "not a feed"},
		"NoJSON":     {`{"version":` + strings.Repeat("[", 1_000_000), nil, "exceeded max depth"},
		"Deep":       {"<rss><channel><item>" + strings.Repeat("<a>", 1_000_000), nil, "unexpected EOF"},
		"Attributes": {"<rss><channel><item " + strings.Repeat("a ", 1_000_000) + "/>", nil, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sitemap.ReadFeed([]byte(c.body), "", at(t, "https://a.example/feed"))
			require.Equal(t, c.want, got)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
		})
	}
	t.Run("NoMoreThanCount", func(t *testing.T) {
		t.Parallel()
		var body strings.Builder
		body.WriteString(`<rss version="2.0"><channel>`)
		for i := range sitemap.MaxFeedEntries + 10 {
			fmt.Fprintf(&body, "<item><link>https://a.example/%d</link></item>", i)
		}
		body.WriteString(`</channel></rss>`)
		got, err := sitemap.ReadFeed([]byte(body.String()), "", at(t, "https://a.example/feed"))
		require.NoError(t, err)
		require.Len(t, got, sitemap.MaxFeedEntries)
	})
}

func FuzzReadFeed(f *testing.F) {
	f.Add([]byte(`<rss version="2.0"><channel><item><link>https://a.example/2</link></item></channel></rss>`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/1"/></entry></feed>`))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"/1"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, _ := sitemap.ReadFeed(body, "", at(t, "https://a.example/feed"))
		require.LessOrEqual(t, len(entries), sitemap.MaxFeedEntries)
		for _, e := range entries {
			require.NotEmpty(t, e.Link.String())
		}
	})
}

func at(t *testing.T, address string) urls.Spelt {
	t.Helper()
	u, err := urls.Spelt{}.Resolve(address)
	require.NoError(t, err)
	return u
}
