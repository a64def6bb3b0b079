package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/robots"
	"github.com/mosey-web/mosey/test/wait"
)

// shownPages requests the pages of `mosey serve`.
type shownPages struct {
	t     *testing.T
	url   string
	token string
}

func serveRows(t *testing.T, h *commandHarness, args ...string) shownPages {
	t.Helper()
	c := h.Start(append([]string{"serve", "--web", "127.0.0.1:0"}, args...)...)
	c.Await("Ctrl-C stops the server.")
	t.Cleanup(func() { require.Zero(t, c.Stop().Code) })
	_, rest, _ := strings.Cut(c.stdout.String(), "Web page   ")
	address, _, _ := strings.Cut(rest, "\n")
	address, token, _ := strings.Cut(address, "/?token=")
	return shownPages{t, strings.TrimSuffix(address, "/"), token}
}

// get requests a page, and repeats the request while the database, which other tests share, is
// slow.
func (s shownPages) get(path string) (status int, body string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		status, body = s.once(path)
		if !isLate(body) || time.Now().After(end) {
			return status, body
		}
	}
}

// isLate reports whether a page says that a busy machine has no answer yet.
func isLate(body string) bool {
	return strings.Contains(body, "took too long") || strings.Contains(body, "being counted") ||
		strings.Contains(body, "for the first time takes long")
}

func (s shownPages) once(path string) (status int, body string) {
	s.t.Helper()
	return scrape(s.t, s.url+path)
}

// page requests a page, requires status 200 and returns the body.
func (s shownPages) page(path string) string {
	s.t.Helper()
	status, body := s.get(path)
	require.Equal(s.t, http.StatusOK, status, body)
	require.Contains(s.t, body, "</html>", "it is whole")
	for _, at := range stamps.FindAllString(body, -1) {
		require.True(s.t, strings.HasSuffix(at, " UTC"), "%s: a time without its zone: %s", path, at)
	}
	return body
}

