package bench_test

import (
	"bufio"
	"flag"
	"io"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

var (
	soak        = flag.Duration("soak", 0, "let BenchmarkSoak run for this `long`")
	soakDomains = flag.Int("soak.domains", 300, "`domains` that BenchmarkSoak crawls")
	soakDelay   = flag.Duration("soak.delay", time.Second, "their `delay`")
	soakPages   = flag.Int("soak.pages", 0, "`pages` an activity; 0 is auto")
	soakEvery   = flag.Duration("soak.every", 15*time.Second, "`how often` BenchmarkSoak prints a line")
)

// soakWarmUp precedes the first part that BenchmarkSoak compares. soakParts divides its time into
// parts: half an hour has parts of five minutes.
const (
	soakWarmUp = 30 * time.Second
	soakParts  = 6
)

// BenchmarkSoak compares the last sixth of a long crawl with the first sixth: pages a second, bytes
// a page, and the memory of one `mosey up` with its worker. Between these parts it regularly prints
// the memory and the live heap of that process.
//
// The process inherits the environment, for example GOMEMLIMIT=off.
func BenchmarkSoak(b *testing.B) {
	if *soak == 0 {
		b.Skip("give a duration with -soak")
	}
	s := scenario{
		domains: *soakDomains, delay: *soakDelay, pages: *soakPages, onward: true, links: typicalLinks,
	}.withDefaults()
	trace, stderr := io.Pipe()
	var heap heapTrace
	go heap.read(trace)
	r := startAll(b, binaries(b), s.web(b), stderr, "GODEBUG=gctrace=1")
	r.configure(b)
	speed := measureYardstick(b, r)
	r.seed(b, s.settings)
	b.Logf("%s; %s; %s", machine(), s, speed)
	b.Log("  after  requests  RSS MB  anonymous MB  live heap MB  heap goal MB  collections  CPU s")
	began := time.Now()
	var at []snapshot
	part := *soak / soakParts
	for _, mark := range []time.Duration{soakWarmUp, soakWarmUp + part, *soak - part, *soak} {
		r.watch(b, &heap, began, mark)
		at = append(at, r.snapshot(b))
	}
	r.stop(b)
	log := r.judged(b, s.delay, s.ipDelay())
	compare(b, between(at[0], at[1], log, s.gap()), between(at[2], at[3], log, s.gap()))
	speed.report(b)
}

// watch prints a line from time to time until so long after the start.
func (r *rig) watch(b *testing.B, heap *heapTrace, began time.Time, until time.Duration) {
	b.Helper()
	pid := r.pid()
	for left := until; left > 0; {
		background(b.Context(), min(*soakEvery, max(until-time.Since(began), 0)))
		live, goal, count := heap.last()
		b.Logf("%7s  %8d  %6.0f  %12.0f  %12d  %12d  %11d  %5.0f", time.Since(began).Round(time.Second), r.web.Requests(),
			memory(b, pid, "VmRSS"), memory(b, pid, "RssAnon"), live, goal, count, cpuOf(pid).Seconds())
		left = until - time.Since(began)
	}
}

// compare reports the last part of a crawl, and how it differs from the first.
func compare(b *testing.B, first, last interval) {
	b.Helper()
	last.report(b)
	change := func(before, after float64) float64 { return 100 * (after/before - 1) }
	database, wal := first.bytes()
	databaseNow, walNow := last.bytes()
	b.ReportMetric(last.to.rss, "process-MB")
	b.ReportMetric(change(first.rate(), last.rate()), "pages/s-change-%")
	b.ReportMetric(change(first.to.rss, last.to.rss), "process-MB-change-%")
	b.ReportMetric(change(database, databaseNow), "db-B/page-change-%")
	b.ReportMetric(change(wal, walNow), "wal-B/page-change-%")
}

// heapTrace holds the garbage collection count and the last heap sizes that a process prints with
// GODEBUG=gctrace=1.
type heapTrace struct {
	mu          sync.Mutex
	count       int
	alive, goal int // MB
}

var collection = regexp.MustCompile(`^gc (\d+) @.* \d+->\d+->(\d+) MB, (\d+) MB goal`)

// read parses the lines of collections, and copies all other lines to stderr.
func (h *heapTrace) read(stderr io.Reader) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		found := collection.FindStringSubmatch(lines.Text())
		if found == nil {
			_, _ = os.Stderr.WriteString(lines.Text() + "\n")
			continue
		}
		h.mu.Lock()
		for i, number := range []*int{&h.count, &h.alive, &h.goal} {
			*number, _ = strconv.Atoi(found[i+1]) // digits
		}
		h.mu.Unlock()
	}
}

func (h *heapTrace) last() (alive, goal, count int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive, h.goal, h.count
}
