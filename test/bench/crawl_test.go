package bench_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
)

// measured is how long pages are counted, after the start is over.
const (
	warmUp   = 10 * time.Second
	measured = 40 * time.Second
)

// BenchmarkCrawl measures pages a second and what a page costs. Every promise is
// judged by the web's log; a violation fails the benchmark.
func BenchmarkCrawl(b *testing.B) {
	bin := binaries(b)
	for _, c := range []struct {
		name    string
		domains int
		delay   time.Duration
		pages   int
	}{
		{"domains=300/delay=1s/pages-per-activity=1", 300, time.Second, 1},
		{"domains=300/delay=1s/pages-per-activity=50", 300, time.Second, 50},
		{"domains=2000/delay=100ms/pages-per-activity=50", 2000, 100 * time.Millisecond, 50},
		{"domains=50/delay=1s/pages-per-activity=1", 50, time.Second, 1},
		{"domains=50/delay=1s/pages-per-activity=50", 50, time.Second, 50},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				measure(b, bin, c.domains, c.delay, c.pages)
			}
		})
	}
}

func measure(b *testing.B, bin string, domains int, delay time.Duration, perActivity int) {
	b.Helper()
	w, err := web.Start(b.Context(), web.Options{Sites: web.Uniform(domains, web.Site{Plain: true, Pages: 200})})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	r := startUp(b, bin, dataDir(b))
	r.web = w
	r.startWorker(b, bin)
	r.seed(b, crawl.Settings{
		Delay: new(crawl.Duration(delay)), IPDelay: new(crawl.Duration(0)),
		PagesPerActivity: new(perActivity), MaxDomains: new(domains),
	})
	background(b.Context(), warmUp)
	before := usage(b, r)
	background(b.Context(), measured)
	after := usage(b, r)
	rss := peakRSS(b, r.worker.Process.Pid)
	end(b, r.worker)
	report := web.Judge(w.Log(), web.Expectations{Plan: w.Plan, Delay: delay, Partial: true, UserAgent: "mosey/"})
	require.Empty(b, report.Violations())

	pages := float64(after.pages - before.pages)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(pages/measured.Seconds(), "pages/s")
	perPage := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / pages }
	b.ReportMetric(perPage(after.temporal-before.temporal), "temporal-ms/page")
	b.ReportMetric(perPage(after.postgres-before.postgres), "postgres-ms/page")
	b.ReportMetric(perPage(after.worker-before.worker), "worker-ms/page")
	b.ReportMetric(perPage(after.web-before.web), "web-ms/page")
	all := float64(len(w.Log().Pages()))
	for group, d := range split(b, r.profile) {
		b.ReportMetric(float64(d.Microseconds())/1000/all, "worker-"+group+"-ms/page")
	}
	b.ReportMetric(rss, "worker-MB")
	b.ReportMetric(float64(report.Overshoot.P99.Milliseconds()), "overshoot-p99-ms")
	b.ReportMetric(float64(report.Overshoot.P50.Milliseconds()), "overshoot-p50-ms")
	b.ReportMetric(float64(len(report.Violations())), "violations")
	b.Logf("%s; %d domains, delay %s, %d pages an activity, %s", machine(), domains, delay, perActivity, measured)
}

// snapshot is what was used so far.
type snapshot struct {
	pages                           int
	temporal, postgres, worker, web time.Duration
}

func usage(b *testing.B, r *rig) snapshot {
	b.Helper()
	var self syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &self))
	return snapshot{
		pages: len(r.web.Log().Pages()), temporal: cpuOf(r.up.Process.Pid),
		postgres: postgresCPU(b, r.up.Process.Pid), worker: cpuOf(r.worker.Process.Pid),
		web: time.Duration(self.Utime.Nano() + self.Stime.Nano()),
	}
}

// BenchmarkUp measures how soon the embedded stack is ready on a data directory
// that has been used before.
func BenchmarkUp(b *testing.B) {
	bin, dir := binaries(b), dataDir(b)
	end(b, startUp(b, bin, dir).up)
	var sum time.Duration
	n := 0
	for b.Loop() {
		r := startUp(b, bin, dir)
		sum += r.ready
		n++
		end(b, r.up)
	}
	b.ReportMetric(sum.Seconds()/float64(n), "s/ready")
	b.Log(machine())
}