// stamps are the times of a page, with the text after each.
var stamps = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.{0,4}`)

func TestServe(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, "https://b.example/").robots(crawl.Robots{Verdict: crawl.RobotsAllowAll})
	r.fetched(crawl.Attempt{Page: &crawl.PageUpdate{Signals: &crawl.Signals{Title: "A title"}, Visit: &crawl.VisitUpdate{}}})
	s := serveRows(t, r.commandHarness)

	overview := s.page("/")
	require.Contains(t, overview, `<p class="sentence">Run small-web `)
	require.Contains(t, overview, `<a href="/runs/small-web">small-web</a>`)
	run := s.page("/runs/small-web")
	require.Contains(t, run, `<th scope="row">ok</th><td class="n">1</td>`)
	for _, of := range []string{"", "/runs/small-web"} {
		for span, words := range map[string]string{"1h": "the last hour", "1d": "the last day", "30d": "the last 30 days"} {
			page := s.page(cmp.Or(of, "/") + "?span=" + span)
			require.Contains(t, page, "Outcomes in "+words)
			require.Contains(t, page, `<th scope="col" class="n">ok</th>`, "as a table, too")
			require.Contains(t, page, "1 attempt in "+words)
			require.Contains(t, page, ", 1 ok</title>", "hover text")
		}
	}
	require.Contains(t, s.page("/domains"), `<a href="/domains/a.example">a.example</a>`)
	require.Contains(t, s.page("/domains"), "2 domains in total: ")
	require.Contains(t, s.page("/domains?due=1"), "b.example")
	for _, none := range []string{"errors=50", "rank=10", "lang=de", "source=tranco", "waits=crawl-delay"} {
		require.Contains(t, s.page("/domains?"+none), "No domain matches.", none)
	}
	r.exec("UPDATE domains SET error_rate = 0.5, seed_rank = 10 WHERE domain = 'a.example'")
	r.exec("UPDATE pages SET language = 'de' WHERE domain = 'a.example'")
	for _, one := range []string{"errors=49.5&sort=name", "rank=10&sort=name", "lang=de&sort=name"} {
		require.Contains(t, s.page("/domains?"+one), "1 domain, sorted by name.", one)
	}
	domain := s.page("/domains/a.example")
	require.Contains(t, domain, `<p class="sentence">a.example: `)
	require.Contains(t, domain, `<th scope="row">200</th><td class="n">1</td>`, "status codes")
	require.Contains(t, domain, "Slowest requests")
	require.Contains(t, domain, "rank &#43;0.857, errors -0.500", "what its priority comes of")
	require.Contains(t, domain, `<a href="/url?u=https%3A%2F%2Fa.example%2F">https://a.example/</a>`)
	page := s.page("/url?u=" + url.QueryEscape(aPage))
	require.Contains(t, page, "A title")
	require.Contains(t, page, "ok 200")
	require.Contains(t, s.page("/url"), "Enter a URL to see why the page")
	require.Contains(t, s.page("/search"), "Search the crawled pages")
	require.Contains(t, s.page("/search?q=nowhere"), "No results for nowhere.")
	require.Contains(t, s.page("/domains/unknown.example"), "unknown: the page was never seeded")

	require.Contains(t, s.page("/live"), "ok 200")
	require.Contains(t, s.page("/images"), "No images yet")
	require.Contains(t, s.page("/images?of=copies"), "No image has duplicates.")
	require.Regexp(t, `<title>[^<]* UTC: https://a\.example/, ok 200 in `, domain)
	status, description := s.get("/opensearch.xml")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, description, s.url+"/search?q={searchTerms}")

	// the same as JSON
	for path, want := range map[string]string{
		"/api/overview":                           `"run": "small-web"`,
		"/api/runs/small-web":                     `"settings": {`,
		"/api/domains?sort=name":                  `"domain": "a.example"`,
		"/api/domains/a.example":                  `"subject": "a.example"`,
		"/api/url?u=" + url.QueryEscape(aPage):    `"title": "A title"`,
		"/api/search?q=nowhere":                   `"sentence": "No results for nowhere."`,
		"/api/live":                               `"text": "ok 200"`,
		"/api/images":                             `"images": []`,
		"/api/robots?u=" + url.QueryEscape(aPage): `"verdict": "allow_all"`,
	} {
		status, body := s.get(path)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, want, path)
		s.asDescribed(path, body)
	}

	// what cannot be shown says why
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/runs/nobody":                               {http.StatusNotFound, "not found"},
		"/nowhere":                                   {http.StatusNotFound, "This page does not exist."},
		"/domains?status=loud":                       {http.StatusBadRequest, "Status &#34;loud&#34;: want one of"},
		"/domains?sort=size":                         {http.StatusBadRequest, "Sort &#34;size&#34;: want one of"},
		"/runs/small-web?span=1y":                    {http.StatusBadRequest, "Span &#34;1y&#34;: want one of 1h, 1d and 30d."},
		"/domains?errors=101":                        {http.StatusBadRequest, "want a percentage"},
		"/domains?errors=NaN":                        {http.StatusBadRequest, "want a percentage"},
		"/domains?waits=godot":                       {http.StatusBadRequest, "want a reason, such as crawl-delay"},
		"/domains?lang=x":                            {http.StatusBadRequest, "want a tag such as"},
		"/domains?rank=0":                            {http.StatusBadRequest, "Rank &#34;0&#34;: want 1 or more"},
		"/url?u=ftp://a/":                            {http.StatusBadRequest, "want a URL or a host with a path"},
		"/search?q=a&offset=-1":                      {http.StatusBadRequest, "Offset &#34;-1&#34;: want 0 to"},
		"/search?q=-a":                               {http.StatusBadRequest, "type at least one word"},
		"/domains/a.example?n=501":                   {http.StatusBadRequest, "want 1 to 500 attempts"},
		"/images?format=svg":                         {http.StatusBadRequest, "Format &#34;svg&#34;: want one of"},
		"/images?domain=a%20b":                       {http.StatusBadRequest, "want a host name"},
		"/images?similar=beef":                       {http.StatusBadRequest, "want the SHA-256"},
		"/images?similar=" + strings.Repeat("0", 64): {http.StatusNotFound, "not found"},
		"/robots?u=nowhere":                          {http.StatusBadRequest, "want a URL or a host with a path"},
		"/domains/no%20host":                         {http.StatusBadRequest, "want a host name"},
	} {
		status, body := s.get(path)
		require.Equal(t, want.status, status, "%s: %s", path, body)
		require.Contains(t, body, want.says, path)
		status, body = s.get("/api" + path)
		require.Equal(t, want.status, status, path)
		require.Contains(t, body, `"error"`, path)
	}
}

// asDescribed requires that JSON is what the description of the API says.
func (s shownPages) asDescribed(path, body string) {
	s.t.Helper()
	status, description := s.get("/api/openapi.json")
	require.Equal(s.t, http.StatusOK, status, description)
	var api struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct {
					Content map[string]struct{ Schema *jsonschema.Schema }
				}
			}
		}
	}
	require.NoError(s.t, json.Unmarshal([]byte(description), &api))
	path, _, _ = strings.Cut(path, "?")
	described, known := api.Paths[path]
	if !known {
		described, known = api.Paths[path[:strings.LastIndex(path, "/")]+"/{name}"]
	}
	require.True(s.t, known, path)
	schema, err := described.Get.Responses["200"].Content["application/json"].Schema.Resolve(nil)
	require.NoError(s.t, err)
	var value any
	require.NoError(s.t, json.Unmarshal([]byte(body), &value), path)
	require.NoError(s.t, schema.Validate(value), "%s: %s", path, body)
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
}

