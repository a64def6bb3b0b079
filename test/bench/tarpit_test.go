package bench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
)

// BenchmarkTarpits measures what hosts that answer after 20 s cost the others: the
// pages a second of healthy hosts, alone and beside as many tarpits.
func BenchmarkTarpits(b *testing.B) {
	const (
		hosts   = 200
		latency = 20 * time.Second
		delay   = time.Second
	)
	bin := binaries(b)
	for b.Loop() {
		alone := healthyRate(b, bin, hosts, nil, delay)
		beside := healthyRate(b, bin, hosts, web.Tarpits(hosts, latency), delay)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(alone, "alone-pages/s")
		b.ReportMetric(beside, "beside-pages/s")
		b.ReportMetric(100*(alone-beside)/alone, "loss-%")
	}
	b.Log(machine())
}

// healthyRate crawls healthy hosts beside others and returns how many pages a
// second the healthy ones answer, from the start on.
func healthyRate(b *testing.B, bin string, hosts int, others []web.Site, delay time.Duration) float64 {
	b.Helper()
	w, err := web.Start(b.Context(), web.Options{
		Sites: append(web.Uniform(hosts, web.Site{Plain: true, Pages: 200}), others...), CrossLinks: -1,
	})
	require.NoError(b, err)
	defer func() { require.NoError(b, w.Close()) }()
	r := startUp(b, bin, up.Dir(b))
	r.web = w
	r.startWorker(b, bin, r.database)
	r.seed(b, settings.Settings{
		Delay: new(settings.Duration(delay)), IPDelay: new(settings.Duration(0)), PagesPerActivity: new(50),
	})
	healthy := make(map[string]bool, hosts)
	for _, host := range w.Hosts()[:hosts] {
		healthy[host] = true
	}
	count := func() (n int) {
		for _, record := range w.Log().Pages() {
			if healthy[record.Domain()] {
				n++
			}
		}
		return n
	}
	background(b.Context(), warmUpDefault)
	before := count()
	background(b.Context(), measuredDefault)
	pages := count() - before
	r.stop(b)
	r.judged(b, delay, 0)
	return float64(pages) / measuredDefault.Seconds()
}
