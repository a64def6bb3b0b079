package extract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

// Browsers send the query of a link in the charset of the page, and its path in UTF-8.
func TestQueriesInTheCharsetOfThePage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ charset, href, want string }{
		"GBK":           {"gbk", "3.asp?DengJh=洪1700718", "http://a.example/3.asp?DengJh=%BA%E91700718"},
		"PathInUTF8":    {"gbk", "洪?a=洪#洪", "http://a.example/%E6%B4%AA?a=%BA%E9"},
		"Latin1":        {"windows-1252", "?q=é€", "http://a.example/?q=%E9%80"},
		"NotInCharset":  {"windows-1252", "?q=洪x", "http://a.example/?q=%26%2327946%3Bx"},
		"Encoded":       {"gbk", "?q=%E6%B4%AA", "http://a.example/?q=%E6%B4%AA"},
		"UTF8":          {"utf-8", "?q=é", "http://a.example/?q=%C3%A9"},
		"UTF16":         {"utf-16le", "?q=é", "http://a.example/?q=%C3%A9"},
		"Unknown":       {"", "?q=é", "http://a.example/?q=%C3%A9"},
		"WithoutAQuery": {"gbk", "/洪", "http://a.example/%E6%B4%AA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := extract.HTML([]byte("<a href='"+test.href+"'>x</a>"), urls.Spelt{URL: mustURL(t, "http://a.example/")}, extract.Limits{Charset: test.charset})
			require.NoError(t, err)
			require.Len(t, page.Links, 1)
			require.Equal(t, test.want, page.Links[0].URL.String())
		})
	}

	t.Run("AllReferences", func(t *testing.T) {
		t.Parallel()
		page, err := extract.HTML([]byte("<link rel=canonical href='?c=é'><link rel=alternate type=application/rss+xml href='?f=é'>"+
			"<img src='i?i=é'>"), urls.Spelt{URL: mustURL(t, "http://a.example/")}, extract.Limits{Charset: "windows-1252", Images: true})
		require.NoError(t, err)
		require.Equal(t, "http://a.example/?c=%E9", page.Canonical)
		require.Equal(t, []string{"http://a.example/?f=%E9"}, page.Feeds)
		require.Len(t, page.Images, 1)
		require.Equal(t, "http://a.example/i?i=%E9", page.Images[0].URL.String())
	})
}

// References are requested in their own spelling. On a page, that is its spelling as requested.
func TestReferencesAsSpelt(t *testing.T) {
	t.Parallel()
	base := urls.Spelt{URL: mustURL(t, "http://a.example/~me/"), Target: "/%7Eme/"}
	page, err := extract.HTML([]byte("<link rel=alternate type=application/rss+xml href=feed><a href=b>b</a><a href=/~me/b>b</a>"+
		"<a href=/plain>c</a><a href=/x%2d?utm_source=a>d</a><img src=i%2Epng>"), base, extract.Limits{Images: true})
	require.NoError(t, err)
	require.Equal(t, []string{"http://a.example/%7Eme/feed"}, page.Feeds)
	require.Equal(t, "/%7Eme/i%2Epng", page.Images[0].Target)
	var targets []string
	for _, l := range page.Links {
		targets = append(targets, l.Target)
	}
	require.Equal(t, []string{"/%7Eme/b", "", "/x%2d"}, targets)

	page, err = extract.HTML([]byte("<base href=/%7Eyou/><a href=b>b</a>"), base, extract.Limits{})
	require.NoError(t, err)
	require.Equal(t, "/%7Eyou/b", page.Links[0].Target)
}
