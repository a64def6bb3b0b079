package e2e_test

import (
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

const (
	delay = 150 * time.Millisecond
	// crawlLimit is far more than any of these crawls takes.
	crawlLimit = 4 * time.Minute
)

func crawlArgs(s site, dir string, extra ...string) []string {
	args := []string{"--data-dir", dir, "crawl", s.seeds, "--delay", delay.String(), "--json"}
	if !slices.ContainsFunc(extra, func(arg string) bool { return strings.HasPrefix(arg, "ip_delay=") }) {
		args = append(args, "--set", "ip_delay=0s")
	}
	return append(append(args, s.workerFlags()...), extra...)
}

// summary is the last line of --json output.
type summary struct {
	Event  string `json:"event"`
	Status string `json:"status"`
	report.Totals
}

func summaryOf(t *testing.T, p *process) summary {
	t.Helper()
	var s summary
	for line := range strings.Lines(p.out.String()) {
		if strings.HasPrefix(line, `{"event":"summary"`) {
			require.NoError(t, json.Unmarshal([]byte(line), &s))
		}
	}
	require.Equal(t, "summary", s.Event, "no summary in:\n%s", p.out)
	return s
}

// requestsMatchRows asserts that a crawl is done and has as many closed rows as the
// log has page requests.
func requestsMatchRows(t *testing.T, s site, p *process) {
	t.Helper()
	sum := summaryOf(t, p)
	require.Equal(t, "done", sum.Status)
	require.EqualValues(t, len(s.Log().Pages()), sum.Requests())
}

// auditAgrees asserts that the rows are clean and hold what the log has, which no
// worker has died to change.
func auditAgrees(t *testing.T, s site, dir string) {
	t.Helper()
	a := audit(t, dir)
	require.True(t, a.Clean())
	require.EqualValues(t, len(s.Log()), a.Domains.Requests)
	asked := 0 // sitemaps, too, are asked for by robots.txt
	for _, r := range s.Log() {
		if r.IsPage() && !r.IsProbe() {
			asked++
		}
	}
	require.Equal(t, asked, int(a.RobotsChecked))
}

func audit(t *testing.T, dir string) (a report.Audit) {
	t.Helper()
	p := start(t, environ(), moseyBin, "--data-dir", dir, "audit", "--json")
	require.Zero(t, p.wait(t, time.Minute), p.out)
	require.NoError(t, json.Unmarshal([]byte(p.out.String()), &a), p.out)
	return a
}

func TestCrawl(t *testing.T) {
	t.Parallel()

	t.Run("CoversEveryReachableAllowedPageWithoutViolation", func(t *testing.T) {
		t.Parallel()
		beside(t)
		sites := append(web.Uniform(6, web.Site{Pages: 12}),
			web.Site{Host: "private.test", Robots: web.RobotsDisallow, Pages: 12},
			web.Site{Host: "patient.test", Robots: web.RobotsCrawlDelay, CrawlDelay: time.Second, Pages: 4},
			web.Site{Host: "down.test", Robots: web.RobotsUnavailable, Pages: 4},
		)
		s := newSite(t, web.Options{Sites: sites})
		dir := up.Dir(t)
		p := start(t, environ(), moseyBin, crawlArgs(s, dir)...)
		require.Zero(t, p.wait(t, crawlLimit), p.out)
		requestsMatchRows(t, s, p)
		s.judge(t, web.Expectations{Delay: delay, UserAgent: "mosey/"})

		again := start(t, environ(), moseyBin, "--data-dir", dir, "status", "--json")
		require.Zero(t, again.wait(t, time.Minute), again.out)
		require.Contains(t, again.out.String(), `"status":"done"`)
		auditAgrees(t, s, dir)
	})

	t.Run("SlicesOfManyPagesKeepEveryPromise", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(4, web.Site{Pages: 10})})
		p := start(t, environ(), moseyBin, crawlArgs(s, up.Dir(t), "--set", "pages_per_activity=20")...)
		require.Zero(t, p.wait(t, crawlLimit), p.out)
		s.judge(t, web.Expectations{Delay: delay, UserAgent: "mosey/"})
	})

	t.Run("SharesAnAddressAmongDomains", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(4, web.Site{Pages: 3, Plain: true}), SitesPerIP: 4})
		p := start(t, environ(), moseyBin, crawlArgs(s, up.Dir(t), "--set", "ip_delay=200ms")...)
		require.Zero(t, p.wait(t, crawlLimit), p.out)
		s.judge(t, web.Expectations{Delay: delay, IPDelay: 200 * time.Millisecond, UserAgent: "mosey/"})
	})

	t.Run("StopsCleanlyAndResumes", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(3, web.Site{Pages: 15})})
		dir := up.Dir(t)
		p := start(t, environ(), moseyBin, crawlArgs(s, dir)...)
		wait.Until(t, func() bool { return len(s.Log().Pages()) > 15 }, time.Minute, 20*time.Millisecond)
		p.signal(syscall.SIGINT)
		require.Zero(t, p.wait(t, time.Minute), p.out)
		require.Contains(t, p.out.String(), "mosey crawl --run default --data-dir "+dir)
		require.Equal(t, "stopped", summaryOf(t, p).Status)

		p = start(t, environ(), moseyBin, crawlArgs(s, dir)...)
		require.Zero(t, p.wait(t, crawlLimit), p.out)
		s.judge(t, web.Expectations{Delay: delay, UserAgent: "mosey/"})
	})

	// Temporal's file holds nothing that the rows lack: the workflows start anew from them.
	t.Run("GoesOnWithoutTheFileOfItsTemporal", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		beside(t)
		s := newSite(t, web.Options{Sites: web.Uniform(3, web.Site{Pages: 12})})
		dir := up.Dir(t)
		p := start(t, environ(), moseyBin, crawlArgs(s, dir)...)
		wait.Until(t, func() bool { return len(s.Log().Pages()) > 9 }, time.Minute, 10*time.Millisecond)
		p.kill(t)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "temporal")))
		p = start(t, environ(), moseyBin, crawlArgs(s, dir)...)
		require.Zero(t, p.wait(t, crawlLimit), p.out)
		s.judge(t, web.Expectations{Delay: delay, Refetches: 3, UserAgent: "mosey/"})
	})

	t.Run("SurvivesKillingEverything", func(t *testing.T) {
		form.Long(t) // TestChaos kills everything, too
		t.Parallel()
		beside(t)
		const sites, pages, kills = 3, 8, 3
		s := newSite(t, web.Options{Sites: web.Uniform(sites, web.Site{Pages: pages, Images: 1, Image: photograph(t)})})
		dir := up.Dir(t)
		args := crawlArgs(s, dir, "--timeout", "1s", "--images", "store")
		for n := range kills {
			p := start(t, environ(), moseyBin, args...)
			want := len(s.Log().Pages()) + 8
			wait.Until(t, func() bool { return len(s.Log().Pages()) >= want }, 2*time.Minute, 10*time.Millisecond,
				"after %d kills:\n%s", n, p.out)
			p.kill(t)
		}
		p := start(t, environ(), moseyBin, args...)
		require.Zero(t, p.wait(t, crawlLimit), p.out)
		s.judge(t, web.Expectations{Delay: delay, Refetches: kills * sites, UserAgent: "mosey/"})
		requireImages(t, dir, sites*(pages+1))
	})
}

