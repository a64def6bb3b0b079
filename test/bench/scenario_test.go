package bench_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
)

var (
	warmUpFlag   = flag.Duration("warmup", 0, "count pages after `this long`, not after what the benchmark has as its start")
	measuredFlag = flag.Duration("measured", 0, "count pages for `this long`, not for what the benchmark has")
	large        = flag.Bool("large", false, "also run what takes long or much of the machine")
	largeDomains = flag.Int("large.domains", 10_000, "how many `domains` BenchmarkLarge crawls")
)

// scenario is one crawl that is measured. The zero value of a field but Domains is
// what a user has by default, or the web of package web.
type scenario struct {
	domains int
	delay   time.Duration
	pages   int // an activity; 0 is auto, the default
	// apart has the stack and the worker in processes of their own, so that each is
	// measured; else they are one.
	apart    bool
	onward   bool // a page brings four new ones throughout; else sites have sitePages
	prose    bool // pages as long as real ones: proseLinks links, eight languages
	heavy    bool // and as heavy: 200 KB of markup, over TLS
	listed   bool // a sitemap of listedURLs and a feed of feedItems a site; a fifth of the sites share addresses
	links    int  // a page
	perIP    int  // sites on one address
	settings settings.Settings
	stored   int  // pages that an earlier run has left
	metered  bool // the worker's statements are timed; apart must be set

	warmUp, measured time.Duration
}

// Defaults of a scenario.
const (
	sitePages       = 200
	endless         = 9_999_999 // pages, as many as a site can have
	warmUpDefault   = 10 * time.Second
	measuredDefault = 40 * time.Second

	// manyWarmUp is for 2,000 domains, whose robots.txt come first.
	manyWarmUp = 30 * time.Second
)

// typicalLinks is the approximate number of links on a page of an ordinary web. On an onward site
// four of these links are new, as on that web.
const typicalLinks = 11

// heavyBytes is the size of a page of the web as it is, with its scripts.
const heavyBytes = 200 << 10

// listedURLs is the number of URLs in a sitemap.
const listedURLs = 100

// feedItems is the number of items in a feed.
const feedItems = 10

// proseLinks is how many links a page of prose has.
const proseLinks = 17

func (s scenario) withDefaults() scenario {
	s.warmUp = cmp.Or(*warmUpFlag, s.warmUp, warmUpDefault)
	s.measured = cmp.Or(*measuredFlag, s.measured, measuredDefault)
	s.settings.Delay = new(settings.Duration(s.delay))
	s.settings.MaxDomains = new(max(s.domains, 1000))
	if s.pages > 0 {
		s.settings.PagesPerActivity = new(s.pages)
	}
	return s
}

// String names the scenario as benchmarks are named.
func (s scenario) String() string {
	pages := "auto"
	if s.pages > 0 {
		pages = strconv.Itoa(s.pages)
	}
	name := fmt.Sprintf("domains=%d/delay=%s/pages-per-activity=%s", s.domains, s.delay, pages)
	if s.settings.IPDelay != nil {
		name += "/ip_delay=" + s.ipDelay().String()
	}
	if s.stored > 0 {
		name += fmt.Sprintf("/stored=%d", s.stored)
	}
	if s.prose {
		name += "/prose"
	}
	if s.heavy {
		name += "/heavy"
	}
	if s.listed {
		name += "/listed"
	}
	if s.metered {
		name += "/metered"
	}
	return name
}

// ipDelay returns the delay of an address.
func (s scenario) ipDelay() time.Duration {
	return time.Duration(*s.settings.WithDefaults().IPDelay)
}

// gap returns the delay between two requests to a domain. The delay of its address may be longer
// than its own delay.
func (s scenario) gap() time.Duration { return max(s.delay, s.ipDelay()) }

// web starts the web of the scenario.
func (s scenario) web(b *testing.B) *web.Web {
	b.Helper()
	site := web.Site{Plain: true, Pages: sitePages}
	if s.onward {
		site.KnownLinksOnly, site.Pages = true, endless
	}
	o := web.Options{Links: s.links, SitesPerIP: s.perIP, Prose: s.prose}
	if s.prose {
		o.Links = proseLinks
	}
	if s.heavy {
		o.PageBytes, site.TLS = heavyBytes, web.TLSValid
	}
	if s.listed {
		site.SitemapPages, site.FeedItems = listedURLs, feedItems
	}
	o.Sites = web.Uniform(s.domains, site)
	if s.listed {
		for i := range o.Sites[:s.domains/5] {
			o.Sites[i].IPGroup = strconv.Itoa(i / 5)
		}
	}
	w, err := web.Start(b.Context(), o)
	require.NoError(b, err)
	if s.heavy {
		ca := filepath.Join(b.TempDir(), "ca.pem")
		require.NoError(b, os.WriteFile(ca, w.RootCA(), 0o600))
		b.Setenv("SSL_CERT_FILE", ca)
	}
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	return w
}

