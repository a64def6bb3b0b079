package main

import (
	"bytes"
	"errors"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// browser is one that has signed in with the token, or has not.
type browser struct {
	shownPages

	http *http.Client
}

func (s shownPages) browser(signIn bool) browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	b := browser{s, &http.Client{Jar: jar}}
	if signIn {
		require.NotEmpty(s.t, s.token)
		_, _, at := b.do(http.MethodGet, "/?token="+url.QueryEscape(s.token), nil, nil)
		require.Equal(s.t, "/", at, "no token is left in the address")
	}
	return b
}

// do asks, and returns what is shown and where.
func (b browser) do(method, path string, form url.Values, header http.Header) (status int, body, at string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name := range header {
		req.Header.Set(name, header.Get(name))
	}
	resp, err := b.http.Do(req)
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return resp.StatusCode, html.UnescapeString(string(data)), resp.Request.URL.RequestURI()
}

// post sends a form, name after value, and returns the page that is shown then.
func (b browser) post(path string, pairs ...string) string {
	b.t.Helper()
	status, body := b.try(path, nil, pairs...)
	for isLate(body) {
		time.Sleep(100 * time.Millisecond)
		status, body, _ = b.do(http.MethodGet, path, nil, nil)
	}
	require.Equal(b.t, http.StatusOK, status, body)
	return body
}

func (b browser) try(path string, header http.Header, pairs ...string) (status int, body string) {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	status, body, _ = b.do(http.MethodPost, path, form, header)
	return status, body
}

// upload sends a file as a form does.
func (b browser) upload(path, content string) (status int, body string) {
	b.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("picture", "a file")
	require.NoError(b.t, err)
	_, err = part.Write([]byte(content))
	require.NoError(b.t, errors.Join(err, w.Close()))
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, &form)
	require.NoError(b.t, err)
	req.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := b.http.Do(req)
	require.NoError(b.t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(b.t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, string(data)
}

func TestServeChangesRuns(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage)
	b := serveRows(t, r.commandHarness).browser(true)
	const run = "/runs/small-web"
	require.Contains(t, b.post(run, "do", "pause", "reason", "a quiet night", "for", "12h"), "Run small-web is paused (by ")
	require.Contains(t, b.post(run, "do", "resume"), "Run small-web waits. ")
	require.Contains(t, b.post(run, "do", "stop"), "Run small-web is stopped")
	require.Contains(t, b.post(run, "do", "resume"), "Run small-web waits. ")

	page := b.post(run, "do", "set", "settings", "delay=1m\nmax_pages=7\n", "reason", "the owner asked")
	require.Contains(t, page, "delay=10s → 1m0s max_pages=-1 → 7 the owner asked")
	require.Contains(t, page, `name="settings" value="delay=10s`+"\n"+`max_pages=-1`, "it can be set back")
	page = b.post(run, "do", "set", "settings", "delay=10s\nmax_pages=-1\n")
	require.Contains(t, page, "delay=1m0s → 10s max_pages=7 → -1")
	set := runNow(r)
	require.Equal(t, 10*time.Second, time.Duration(*set.Settings.Delay))
	require.Contains(t, r.Print("status", "small-web"), " (web page)", "it says who, and where")

	for _, bad := range []struct {
		want  string
		pairs []string
	}{
		{"Reason: want one", []string{"do", "pause"}},
		{`For "soon": want a duration`, []string{"do", "pause", "reason", "x", "for", "soon"}},
		{"want a number and a unit", []string{"do", "set", "settings", "delay=soon"}},
		{"name=value", []string{"do", "set", "settings", "delay"}},
		{`Unknown action "create" for a run`, []string{"do", "create"}},
		{"Reason: 501 bytes", []string{"do", "stop", "reason", strings.Repeat("x", 501)}},
	} {
		status, body := b.try(run, nil, bad.pairs...)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, body, bad.want)
	}
	status, _ := b.try("/runs/nobody", nil, "do", "stop")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, crawl.RunRunning, runNow(r).Status)
}

