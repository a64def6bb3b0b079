package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// shownPages are what `mosey serve` answers for rows.
type shownPages struct {
	t   *testing.T
	url string
}

func serveRows(t *testing.T, h *commandHarness, args ...string) shownPages {
	t.Helper()
	c := h.Start(append([]string{"serve", "--web", "127.0.0.1:0"}, args...)...)
	c.Await("Ctrl-C stops.")
	t.Cleanup(func() { require.Zero(t, c.Stop().Code) })
	_, rest, _ := strings.Cut(c.stdout.String(), "Web page   ")
	address, _, _ := strings.Cut(rest, "\n")
	return shownPages{t, address}
}

func (s shownPages) get(path string) (status int, body string) {
	s.t.Helper()
	return scrape(s.t, s.url+path)
}

// page is one that is shown.
func (s shownPages) page(path string) string {
	s.t.Helper()
	status, body := s.get(path)
	require.Equal(s.t, http.StatusOK, status, body)
	require.Contains(s.t, body, "</html>", "it is whole")
	return body
}

func TestServe(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, "https://b.example/").robots(crawl.Robots{Verdict: crawl.RobotsAllowAll})
	r.fetched(crawl.Attempt{Page: &crawl.PageUpdate{Signals: &crawl.Signals{Title: "A title"}, Visit: &crawl.VisitUpdate{}}})
	s := serveRows(t, r.commandHarness)

	overview := s.page("/")
	require.Contains(t, overview, `<p class="sentence">Run small-web `)
	require.Contains(t, overview, `<a href="/runs/small-web">small-web</a>`)
	run := s.page("/runs/small-web")
	require.Contains(t, run, `<th scope="row">success</th><td class="n">1</td>`)
	require.Contains(t, s.page("/domains"), `<a href="/domains/a.example">a.example</a>`)
	domain := s.page("/domains/a.example")
	require.Contains(t, domain, `<p class="sentence">a.example: `)
	require.Contains(t, domain, `<a href="/url?u=https%3A%2F%2Fa.example%2F">https://a.example/</a>`)
	page := s.page("/url?u=" + url.QueryEscape(aPage))
	require.Contains(t, page, "A title")
	require.Contains(t, page, "success 200")
	require.Contains(t, s.page("/url"), "Name a page")
	require.Contains(t, s.page("/search"), "Search the pages")
	require.Contains(t, s.page("/search?q=nowhere"), "Nothing is found for nowhere.")
	require.Contains(t, s.page("/domains/unknown.example"), "not known: it was never seeded")

	// the same as JSON
	for path, want := range map[string]string{
		"/api/overview":                        `"run": "small-web"`,
		"/api/runs/small-web":                  `"settings": {`,
		"/api/domains?sort=name":               `"domain": "a.example"`,
		"/api/domains/a.example":               `"about": "a.example"`,
		"/api/url?u=" + url.QueryEscape(aPage): `"title": "A title"`,
		"/api/search?q=nowhere":                `"sentence": "Nothing is found for nowhere."`,
	} {
		status, body := s.get(path)
		require.Equal(t, http.StatusOK, status, body)
		require.True(t, json.Valid([]byte(body)), path)
		require.Contains(t, body, want, path)
	}

	// what cannot be shown says why
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/runs/nobody":          {http.StatusNotFound, "not found"},
		"/nowhere":              {http.StatusNotFound, "There is no such page here."},
		"/domains?status=loud":  {http.StatusBadRequest, "Status &#34;loud&#34;: want one of"},
		"/domains?sort=size":    {http.StatusBadRequest, "Sort &#34;size&#34;: want one of"},
		"/url?u=ftp://a/":       {http.StatusBadRequest, "want an absolute http or https URL"},
		"/search?q=a&offset=-1": {http.StatusBadRequest, "Offset &#34;-1&#34;: want 0 to"},
		"/search?q=-a":          {http.StatusBadRequest, "has no word to look for"},
		"/domains/no%20host":    {http.StatusBadRequest, "want a host name"},
	} {
		status, body := s.get(path)
		require.Equal(t, want.status, status, "%s: %s", path, body)
		require.Contains(t, body, want.says, path)
		status, body = s.get("/api" + path)
		require.Equal(t, want.status, status, path)
		require.Contains(t, body, `"error"`, path)
	}
}

// A browser must do nothing that a site says, and answer to no stranger.
func TestServeIsGuarded(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>` + "\x1b[2J\u202e"
	r := newRows(t, settings.Settings{}, aPage).robots(crawl.Robots{Verdict: crawl.RobotsAllowAll, Reason: hostile})
	r.fetched(crawl.Attempt{
		Error: hostile, Unchanged: hostile,
		Page: &crawl.PageUpdate{Signals: &crawl.Signals{Title: hostile, Description: hostile}, Visit: &crawl.VisitUpdate{}},
	})
	r.control(crawl.Control{Type: crawl.ControlPause, Reason: hostile})
	s := serveRows(t, r.commandHarness, "--web-host", "Crawler.example")
	paths := []string{
		"/", "/runs/small-web", "/domains", "/domains/a.example", "/url?u=" + url.QueryEscape(aPage),
		"/search?q=" + url.QueryEscape(hostile), "/domains?source=" + url.QueryEscape(hostile), "/" + url.PathEscape(hostile),
	}
	for _, path := range paths {
		_, body := s.get(path)
		require.NotContains(t, body, "<script>", path)
		require.NotContains(t, body, "\x1b", path)
		require.NotContains(t, body, "javascript:", path)
		require.NotContains(t, body, " style=", "%s: no inline style", path)
	}
	for host, want := range map[string]int{
		"crawler.example": 200, "crawler.example:80": 200, "localhost": 200, "[::1]:8470": 200, "evil.example": 421, "": 421,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/", nil)
		require.NoError(t, err)
		if req.Host = host; host == "" {
			req.Host = "evil.example:8470"
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, host)
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'")
	}
	// it changes nothing
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

func TestServeSearchAlone(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage)
	s := serveRows(t, r.commandHarness, "--public", "search")
	require.Contains(t, s.page("/"), "Search the pages", "it is the first page")
	for _, path := range []string{"/domains", "/runs/small-web", "/api/overview", "/url?u=" + url.QueryEscape(aPage)} {
		status, body := s.get(path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.NotContains(t, body, "/domains", "no link leads there")
	}
	r.Refuse([]string{"serve", "--web", "8470"}, `--web "8470"`, "want an address such as :8470")
	r.Refuse([]string{"serve", "--web", "off"}, "--web off")
}
