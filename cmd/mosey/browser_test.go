package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/axe"
	"github.com/mosey-web/mosey/test/wait"
)

// chromium is a real browser; the test is skipped where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed: the web page is not looked at in a browser")
	return ""
}

// tab is a tab of a browser, and what went wrong in it.
type tab struct {
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

func newTab(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	all, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(all)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded: // a breach of the Content-Security-Policy is one of them
			b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, e.ExceptionDetails.Text)
		}
	}))
	b.do(t, call(log.Enable, cdp.Empty{}), call(runtime.Enable, cdp.Empty{}))
	return b
}

// call is a command to the browser of which the answer says nothing.
func call[P any](command cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// get returns the result of an action.
func get[T any](t *testing.T, b *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	require.NoError(t, err)
	return got
}

// sound requires that no problem was recorded in the browser.
func (b *tab) sound(t *testing.T, where string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.errors, where)
}

// findings is the JavaScript that returns the violations that axe-core finds on a page.
const findings = `axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.html).slice(0, 3).join(" ")))`

// look opens a page, requires that everybody can use it, and keeps a picture of it.
func (b *tab) look(t *testing.T, address, theme string, width int64, picture string) {
	t.Helper()
	where := fmt.Sprintf("%s at %d pixels, %s", address, width, theme)
	b.do(t,
		chromedp.EmulateViewport(width, 900),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		}),
		chromedp.Navigate(address),
	)
	across := get(t, b, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
	shot := get(t, b, chromedp.FullScreenshot(100))
	b.do(t, chromedp.Evaluate[chromedp.Void](axe.Script))
	found := get(t, b, chromedp.Evaluate[[]string](findings, chromedp.EvalAwaitPromise))
	require.Empty(t, found, where)
	require.LessOrEqual(t, across, width, "%s: it is wider than the window", where)
	b.sound(t, where)
	if dir := os.Getenv("MOSEY_TEST_SCREENSHOTS"); dir != "" {
		name := fmt.Sprintf("%s-%d-%s.png", picture, width, theme)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), shot, 0o600))
	}
}

// Every page can be used by everybody, breaks none of its own rules, and fits a telephone.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	i := newImages(t)
	s := serveRows(t, i.commandHarness)
	b.do(t, chromedp.Navigate(s.url+"/?token="+url.QueryEscape(s.token)))
	run := "default"
	pages := map[string]string{
		"overview": "/", "run": "/runs/" + run, "domains": "/domains?sort=name", "domain": "/domains/" + gallery,
		"unknown": "/domains/unknown.example", "why": "/url", "url": "/url?u=" + url.QueryEscape(i.url("/")), "images": "/images",
		"copies": "/images?of=copies", "live": "/live", "robots": "/robots?u=" + url.QueryEscape(i.url("/")),
		"search": "/search?q=market",
	}
	type look struct {
		width int64
		theme string
	}
	all := []look{{1280, "light"}, {360, "dark"}, {1280, "dark"}, {390, "light"}, {390, "dark"}, {360, "light"}}
	if testing.Short() {
		all = all[:2] // each width and each theme once
	}
	for name, path := range pages {
		for _, l := range all {
			s.page(path)
			b.look(t, s.url+path, l.theme, l.width, name)
		}
	}
	// what is wrong would be found
	b.do(t, chromedp.Evaluate[chromedp.Void](`void document.body.append(document.createElement("img"))`))
	require.NotEmpty(t, get(t, b, chromedp.Evaluate[[]string](findings, chromedp.EvalAwaitPromise)))
}

// TestAPageIsUsedInABrowser checks that an open page shows changes without a reload, and that its
// forms work.
func TestAPageIsUsedInABrowser(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	r := newRows(t, settings.Settings{}, aPage).allowed()
	s := serveRows(t, r.commandHarness)
	sentence := func() string { return get(t, b, chromedp.Text(chromedp.CSS(".sentence"))) }
	wait.Until(t, func() bool { // a slow count says to reload the page
		b.do(t, chromedp.Navigate(s.url+"/runs/small-web?token="+url.QueryEscape(s.token)))
		return strings.Contains(sentence(), "Run small-web waits")
	}, patience, 100*time.Millisecond)
	s.browser(true).post("/runs/small-web", "do", "stop") // somebody else
	wait.Until(t, func() bool { return strings.Contains(sentence(), "is stopped") }, patience, 100*time.Millisecond)
	redrawn := get(t, b, chromedp.Evaluate[bool](`document.querySelector(".chart").dataset.old = "1";
		redraw().then(() => !!document.querySelector(".chart:not([data-old])"))`, chromedp.EvalAwaitPromise))
	require.True(t, redrawn, "the chart is drawn again")
	b.do(t, chromedp.Navigate(s.url+"/runs/small-web"), chromedp.Click(chromedp.CSS("form.one button")),
		chromedp.WaitVisible(chromedp.CSS("details")))
	wait.Until(t, func() bool { return strings.Contains(sentence(), "Run small-web waits") }, patience, 100*time.Millisecond)
	b.sound(t, "run")
}

// Pages of a database without anything, and of one with 100,000 domains, can be used, too.
func TestPagesInABrowserWithNothingAndWithMuch(t *testing.T) {
	t.Parallel()
	paths := map[string]string{"overview": "/", "domains": "/domains", "images": "/images", "live": "/live", "url": "/url", "search": "/search?q=market"}
	looks := func(t *testing.T, s shownPages, paths map[string]string, what string) {
		t.Helper()
		b := newTab(t)
		for name, path := range paths {
			s.page(path) // counted for the first time, which may take long
			for _, width := range []int64{1280, 390} {
				b.look(t, s.url+path, "light", width, name+"-"+what)
			}
		}
	}
	t.Run("Nothing", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		looks(t, serveRows(t, h), paths, "empty")
	})
	t.Run("Much", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}, aPage, aOrigin+"/2").allowed()
		r.exec(`INSERT INTO domains (domain, status, seed_rank, source, error_rate, pages_crawled)
			SELECT 'site-' || n || '.example', (CASE WHEN n % 10 = 0 THEN 'exhausted' ELSE 'pending' END)::domain_status, n, 'tranco', n % 100 / 100.0, n
			FROM generate_series(1, 100000) AS n`)
		r.exec(`INSERT INTO run_domains (run_id, domain, seed, next_due_at, requests, success, failed, skipped, skips)
			SELECT $1, domain, true, now() + seed_rank * interval '1 second', 10, 8, 1, 1, '{"excluded": 1}' FROM domains WHERE source = 'tranco'`, r.run.ID)
		r.exec("ANALYZE")
		paths := maps.Clone(paths)
		paths["run"], paths["filtered"] = "/runs/small-web", "/domains?sort=errors&errors=50&rank=50000&status=pending"
		looks(t, serveRows(t, r.commandHarness), paths, "much")
	})
}