func TestServeChangesDomains(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, "https://b.example/")
	b := serveRows(t, r.commandHarness).browser(true)
	const domain = "/domains/a.example"
	require.Contains(t, b.post(domain, "do", "pause", "reason", "a quiet night"), "paused: set by ")
	require.Contains(t, b.post(domain, "do", "lift", "kind", "pause"), "No controls: the settings of its runs apply.")
	require.Contains(t, b.post(domain, "do", "lift", "kind", "pause"), "No controls: ", "twice is once")
	require.Contains(t, b.post(domain, "do", "delay", "delay", "1m"), "minimum delay 1m0s")
	require.Contains(t, b.post(domain, "do", "lift", "kind", "delay"), "No controls: ")
	require.Contains(t, b.post(domain, "do", "block", "reason", "the owner asked"), "blocked in all runs")
	require.Contains(t, b.post(domain, "do", "lift", "kind", "block"), "No controls: ")
	require.Contains(t, b.post(domain, "do", "retry"), "No controls: ", "there is no failure to end")

	page := b.post("/domains", "do", "block", "reason", "a list", "domain", "a.example", "domain", "b.example", "query", "status=blocked&sort=name")
	require.Contains(t, page, "2 domains, sorted by name.")
	page = b.post("/domains", "do", "lift", "kind", "pause", "kind", "block", "domain", "a.example", "domain", "b.example", "query", "status=blocked")
	require.Contains(t, page, "No domain matches.")

	for _, bad := range []struct {
		path, want string
		pairs      []string
	}{
		{domain, "Reason: want one", []string{"do", "block"}},
		{domain, "want a number and a unit", []string{"do", "delay", "delay", "soon"}},
		{domain, "want the kind of the setting to undo", []string{"do", "lift"}},
		{domain, `Kind "love": want one of`, []string{"do", "lift", "kind", "love"}},
		{domain, `Unknown action "jump"`, []string{"do", "jump"}},
		{"/domains/no%20host", "want a host name", []string{"do", "retry"}},
		{"/domains", "0 domains are selected", []string{"do", "pause", "reason", "x"}},
		{"/domains", `Domain "no host"`, []string{"do", "pause", "reason", "x", "domain", "no host"}},
	} {
		status, body := b.try(bad.path, nil, bad.pairs...)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, body, bad.want)
	}
}

func TestServeCrawlsAPageNow(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/2")
	b := serveRows(t, r.commandHarness).browser(true)
	r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE url = $1", aOrigin+"/2")
	_, page, _ := b.do(http.MethodGet, "/url?u="+url.QueryEscape(aOrigin+"/2"), nil, nil)
	require.Contains(t, page, "<option>small-web</option>")
	b.post("/url", "do", "crawl", "u", aOrigin+"/2", "run", "small-web")
	next, err := r.store.Next(t.Context(), aDomain)
	require.NoError(t, err)
	require.Equal(t, aOrigin+"/2", next.Runs[0].Attempt.URL, "it comes first")

	page = b.post("/url", "do", "crawl", "u", aOrigin+"/unknown", "run", "small-web")
	require.Contains(t, page, "pending", "one that nobody knew is one that is asked for")
	for _, bad := range []struct {
		status int
		want   string
		pairs  []string
	}{
		{http.StatusBadRequest, "want a URL or a host with a path", []string{"do", "crawl", "u", "no url", "run", "small-web"}},
		{http.StatusBadRequest, `Unknown action "jump"`, []string{"do", "jump"}},
		{http.StatusNotFound, "nobody", []string{"do", "crawl", "u", aPage, "run", "nobody"}},
	} {
		status, body := b.try("/url", nil, bad.pairs...)
		require.Equal(t, bad.status, status, body)
		require.Contains(t, body, bad.want)
	}
	r.Print("stop", "run:small-web")
	status, body := b.try("/url", nil, "do", "crawl", "u", aPage, "run", "small-web")
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "is stopped: resume it first")
}

// Nobody changes anything who was not let, and no stranger's page does it for one who was.
func TestServeChangesNothingForStrangers(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage)
	stop := []string{"do", "stop"}
	refused := func(b browser, header http.Header, want string) {
		t.Helper()
		status, body := b.try("/runs/small-web", header, stop...)
		require.Equal(t, http.StatusForbidden, status, body)
		require.Contains(t, body, want)
		require.Equal(t, crawl.RunRunning, runNow(r).Status)
	}
	s := serveRows(t, r.commandHarness)
	refused(s.browser(false), nil, "This page is read-only")
	refused(s.browser(true), http.Header{"Sec-Fetch-Site": {"cross-site"}}, "another site")
	refused(s.browser(true), http.Header{"Origin": {"https://evil.example"}}, "another site")
	require.NotContains(t, s.page("/runs/small-web"), `method="post"`, "it shows no forms that do nothing")
	require.Contains(t, s.page("/runs/small-web"), "open the address with the token that Mosey printed")
	status, body := s.get("/?token=wrong")
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "The token is not valid any more")
	status, _ = s.get("/?token=")
	require.Equal(t, http.StatusForbidden, status)

	// where others may reach it, a token must be given
	named := serveRows(t, r.commandHarness, "--web-host", "crawler.example")
	require.Empty(t, named.token)
	refused(named.browser(false), nil, "This page is read-only")
	status, _ = named.get("/?token=")
	require.Equal(t, http.StatusForbidden, status)
	refused(serveRows(t, r.commandHarness, "--read-only").browser(false), nil, "This page is read-only")
	r.Refuse([]string{"serve", "--web-token", "short"}, "--web-token: 5 characters: want 16 or more")

	// a proxy says who is there
	proxied := serveRows(t, r.commandHarness, "--web-user-header", "X-Forwarded-User").browser(false)
	refused(proxied, nil, "This page is read-only")
	status, body = proxied.try("/runs/small-web", http.Header{"X-Forwarded-User": {"ann\u202e"}}, stop...)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "is stopped (by ann (web page))")

	r.Setenv("MOSEY_WEB_TOKEN", "a-token-that-was-given")
	given := serveRows(t, r.commandHarness, "--web-host", "crawler.example")
	require.Empty(t, given.token, "one that was given is not printed")
	given.token = "a-token-that-was-given"
	require.Contains(t, given.browser(true).post("/runs/small-web", "do", "resume"), "Run small-web waits. ")
}