// start starts all that the scenario needs, with nothing to crawl.
func (s scenario) start(b *testing.B, bin string) *rig {
	b.Helper()
	w := s.web(b)
	if !s.apart {
		return startAll(b, bin, w, os.Stderr)
	}
	r := startUp(b, bin, up.Dir(b))
	r.web = w
	database := r.database
	if s.metered {
		r.meter = startMeter(b, r.database)
		database = r.meter.url
	}
	r.startWorker(b, bin, database)
	return r
}

// measure crawls for as long as the scenario says and reports all figures. A broken
// promise fails the benchmark.
func (s scenario) measure(b *testing.B, bin string) interval {
	b.Helper()
	s = s.withDefaults()
	r := s.start(b, bin)
	r.configure(b)
	r.store(b, s.stored)
	speed := measureYardstick(b, r)
	r.seed(b, s.settings)
	background(b.Context(), s.warmUp)
	from := r.snapshot(b)
	background(b.Context(), s.measured)
	to := r.snapshot(b)
	peak, alive := memory(b, r.pid(), "VmHWM"), r.alive(b)
	r.stop(b)

	log := r.judged(b, s.delay, s.ipDelay())
	i := between(from, to, log, s.gap())
	b.Logf("%s; %s, for %s after %s; %s; %s", machine(), s, s.measured, s.warmUp,
		cmp.Or(*postgresSettings, "Postgres as it is"), speed)
	i.report(b)
	r.reportMemory(b, peak, to)
	r.reportProfile(b, log)
	if s.metered {
		i.reportChain(b)
	}
	b.ReportMetric(float64(alive), "workflows")
	b.ReportMetric(ramp(log, i.rate()).Seconds(), "ramp-s")
	speed.report(b)
	return i
}

// run measures each of the scenarios.
func run(b *testing.B, scenarios ...scenario) {
	b.Helper()
	bin := binaries(b)
	for _, s := range scenarios {
		b.Run(s.String(), func(b *testing.B) {
			for b.Loop() {
				s.measure(b, bin)
			}
		})
	}
}

// BenchmarkCrawl measures pages a second and what a page costs each part, with
// Temporal and Postgres below one process and the worker in another.
func BenchmarkCrawl(b *testing.B) {
	run(b,
		scenario{domains: 20, delay: time.Second, apart: true},
		scenario{domains: 300, delay: time.Second, apart: true},
		scenario{domains: 300, delay: time.Second, pages: 1, apart: true},
		scenario{domains: 300, delay: time.Second, pages: 50, apart: true},
		scenario{domains: 2000, delay: 100 * time.Millisecond, apart: true, warmUp: manyWarmUp},
		scenario{domains: 2000, delay: 100 * time.Millisecond, pages: 50, apart: true, warmUp: manyWarmUp},
	)
}

// BenchmarkOneProcess measures what a user has by default: Temporal and the worker in
// the process of `mosey`, and its memory.
func BenchmarkOneProcess(b *testing.B) {
	run(b,
		scenario{domains: 300, delay: time.Second},
		scenario{domains: 2000, delay: 100 * time.Millisecond, warmUp: manyWarmUp},
	)
}

// BenchmarkProse measures pages as heavy as real ones.
func BenchmarkProse(b *testing.B) {
	run(b,
		scenario{domains: 300, delay: time.Second, prose: true},
		scenario{domains: 300, delay: time.Second, prose: true, heavy: true},
		scenario{domains: 300, delay: time.Second, prose: true, listed: true},
		scenario{domains: 300, delay: time.Second, prose: true, apart: true},
		scenario{domains: 300, delay: time.Second, pages: 1, prose: true},
		scenario{domains: 50, delay: time.Second, pages: 1, prose: true},
		scenario{domains: 2000, delay: 100 * time.Millisecond, prose: true, warmUp: manyWarmUp},
		scenario{domains: 2000, delay: 100 * time.Millisecond, prose: true, listed: true, warmUp: manyWarmUp},
		scenario{domains: 2000, delay: 100 * time.Millisecond, prose: true, apart: true, warmUp: manyWarmUp},
	)
}

// BenchmarkLarge measures very many domains at the default delay in one process.
func BenchmarkLarge(b *testing.B) {
	if !*large {
		b.Skip("it opens thousands of files and takes minutes: ask for it with -large")
	}
	run(b, scenario{
		domains: *largeDomains, delay: 10 * time.Second, onward: true, links: typicalLinks, perIP: 5,
		warmUp: 4 * time.Minute, measured: time.Minute, // so many domains take minutes to start
	})
}