func TestServeSearchAlone(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage)
	s := serveRows(t, r.commandHarness, "--public", "search")
	require.Contains(t, s.page("/"), "Search the crawled pages", "it is the first page")
	for _, path := range []string{"/domains", "/runs/small-web", "/api/overview", "/url?u=" + url.QueryEscape(aPage)} {
		status, body := s.get(path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.NotContains(t, body, "/domains", "no link leads there")
	}
	r.Refuse([]string{"serve", "--web", "8470"}, `--web "8470"`, "want an address such as :8470")
	r.Refuse([]string{"serve", "--web", "off"}, "--web off")
}

func TestServeAsksRobots(t *testing.T) {
	t.Parallel()
	const file = "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nCrawl-delay: 7\n"
	r := newRows(t, settings.Settings{}, aPage).robots(crawl.Robots{
		Verdict: crawl.RobotsRules, Agent: crawl.ProductToken, Rules: robots.Parse([]byte(file)).Rules(crawl.ProductToken).String(), Body: []byte(file),
	})
	b := serveRows(t, r.commandHarness).browser(false)
	page := html.UnescapeString(b.page("/robots?u=" + url.QueryEscape(aPage+"private/1")))
	require.Contains(t, page, "The robots.txt of https://a.example forbids mosey this URL by line 5: Disallow: /private.")
	require.Contains(t, page, "<mark>Disallow: /private</mark>")
	require.Contains(t, page, "The robots.txt requires 7s between two requests")
	require.Contains(t, b.page("/robots?agent=other&u="+url.QueryEscape(aPage)), "forbids other this URL by line 2: Disallow: /.")
	require.Contains(t, b.page("/robots?u="+url.QueryEscape(aPage)), "allows mosey this URL: no line matches.")
	require.Contains(t, b.page("/robots?u=https://b.example/"), "was never read. Paste a robots.txt to test it.")
	page = b.post("/robots", "u", "https://b.example/x", "agent", "any", "text", "User-agent: *\nAllow: /\nDisallow: /x\n")
	require.Contains(t, page, "This robots.txt forbids any this URL by line 3: Disallow: /x.")
}

// A page that is looked at is told what is new.
func TestServeTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage).allowed()
	b := serveRows(t, r.commandHarness).browser(true)
	require.Contains(t, b.page("/runs/small-web"), `data-events="/events/runs/small-web"`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/events/runs/small-web", nil)
	require.NoError(t, err)
	resp, err := b.http.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	events := bufio.NewScanner(resp.Body)
	events.Buffer(nil, 1<<20)
	next := func() (says string) {
		t.Helper()
		for events.Scan() {
			data, is := strings.CutPrefix(events.Text(), "data: ")
			if !is {
				continue
			}
			var page struct{ Sentence string }
			require.NoError(t, json.Unmarshal([]byte(data), &page))
			return page.Sentence
		}
		require.NoError(t, events.Err())
		return "ended"
	}
	until := func(text string) {
		t.Helper()
		says := ""
		for range 20 { // what is told first may be older, or be counted still
			if says = next(); strings.Contains(says, text) {
				return
			}
		}
		require.Contains(t, says, text)
	}
	until("Run small-web waits. ")
	b.post("/runs/small-web", "do", "stop")
	until("Run small-web is stopped")
}

// A failing database is told as that, and the page is there again when it is over.
func TestServeWithAFailingDatabase(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage)
	s := serveRows(t, r.commandHarness)
	s.page("/")
	tx, err := r.store.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE crawl_runs IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	for _, path := range []string{"/", "/runs/small-web", "/api/overview"} {
		status, body := s.once(path)
		require.Equal(t, http.StatusServiceUnavailable, status, path)
		require.Contains(t, body, "The database took too long", path)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	r.exec("ALTER TABLE domains RENAME TO gone")
	status, body := s.get("/domains")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "The database could not be read: see the log of this program.")
	r.exec("ALTER TABLE gone RENAME TO domains")
	wait.Until(t, func() bool { // a failure is not tried again for a second
		status, _ := s.get("/domains")
		return status == http.StatusOK
	}, patience, 100*time.Millisecond)
	s.page("/")
}

// Strangers who ask for ever new lists of domains keep one session of the database busy, not all.
func TestServeCountsOneListAtATime(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage)
	s := serveRows(t, r.commandHarness)
	s.page("/domains")
	tx, err := r.store.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE domains IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // of a test that fails
	const requests = 20
	answers := make(chan string, requests)
	for n := range requests {
		go func() {
			resp, err := http.Get(fmt.Sprintf("%s/domains?rank=%d", s.url, n+1))
			if err != nil {
				answers <- err.Error()
				return
			}
			answers <- resp.Status + ", retry after " + resp.Header.Get("Retry-After")
			_ = resp.Body.Close()
		}()
	}
	for range requests {
		require.Equal(t, "503 Service Unavailable, retry after 10", <-answers)
	}
	var busy int
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%name: DomainList %'`).Scan(&busy))
	require.Equal(t, 1, busy)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Contains(t, s.page("/domains?rank=10"), "No domain matches.", "it is counted in its turn")
}
