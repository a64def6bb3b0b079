package bench_test

import (
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
)

// snapshot holds the resource use until an instant.
type snapshot struct {
	at       time.Time
	cpu      map[string]time.Duration // by part
	rss      float64                  // MB of the process with the worker
	postgres float64                  // MB of all of Postgres
	database database
	// statements holds the worker's timed statements; nil if statements are not timed
	statements map[string]statement
}

func (r *rig) snapshot(b *testing.B) snapshot {
	b.Helper()
	var self syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &self))
	s := snapshot{at: time.Now(), rss: memory(b, r.pid(), "VmRSS"), postgres: postgresMemory(b, r.up.Process.Pid), cpu: map[string]time.Duration{
		"postgres": postgresCPU(b, r.up.Process.Pid),
		"web":      time.Duration(self.Utime.Nano() + self.Stime.Nano()),
	}}
	if r.worker == nil {
		s.cpu["process"] = cpuOf(r.up.Process.Pid)
	} else {
		s.cpu["temporal"], s.cpu["worker"] = cpuOf(r.up.Process.Pid), cpuOf(r.worker.Process.Pid)
	}
	s.statements = r.meter.read()
	s.database = r.readDatabase(b)
	return s
}

// pid returns the process that the worker runs in.
func (r *rig) pid() int {
	if r.worker == nil {
		return r.up.Process.Pid
	}
	return r.worker.Process.Pid
}

// interval holds the measurements between two snapshots.
type interval struct {
	from, to snapshot
	delay    time.Duration
	log      web.Log // the requests that ended in it
	pages    float64 // answered
}

func between(from, to snapshot, log web.Log, delay time.Duration) interval {
	i := interval{from: from, to: to, delay: delay}
	for _, record := range log {
		if end := record.Time.Add(record.End - record.Start); end.Before(from.at) || !end.Before(to.at) {
			continue
		}
		i.log = append(i.log, record)
		if record.IsPage() && record.Answered() {
			i.pages++
		}
	}
	return i
}

// rate is in pages a second.
func (i interval) rate() float64 { return i.pages / i.to.at.Sub(i.from.at).Seconds() }

// bytes is by how much a page has made the database and its log grow.
func (i interval) bytes() (database, wal float64) {
	d := i.to.database.since(i.from.database)
	return float64(d.Size) / i.pages, float64(d.WAL) / i.pages
}

// report prints pages a second and what a page costs.
func (i interval) report(b *testing.B) {
	b.Helper()
	require.Positive(b, i.pages)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(i.rate(), "pages/s")
	asked := map[string]bool{}
	for _, record := range i.log {
		asked[record.Domain()] = true
	}
	b.ReportMetric(float64(len(asked)), "domains")
	for part, cpu := range i.to.cpu {
		b.ReportMetric(float64((cpu-i.from.cpu[part]).Microseconds())/1000/i.pages, part+"-ms/page")
	}
	late := web.Judge(i.log, web.Expectations{Delay: i.delay}).Overshoot
	b.ReportMetric(millis(late.P50), "late-p50-ms")
	b.ReportMetric(millis(late.P95), "late-p95-ms")
	b.ReportMetric(millis(late.P99), "late-p99-ms")
	i.to.database.since(i.from.database).report(b, i.pages)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// reportMemory prints what the process with the worker has had at most, and in the end.
func (r *rig) reportMemory(b *testing.B, peak float64, last snapshot) {
	b.Helper()
	name := "process"
	if r.worker != nil {
		name = "worker"
	}
	b.ReportMetric(peak, name+"-peak-MB")
	b.ReportMetric(last.rss, name+"-MB")
	b.ReportMetric(last.postgres, "postgres-MB")
}

// reportProfile prints where the worker's CPU time went, start and all.
func (r *rig) reportProfile(b *testing.B, log web.Log) {
	b.Helper()
	if r.profile == "" {
		return
	}
	pages := float64(len(log.Pages()))
	for group, d := range split(b, r.profile) {
		b.ReportMetric(float64(d.Microseconds())/1000/pages, "worker-"+group+"-ms/page")
	}
}

// rampShare is the share of the steady rate that ends the ramp of a crawl.
const rampShare = 0.9

// ramp returns the time from the first request to the first second with rampShare of a
// rate. The time includes robots.txt and one delay, because they precede a domain's first page.
func ramp(log web.Log, rate float64) time.Duration {
	var ends []time.Duration
	for _, record := range log {
		if record.IsPage() && record.Answered() {
			ends = append(ends, record.End)
		}
	}
	slices.Sort(ends)
	enough := max(int(math.Ceil(rate*rampShare)), 1)
	for last := enough - 1; last < len(ends); last++ {
		if first := ends[last-enough+1]; ends[last]-first <= time.Second {
			return first - log[0].Start
		}
	}
	return log[len(log)-1].End - log[0].Start
}
