package bench_test

import (
	"bufio"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
)

var (
	soak        = flag.Duration("soak", 0, "let BenchmarkSoak run for this `long`")
	soakDomains = flag.Int("soak.domains", 60, "`domains` that BenchmarkSoak crawls")
	soakDelay   = flag.Duration("soak.delay", 2*time.Second, "their `delay`")
	soakEvery   = flag.Duration("soak.every", 15*time.Second, "`how often` BenchmarkSoak prints a line")
)

// BenchmarkSoak prints how the memory of one `mosey up`, its worker included, grows
// over time: what the system has given it, and what is alive in its heap.
//
//	go test -v -run '^$' -bench Soak -benchtime 1x -timeout 2h ./test/bench -soak 40m
//
// What the environment sets, such as GOMEMLIMIT=off, holds for that process.
func BenchmarkSoak(b *testing.B) {
	if *soak == 0 {
		b.Skip("give a duration with -soak")
	}
	w, err := web.Start(b.Context(), web.Options{Sites: web.Uniform(*soakDomains, web.Site{Plain: true, Pages: 5000})})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	up := exec.Command(filepath.Join(binaries(b), "mosey"), "--data-dir", dataDir(b), "up", "--dns-server", w.DNSAddr(),
		"--allow-network", w.Network().String(), "--contact", "bench@example.org")
	up.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	trace, err := up.StderrPipe()
	require.NoError(b, err)
	var heap heapTrace
	go heap.read(trace)
	r := awaitUp(b, up)
	r.web = w
	r.seed(b, crawl.Settings{Delay: new(crawl.Duration(*soakDelay)), IPDelay: new(crawl.Duration(0))})

	b.Logf("%s; %d domains, delay %s", machine(), *soakDomains, *soakDelay)
	b.Log("  after    pages  RSS MB  anonymous MB  live heap MB  heap goal MB  collections  CPU s")
	pid := up.Process.Pid
	for began := time.Now(); time.Since(began) < *soak; {
		background(b.Context(), *soakEvery)
		live, goal, count := heap.last()
		b.Logf("%7s  %7d  %6.0f  %12.0f  %12d  %12d  %11d  %5.0f", time.Since(began).Round(time.Second), len(w.Log().Pages()),
			memory(b, pid, "VmRSS"), memory(b, pid, "RssAnon"), live, goal, count, cpuOf(pid).Seconds())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(memory(b, pid, "VmRSS"), "MB")
	end(b, up)
	report := web.Judge(w.Log(), web.Expectations{Plan: w.Plan, Delay: *soakDelay, Partial: true, UserAgent: "mosey/"})
	require.Empty(b, report.Violations())
}

// heapTrace is what a process with GODEBUG=gctrace=1 tells of its collections.
type heapTrace struct {
	mu          sync.Mutex
	count       int
	alive, goal int // MB
}

var collection = regexp.MustCompile(`^gc (\d+) @.* \d+->\d+->(\d+) MB, (\d+) MB goal`)

// read passes on all that is not of a collection.
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

// memory is a figure of a process's memory, in MB.
func memory(b *testing.B, pid int, name string) float64 {
	b.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(b, err)
	for line := range strings.Lines(string(data)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			kB, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			require.NoError(b, err)
			return kB / 1024
		}
	}
	require.FailNow(b, "no such figure", name)
	return 0
}
