package bench_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watchedRounds is the number of times that BenchmarkWatched measures both crawls.
const watchedRounds = 3

// BenchmarkWatched measures the cost of monitoring in pages a second and processor time a page. It
// compares a crawl alone with a crawl whose metrics are requested every five seconds, and whose
// page is open in a browser.
func BenchmarkWatched(b *testing.B) {
	bin := binaries(b)
	for b.Loop() {
		var rate, cpu [2]float64 // alone, and watched
		for range watchedRounds {
			for which := range rate {
				i := watched(b, bin, which == 1)
				rate[which] += i.rate() / watchedRounds
				cpu[which] += 10 * i.load("process") / i.rate() / watchedRounds
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(rate[0], "alone-pages/s")
		b.ReportMetric(rate[1], "watched-pages/s")
		b.ReportMetric(100*(rate[0]-rate[1])/rate[0], "loss-%")
		b.ReportMetric(cpu[0], "alone-process-ms/page")
		b.ReportMetric(cpu[1], "watched-process-ms/page")
		b.ReportMetric(100*(cpu[1]-cpu[0])/cpu[0], "cpu-change-%")
	}
}

// watched measures one crawl.
func watched(b *testing.B, bin string, watched bool) interval {
	b.Helper()
	s := scenario{domains: 300, delay: 100 * time.Millisecond, onward: true}.withDefaults()
	metrics, page := freeAddress(b), freeAddress(b)
	env := []string{"MOSEY_WEB=" + page}
	if watched {
		env = append(env, "MOSEY_METRICS="+metrics)
	}
	r := startAll(b, bin, s.web(b), os.Stderr, env...)
	r.configure(b)
	r.seed(b, s.settings)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var done []<-chan int
	if watched {
		done = []<-chan int{scrapes(ctx, b, "http://"+metrics+"/metrics"), events(ctx, b, "http://"+page+"/events/overview")}
	}
	background(b.Context(), s.warmUp)
	from := r.snapshot(b)
	background(b.Context(), s.measured)
	to := r.snapshot(b)
	cancel()
	for _, n := range done {
		require.Greater(b, <-n, 5, "it was watched")
	}
	r.stop(b)
	return between(from, to, r.judged(b, s.delay, s.ipDelay()), s.gap())
}

// freeAddress is one that nobody listens at.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer func() { require.NoError(b, l.Close()) }()
	return l.Addr().String()
}

// get asks for a URL.
func get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// scrapes asks for metrics each five seconds, and tells how often it did.
func scrapes(ctx context.Context, b *testing.B, url string) <-chan int {
	b.Helper()
	done := make(chan int, 1)
	go func() {
		n := 0
		defer func() { done <- n }()
		for ctx.Err() == nil {
			if resp, err := get(ctx, url); err == nil {
				if _, err := io.Copy(io.Discard, resp.Body); err == nil {
					n++
				}
				_ = resp.Body.Close() // it was read
			}
			background(ctx, 5*time.Second)
		}
	}()
	return done
}

// events listens to what is new on a page as a browser does, and tells how often it was told.
func events(ctx context.Context, b *testing.B, url string) <-chan int {
	b.Helper()
	done := make(chan int, 1)
	go func() {
		n := 0
		defer func() { done <- n }()
		resp, err := get(ctx, url)
		if err != nil {
			return
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if lines.Text() != "" {
				n++
			}
		}
		_ = resp.Body.Close() // the context has ended it
	}()
	return done
}