// photograph is a picture that is large enough, and of which there is something to see.
func photograph(t *testing.T) web.Content {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 200, 150))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i >> 7)
	}
	var body strings.Builder
	require.NoError(t, png.Encode(&body, img))
	return web.Content{Type: "image/png", Body: body.String()}
}

// requireImages asserts that so many images were recorded, and that their bytes, which are
// the same of all, are in the store.
func requireImages(t *testing.T, dir string, want int) {
	t.Helper()
	p := start(t, environ(), moseyBin, "--data-dir", dir, "images", "--json", "--min-width", "200", "--limit", strconv.Itoa(2*want))
	require.Zero(t, p.wait(t, time.Minute), p.out)
	recorded := map[string]bool{}
	for line := range strings.Lines(p.out.String()) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var i struct {
			URL      string     `json:"url"`
			StoredAt *time.Time `json:"stored_at"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &i))
		require.NotNil(t, i.StoredAt, line)
		recorded[i.URL] = true
	}
	require.Len(t, recorded, want)

	p = start(t, environ(), moseyBin, "--data-dir", dir, "maintain", "--json")
	require.Zero(t, p.wait(t, time.Minute), p.out)
	var store struct {
		Objects int `json:"objects"`
		Lost    int `json:"lost"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.out.String()), &store))
	require.Equal(t, 1, store.Objects)
	require.Zero(t, store.Lost)
}
