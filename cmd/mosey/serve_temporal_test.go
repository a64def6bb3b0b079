package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/wait"
)

// wire is a way to a Temporal that can be cut. What is sent while it is cut gets no answer, as
// from a machine that hangs.
type wire struct {
	address string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// newWire leads to an address.
func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{address: listener.Addr().String(), conns: make(map[net.Conn]bool)}
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		w.hangUp()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.join(t, conn, to)
		}
	}()
	return w
}

// join has a connection lead to an address, or nowhere while the wire is cut.
func (w *wire) join(t *testing.T, conn net.Conn, to string) {
	w.mu.Lock()
	w.conns[conn] = true
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return
	}
	server, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
	if err != nil {
		_ = conn.Close() // the test is over
		return
	}
	go func() {
		_, _ = io.Copy(conn, server) // until one of them ends
		_ = conn.Close()
	}()
	_, _ = io.Copy(server, conn)
	_ = server.Close()
}

// hangUp ends all connections.
func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		_ = conn.Close() // it may have ended
	}
	clear(w.conns)
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	w.cut = cut
	w.mu.Unlock()
	w.hangUp()
}

const gone = "Temporal is unreachable, so that no new pages are fetched."

// Pages are rows: they come while Temporal hangs, in time, and say so. So do changes.
func TestServeWithoutTemporal(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	w := newWire(t, h.environ.Get("TEMPORAL_ADDRESS"))
	r := newRows(t, settings.Settings{}, aPage).allowed()
	r.Setenv("TEMPORAL_ADDRESS", w.address)
	r.Setenv("TEMPORAL_NAMESPACE", h.environ.Get("TEMPORAL_NAMESPACE"))
	b := serveRows(t, r.commandHarness).browser(true)
	require.NotContains(t, b.page("/"), gone)

	w.set(true)
	wait.Until(t, func() bool { return strings.Contains(b.page("/"), gone) }, patience, 100*time.Millisecond)
	for _, path := range []string{
		"/", "/runs/small-web", "/domains", "/domains/a.example", "/images", "/live", "/url?u=" + url.QueryEscape(aPage),
		"/robots", "/search?q=nowhere", "/api/overview", "/api/domains/a.example",
	} {
		began := time.Now()
		status, body := b.get(path)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, gone, path)
		require.Less(t, time.Since(began), 10*time.Second, path)
	}
	require.Contains(t, b.post("/runs/small-web", "do", "pause", "reason", "a quiet night"), "Run small-web is paused")
	require.Equal(t, crawl.RunPaused, runNow(r).Status, "it is stored")

	// many at once wait for Temporal once
	form := url.Values{"do": {"block"}, "reason": {"the owner asked"}}
	for n := range 50 {
		form.Add("domain", "many-"+strconv.Itoa(n)+".example")
	}
	began := time.Now()
	status, body, at := b.do(http.MethodPost, "/domains", form, nil)
	if isLate(body) {
		status, body = b.get(at)
	}
	require.Equal(t, http.StatusOK, status, body)
	require.Less(t, time.Since(began), 30*time.Second)

	w.set(false)
	wait.Until(t, func() bool { return !strings.Contains(b.page("/"), gone) }, patience, 100*time.Millisecond)
}

// What is said about Temporal comes and goes on a page that is looked at.
func TestTemporalGoesInABrowser(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	h, _ := newHarnessWithStack(t)
	w := newWire(t, h.environ.Get("TEMPORAL_ADDRESS"))
	r := newRows(t, settings.Settings{}, aPage).allowed()
	r.Setenv("TEMPORAL_ADDRESS", w.address)
	r.Setenv("TEMPORAL_NAMESPACE", h.environ.Get("TEMPORAL_NAMESPACE"))
	s := serveRows(t, r.commandHarness)
	seen := func() bool {
		return get(t, b, chromedp.Evaluate[bool](`!document.querySelector(".notice").hidden`))
	}
	b.do(t, chromedp.Navigate(s.url+"/runs/small-web?token="+url.QueryEscape(s.token)))
	require.False(t, seen())
	w.set(true)
	wait.Until(t, seen, patience, 100*time.Millisecond)
	require.Contains(t, get(t, b, chromedp.Text(chromedp.CSS(".notice"))), gone)
	for _, theme := range []string{"light", "dark"} {
		b.look(t, s.url+"/runs/small-web", theme, 360, "without-temporal")
		require.True(t, seen())
	}
	w.set(false)
	wait.Until(t, func() bool { return !seen() }, patience, 100*time.Millisecond)
	b.sound(t, "run")
}

// A crawl whose Temporal hangs says so on its page.
func TestACrawlWithoutTemporal(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	w := newWire(t, h.environ.Get("TEMPORAL_ADDRESS"))
	h.Setenv("TEMPORAL_ADDRESS", w.address)
	s := newSite(t, 1, 50)
	c := h.Start(s.crawl(s.Seeds()[0], "--delay", "1s", "--web", "127.0.0.1:0")...)
	address, _, _ := strings.Cut(c.Field("Web page: "), "/runs/")
	page := func(path string) (body string) {
		_, body = scrape(t, address+path)
		return body
	}
	wait.Until(t, func() bool { return strings.Contains(page("/"), "default") }, patience, 100*time.Millisecond)
	require.NotContains(t, page("/"), gone)
	w.set(true)
	wait.Until(t, func() bool { return strings.Contains(page("/runs/default"), gone) }, patience, 100*time.Millisecond)
	w.set(false)
	wait.Until(t, func() bool { return !strings.Contains(page("/runs/default"), gone) }, patience, 100*time.Millisecond)
	require.Zero(t, c.Stop().Code)
}

// Where mosey serve alone has the data directory there is no Temporal that might be gone.
func TestServeOfADataDirectoryMissesNoTemporal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Zero(t, h.Execute("migrate").Code)
	s := serveRows(t, h)
	require.NotContains(t, s.page("/"), "Temporal is unreachable")
	require.NotContains(t, s.browser(true).post("/domains/a.example", "do", "pause", "reason", "a test"), "Temporal is unreachable")
}
