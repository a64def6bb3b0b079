package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/up"
)

// BenchmarkRestart measures how soon a crawl goes on that was stopped: `mosey crawl` is interrupted
// and given again, without seeds. The settings are the defaults, a delay of ten seconds among them.
func BenchmarkRestart(b *testing.B) {
	domains := 2500
	if *large {
		domains = *largeDomains
	}
	b.Run(fmt.Sprintf("domains=%d", domains), func(b *testing.B) {
		bin := binaries(b)
		for b.Loop() {
			restart(b, bin, domains)
		}
	})
}

func restart(b *testing.B, bin string, domains int) {
	b.Helper()
	s := scenario{domains: domains, delay: 10 * time.Second, onward: true, links: typicalLinks, perIP: 5, warmUp: 90 * time.Second}
	s = s.withDefaults()
	w := s.web(b)
	dir := up.Dir(b)
	seeds := filepath.Join(dir, "seeds.txt")
	require.NoError(b, os.WriteFile(seeds, []byte(strings.Join(w.Seeds(), "\n")), 0o644))
	crawl := func(args ...string) *exec.Cmd {
		args = append(append([]string{"--data-dir", dir, "crawl", "--run", "bench"}, workerFlags(w)...), args...)
		cmd := exec.Command(filepath.Join(bin, "mosey"), args...)
		cmd.Stderr = os.Stderr
		require.NoError(b, cmd.Start())
		b.Cleanup(func() { end(b, cmd) })
		return cmd
	}
	first := crawl(seeds, "--set", fmt.Sprintf("max_active_domains=%d", *s.settings.MaxDomains))
	background(b.Context(), s.warmUp)
	from := snapshot{at: time.Now()}
	background(b.Context(), s.measured)
	before := between(from, snapshot{at: time.Now()}, w.Log(), s.gap())
	began := time.Now()
	end(b, first)
	stopped := time.Since(began)

	resumed, known := time.Now(), w.Requests()
	second := crawl()
	for w.Requests() == known {
		require.Less(b, time.Since(resumed), firstRequest, "no request was made")
		background(b.Context(), 10*time.Millisecond)
	}
	soon := time.Since(resumed)
	background(b.Context(), 30*time.Second-soon)
	from = snapshot{at: time.Now()}
	background(b.Context(), 30*time.Second)
	again := between(from, snapshot{at: time.Now()}, w.Log(), s.gap())
	end(b, second)
	(&rig{web: w}).judged(b, s.delay, s.ipDelay())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(before.rate(), "before-pages/s")
	b.ReportMetric(stopped.Seconds(), "stop-s")
	b.ReportMetric(soon.Seconds(), "first-request-s")
	b.ReportMetric(again.rate(), "after-30s-pages/s")
	b.Log(machine())
}