// runNow is the run of the rows as it is now.
func runNow(r *rows) crawl.Run {
	r.t.Helper()
	run, err := r.store.Run(r.t.Context(), r.run.Name)
	require.NoError(r.t, err)
	return run
}

// TestACrawlIsSteeredOnItsPage checks that changes made on a run's page take effect at once and
// wake sleeping workflows.
func TestACrawlIsSteeredOnItsPage(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 1, 2)
	const name = "site-001.test"
	h.Print("pause", name, "--reason", "a quiet night")
	c := h.Start(s.crawl(s.Seeds()[0], "--run", "steered", "--when-done", "wait", "--web", "127.0.0.1:0")...)
	address, token, signedIn := strings.Cut(c.Field("Web page: "), "/runs/steered?token=")
	require.True(t, signedIn)
	b := shownPages{t, address, token}.browser(true)
	c.Await(" pending, ")
	require.Empty(t, s.Log())
	require.Contains(t, b.post("/runs/steered", "do", "pause", "reason", "not tonight"), "Run steered is paused (by ")
	require.Contains(t, b.post("/domains/"+name, "do", "lift", "kind", "pause"), "No controls: ")
	require.Contains(t, b.post("/runs/steered", "do", "resume"), "Run steered ")
	wait.Until(t, func() bool { return len(s.Log().Pages()) == 3 }, patience, 5*time.Millisecond)
	r := c.Stop() // a stop on the page would end the page, too
	require.Zero(t, r.Code, r.Stderr)
	s.requireClean(t, web.Expectations{})
}

// TestServeUndoesChangesOfRows checks the controls of rows: one click changes a run or a domain, and one
// more undoes the change.
func TestServeUndoesChangesOfRows(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, "https://b.example/")
	s := serveRows(t, r.commandHarness)
	require.NotContains(t, s.page("/"), `value="pause"`, "only operators may make changes")
	require.NotContains(t, s.page("/?done=pause&run=small-web"), "Undo")
	b := s.browser(true)

	for _, do := range []string{"pause", "stop"} {
		page := b.post("/runs/small-web", "do", do, "reason", "no reason given", "from", "/")
		require.Contains(t, page, "Changed run small-web: "+do+".")
		require.Contains(t, page, `<form method="post" action="/runs/small-web" class="one"><input type="hidden" name="do" value="resume">`)
		require.NotEqual(t, crawl.RunRunning, runNow(r).Status)
		page = b.post("/runs/small-web", "do", "resume", "from", "/")
		require.NotContains(t, page, ">Undo</button>")
		require.Equal(t, crawl.RunRunning, runNow(r).Status)
	}

	inForce := "SELECT count(*) FROM domain_controls WHERE lifted_at IS NULL"
	for _, do := range []string{"pause", "block"} {
		page := b.post("/domains", "do", do, "domain", aDomain, "query", "sort=name", "reason", "no reason given")
		require.Contains(t, page, "Changed 1 domain: "+do+".")
		require.Contains(t, page, `<input type="hidden" name="domain" value="a.example"><input type="hidden" name="kind" value="`+do+`">`)
		require.Contains(t, page, "2 domains, sorted by name.")
		require.Contains(t, page, `<input type="hidden" name="query" value="sort=name"><button>Undo</button>`)
		require.Equal(t, 1, r.count(inForce))
		require.Contains(t, b.post("/domains", "do", "lift", "domain", aDomain, "kind", do, "query", "sort=name", "from", "/"),
			"2 domains, sorted by name.")
		require.Zero(t, r.count(inForce))
	}
}
