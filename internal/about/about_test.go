package about

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

func crawler() Crawler {
	return Crawler{
		Token: "mosey", UserAgent: "mosey/1.0 (+https://crawler.example.org/)", Purpose: settings.PurposeSearch, About: "We index the small web.",
		Delay: 10 * time.Second, Contact: "you@example.org", Ranges: "/addresses.json", ReverseDNS: "crawl.example.org",
		Keys: "https://crawler.example.org/.well-known/http-message-signatures-directory", SignatureAgent: "https://crawler.example.org",
	}
}

// TestPage checks that ReadPage and human readers find the contents that Page writes.
func TestPage(t *testing.T) {
	t.Parallel()
	at, err := urls.Parse("https://crawler.example.org/")
	require.NoError(t, err)
	body, err := crawler().Page()
	require.NoError(t, err)
	sound(t, string(body))
	p := ReadPage(at, nil, body)
	require.True(t, p.MentionsToken("mosey"))
	require.True(t, p.ShowsContact("you@example.org"))
	require.True(t, p.LinksMail())
	require.False(t, p.ShowsContact("me@example.org"))
	require.Equal(t, "https://crawler.example.org/addresses.json", p.Ranges.String())
	text := strings.Join(strings.Fields(p.text), " ")
	for _, part := range []string{
		"mosey/1.0 (+https://crawler.example.org/)", "at least 10 seconds pass", "user-agent: mosey disallow: /", "crawl-delay: 60",
		`<meta name="mosey" content="noindex, nofollow">`, "x-robots-tag: mosey: noindex, nofollow", "content-usage: search=n",
		"we index the small web.", "ends in .crawl.example.org", "each of these checks", "retry-after", "erase the contents of its pages",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, strings.ToLower(string(body)), "<script")
	again, err := crawler().Page()
	require.NoError(t, err)
	require.Equal(t, body, again)

	c := crawler()
	c.Token, c.Purpose, c.Ranges, c.ReverseDNS, c.Keys, c.Contact = "ours", settings.PurposeAITrain, "", "", "", "https://example.org/write"
	body, err = c.Page()
	require.NoError(t, err)
	sound(t, string(body))
	p = ReadPage(at, nil, body)
	require.Nil(t, p.Ranges)
	require.True(t, p.ShowsContact("https://example.org/write"))
	require.Contains(t, p.text, `<meta name="robots" content="noai">`, "other names than mosey are not read there")
	require.Contains(t, p.text, "x-robots-tag: noai")
	require.Contains(t, p.text, "send us its time and its address")
	c.Purpose, c.ReverseDNS = settings.PurposeArchive, "example.org"
	body, err = c.Page()
	require.NoError(t, err)
	sound(t, string(body))
	require.NotContains(t, string(body), "Content-Usage")
	require.Contains(t, string(body), "passes this check")
}

// The texts of flags stay texts: they cannot become elements or scripts.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script><a href='javascript:x'>&{{.Token}}`
	body, err := Crawler{
		Token: hostile, UserAgent: hostile, About: hostile, Contact: hostile, Ranges: hostile, ReverseDNS: hostile, Keys: "javascript:alert(1)",
		SignatureAgent: hostile,
	}.Page()
	require.NoError(t, err)
	sound(t, string(body))
	require.NotContains(t, string(body), "<script")
	require.NotContains(t, string(body), `href="javascript`)
}

// sound requires that a document is well-formed: each element that is opened is closed in turn, and
// a parser of HTML5 keeps the elements as they were written.
func sound(t *testing.T, page string) {
	t.Helper()
	void := " meta link br hr img input "
	var open []string
	written := 0
	z := html.NewTokenizer(strings.NewReader(page))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch token.Type {
		case html.StartTagToken:
			written++
			if !strings.Contains(void, " "+token.Data+" ") {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			require.NotEmpty(t, open, token)
			require.Equal(t, open[len(open)-1], token.Data)
			open = open[:len(open)-1]
		}
	}
	require.Empty(t, open)
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	parsed := 0
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			parsed++
		}
	}
	require.Equal(t, written, parsed, "the parser had to add or drop elements")
	require.True(t, strings.HasPrefix(page, "<!DOCTYPE html>\n<html lang=\"en\">"))
}

