package read

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
)

// attemptOf returns the attempt that reading a page records.
func attemptOf(t *testing.T, mediaType, body string) crawl.Attempt {
	t.Helper()
	u, err := urls.Parse("https://example.org/article")
	require.NoError(t, err)
	r := &reading{Reader: New(Config{}), url: u, base: urls.Spelt{URL: u}, d: decide.Decision{
		Run: &crawl.RunFacts{Settings: settings.Settings{}.WithDefaults()}, Attempt: &crawl.AttemptFacts{URL: u.String(), Depth: 1},
	}}
	var at crawl.Attempt
	require.NoError(t, r.page(t.Context(), &at, &fetch.Response{
		Status: http.StatusOK, Header: http.Header{}, MediaType: mediaType, ContentType: mediaType + "; charset=utf-8",
		Body: []byte(body), EndedAt: time.Now(),
	}, crawl.Visit{}))
	return at
}

// TestPageOfXHTML checks that a self-closing script ends at once in XHTML. In HTML it swallows the
// rest of the page.
func TestPageOfXHTML(t *testing.T) {
	t.Parallel()
	const body = `<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a.js"/><title>T</title></head><body><a href="/b">b</a></body></html>`
	at := attemptOf(t, "application/xhtml+xml", body)
	require.Equal(t, "T", at.Page.Signals.Title)
	require.Len(t, at.Links, 1)
	require.Empty(t, attemptOf(t, "text/html", body).Links)
}
