package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
)

// BenchmarkColly measures a crawler made with Colly on the webs of BenchmarkProse: the
// yardstick beside which Mosey is measured. It says how many promises were broken, which
// fails a benchmark of Mosey.
func BenchmarkColly(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "colly")
	out, err := exec.CommandContext(b.Context(), "go", "build", "-C", "colly", "-o", bin, ".").CombinedOutput()
	require.NoError(b, err, "%s", out)
	for _, s := range []scenario{
		{domains: 300, delay: time.Second, prose: true},
		{domains: 2000, delay: 100 * time.Millisecond, prose: true, warmUp: manyWarmUp},
		{domains: 10, delay: 100 * time.Millisecond, prose: true, warmUp: time.Second, measured: 5 * time.Second}, // to try it
	} {
		for _, signals := range []bool{false, true} {
			b.Run(fmt.Sprintf("domains=%d/delay=%s/signals=%t", s.domains, s.delay, signals), func(b *testing.B) {
				for b.Loop() {
					s.measureColly(b, bin, signals)
				}
			})
		}
	}
}

// measureColly crawls for as long as the scenario says.
func (s scenario) measureColly(b *testing.B, bin string, signals bool) {
	b.Helper()
	s = s.withDefaults()
	w := s.web(b)
	server, err := postgres.Start(b.Context(), postgres.Config{Dir: up.Dir(b)})
	require.NoError(b, err)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
		defer cancel()
		require.NoError(b, server.Stop(ctx))
	}()
	crawler := exec.Command(bin, "-database", server.URL(), "-dns-server", w.DNSAddr(),
		"-delay", s.delay.String(), fmt.Sprintf("-signals=%t", signals))
	crawler.Stdin, crawler.Stderr = strings.NewReader(strings.Join(w.Seeds(), "\n")), os.Stderr
	require.NoError(b, crawler.Start())
	defer func() {
		require.NoError(b, crawler.Process.Kill()) // it has nothing to save
		_ = crawler.Wait()                         // which says so
	}()
	for began := time.Now(); w.Requests() == 0; background(b.Context(), 10*time.Millisecond) {
		require.Less(b, time.Since(began), firstRequest, "no request was made")
	}
	background(b.Context(), s.warmUp)
	from := snapshotColly(b, crawler)
	background(b.Context(), s.measured)
	to := snapshotColly(b, crawler)
	log := w.Log()
	s.reportColly(b, w, between(from, to, log, s.delay), memory(b, crawler.Process.Pid, "VmHWM"))
}

// snapshotColly measures the current resource use of the crawler and of this process's Postgres.
func snapshotColly(b *testing.B, crawler *exec.Cmd) snapshot {
	b.Helper()
	return snapshot{at: time.Now(), rss: memory(b, crawler.Process.Pid, "VmRSS"), cpu: map[string]time.Duration{
		"colly": cpuOf(crawler.Process.Pid), "postgres": postgresCPU(b, os.Getpid()),
	}}
}

// reportColly reports the cost of a page and the number of promises broken during the whole crawl.
// It logs the broken promises by kind.
func (s scenario) reportColly(b *testing.B, w *web.Web, i interval, peak float64) {
	b.Helper()
	require.Positive(b, i.pages)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(i.rate(), "pages/s")
	for part, cpu := range i.to.cpu {
		b.ReportMetric(float64((cpu-i.from.cpu[part]).Microseconds())/1000/i.pages, part+"-ms/page")
	}
	b.ReportMetric(peak, "colly-peak-MB")
	b.ReportMetric(i.to.rss, "colly-MB")
	late := web.Judge(i.log, web.Expectations{Delay: s.delay}).Overshoot
	b.ReportMetric(millis(late.P50), "late-p50-ms")
	b.ReportMetric(millis(late.P99), "late-p99-ms")
	report := web.Judge(w.Log(), web.Expectations{Plan: w.Plan, Delay: s.delay, Partial: true, RequestedOnly: true, UserAgent: "colly"})
	kinds := map[web.Breach]int{}
	for _, v := range report.Violations() {
		kinds[v.Breach]++
	}
	b.ReportMetric(float64(len(report.Violations())), "broken")
	b.Logf("%s; broken promises: %v", machine(), kinds)
}