func TestReadPage(t *testing.T) {
	t.Parallel()
	at, err := urls.Parse("https://example.org/bot/")
	require.NoError(t, err)
	p := ReadPage(at, http.Header{"Link": {`<../r.json>; rel="client-ranges"`}}, []byte(`<link rel="client-ranges" href=other.json>`))
	require.Equal(t, "https://example.org/r.json", p.Ranges.String(), "the header comes first")
	p = ReadPage(at, nil, []byte(`<script>mosey you@example.org</script><!-- mosey --><style>mosey</style><p title=mosey>moseying un-mosey mosey_2`))
	require.False(t, p.MentionsToken("mosey"))
	require.False(t, p.ShowsContact("you@example.org"))
	p = ReadPage(at, nil, []byte(`<A REL="nofollow Client-Ranges" HREF=" list.json ">x</A><a href="MAILTO:You@example.org?subject=x">write</a><p>Mosey/1.0`))
	require.Equal(t, "https://example.org/bot/list.json", p.Ranges.String())
	require.True(t, p.MentionsToken("mosey"))
	require.True(t, p.ShowsContact("you@example.org"))
	require.Nil(t, ReadPage(at, nil, []byte(`<link rel=client-ranges href="javascript:x">`)).Ranges)
	require.False(t, Mentions([]byte("anything"), ""))
}

func TestRanges(t *testing.T) {
	t.Parallel()
	r := Ranges{Created: time.Date(2026, 4, 21, 16, 30, 0, 5, time.FixedZone("", 7200)), Prefixes: []netip.Prefix{
		netip.MustParsePrefix("2001:db8::/64"), netip.MustParsePrefix("192.0.2.9/24"), netip.MustParsePrefix("192.0.2.0/24"),
	}}
	text, err := r.JSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"creationTime":"2026-04-21T14:30:00Z","prefixes":[{"ipv4Prefix":"192.0.2.0/24"},{"ipv6Prefix":"2001:db8::/64"}]}`, string(text))
	got, err := ReadRanges(text)
	require.NoError(t, err)
	require.True(t, got.Same(r))
	require.True(t, got.Has(netip.MustParsePrefix("192.0.2.7/32")))
	require.True(t, got.Has(netip.MustParsePrefix("2001:db8::/80")))
	require.False(t, got.Has(netip.MustParsePrefix("192.0.0.0/16")), "a part of it is not in the list")
	require.False(t, got.Has(netip.MustParsePrefix("198.51.100.1/32")))

	empty, err := Ranges{}.JSON()
	require.NoError(t, err)
	require.Contains(t, string(empty), `"prefixes": []`)
	// the draft's third example, with what a reader has to ignore
	got, err = ReadRanges([]byte(`{"synctoken":"1","creationTime":"2026-04-10T22:30:00Z","notes":"x","prefixes":[
		{"ipv4Prefix":"192.0.2.0/24","services":["A"],"new":1},{"ipv4Prefix":"192.0.2.0/24","ipv6Prefix":"2001:db8::/32"},{"x":1}]}`))
	require.NoError(t, err)
	require.Len(t, got.Prefixes, 1)
	for text, want := range map[string]string{
		"<html>": "HTML", "[]": "not a JSON list", `{"creationTime":"2026-04-10T22:30:00Z"}`: `"prefixes"`, "": "not a JSON list",
		`{"prefixes":[]}`: "creationTime", `{"creationTime":"2026-04-10T22:30:00+02:00","prefixes":[]}`: "UTC",
		`{"creationTime":"2026-04-10T22:30:00Z","prefixes":[{"ipv4Prefix":"x"}]}`:                      `"x"`,
		`{"creationTime":"2026-04-10T22:30:00Z","prefixes":[{"ipv4Prefix":"2001:db8::/32"}]}`:          "not a valid network",
		`{"creationTime":"2026-04-10T22:30:00Z","prefixes":[` + strings.Repeat("{},", 10_000) + `{}]}`: "10001 networks",
	} {
		_, err := ReadRanges([]byte(text))
		require.ErrorContains(t, err, want, text[:min(len(text), 80)])
	}
}
