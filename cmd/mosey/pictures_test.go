package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
)

// TestPictures crawls a web of readable names and takes the pictures of the documents:
//
//	go tool task pictures
//
// MOSEY_TEST_PICTURES is the directory to write them to.
func TestPictures(t *testing.T) { //nolint:paralleltest // it runs alone
	dir := os.Getenv("MOSEY_TEST_PICTURES")
	if dir == "" {
		t.Skip("it takes pictures for the documents: run go tool task pictures")
	}
	b := newTab(t)
	w := web.StartT(t, web.Options{Prose: true, Pages: 40, Sites: []web.Site{
		{Host: "birds.example"},
		{Host: "bread.example", CrawlDelay: 4 * time.Second},
		{Host: "cinema.example"},
		{Host: "gardens.example"},
		{Host: "harbour.example", Behaviour: web.Slow{Latency: 800 * time.Millisecond}},
		{Host: "library.example", Pages: 80, SitemapPages: 80, Paths: articles},
		{Host: "museum.example", Robots: web.RobotsDeny},
		{Host: "news.example", FeedItems: 10},
		{Host: "radio.example", Behaviour: web.Unavailable{First: 3, RetryAfter: 15 * time.Second}},
		{Host: "station.example", Behaviour: web.Status{Code: 500}},
		{Host: "theatre.example", Behaviour: web.Flaky{First: 2}},
		{Host: "weather.example", DNS: web.DNSMissing},
	}})
	data := up.Dir(t)
	seeds := filepath.Join(t.TempDir(), "seeds.txt")
	require.NoError(t, os.WriteFile(seeds, []byte(strings.Join(w.Seeds(), "\n")), 0o600))
	const token = "a-token-for-the-pictures"
	h := newHarness(t)
	mosey := func(args ...string) *exec.Cmd { return h.mosey(append([]string{"--data-dir", data}, args...)...) }
	stack := mosey("up", "--web", "127.0.0.1:8477", "--web-token", token, "--ui-port", "8478", "--temporal-port", "8479",
		"--dns-server", w.DNSAddr(), "--allow-network", w.Network().String(), "--contact", "crawl@example.org")
	up.Start(t, stack)
	crawl := mosey("crawl", "--detach", "--run", "town", "--delay", "3s", seeds)
	require.NoError(t, crawl.Start())
	time.Sleep(4 * time.Minute) // the charts need some history
	require.NoError(t, crawl.Process.Kill())
	require.Error(t, crawl.Wait(), "killed: the run continues without it")

	wait := time.Second
	page := func(name, address string, height int64, theme string) {
		b.do(t,
			chromedp.EmulateViewport(1280, height),
			call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
			}),
			chromedp.Navigate(address),
		)
		time.Sleep(wait)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), get(t, b, chromedp.CaptureScreenshot()), 0o600))
	}
	b.do(t, call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Vienna"}))
	const moseyUI, ui = "http://127.0.0.1:8477", "http://127.0.0.1:8478/namespaces/default/workflows"
	b.do(t, chromedp.Navigate(moseyUI+"/?token="+token))
	page("overview", moseyUI+"/", 900, "light")
	page("run", moseyUI+"/runs/town", 900, "light")
	page("domain", moseyUI+"/domains/radio.example", 900, "light")
	page("search", moseyUI+"/search?q=lighthouse", 620, "dark")
	b.sound(t, "pictures")
	wait = 8 * time.Second // Temporal's UI loads its rows later
	page("list", ui, 900, "light")
	domain := get(t, b, chromedp.Evaluate[string](`document.querySelector('a[href*="radio.example/"]').href.replace(/[^/]*$/, "")`))
	page("timeline", domain+"timeline", 1100, "light")
	page("details", domain+"user-metadata", 800, "light")
	require.NoError(t, stack.Process.Signal(syscall.SIGTERM))
	require.NoError(t, stack.Wait())
}

// articles are pages with titles and descriptions that a person can read.
var articles = map[string]web.Behaviour{
	"/p/1": article("The lighthouse on the cape", "How keepers lit the lighthouse each evening, and why the lamp turns."),
	"/p/2": article("Lighthouses of the north", "Forty lighthouses between two harbours, with the year of each lamp."),
	"/p/3": article("A walk along the coast", "From the station to the old lighthouse in three hours, with a ferry at noon."),
}

func article(title, description string) web.Content {
	return web.Content{Type: "text/html; charset=utf-8", Body: "<!doctype html><html lang=en><title>" + title +
		"</title><meta name=description content='" + description + "'><h1>" + title + "</h1><p>" + description + "</p></html>"}
}
