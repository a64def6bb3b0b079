package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mosey-web/mosey/crawl/report"
)

// lateness is a histogram that is filled by the counts of its buckets: the database has counted.
type lateness struct {
	desc *prometheus.Desc

	mu    sync.Mutex
	count uint64
	sum   float64
	// upTo counts what is at most LateBounds, each.
	upTo []uint64
}

func newLateness(name, help string) *lateness {
	return &lateness{desc: prometheus.NewDesc(name, help, nil, nil), upTo: make([]uint64, len(LateBounds))}
}

// add adds gaps.
func (l *lateness) add(g report.EndedGaps) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var below uint64
	for i := range l.upTo {
		below += uint64(max(g.Late[i], 0))
		l.upTo[i] += below
	}
	l.count += uint64(max(g.Gaps, 0))
	l.sum += g.LateSeconds
}

// Describe implements prometheus.Collector.
func (l *lateness) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

// Collect implements prometheus.Collector.
func (l *lateness) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buckets := make(map[float64]uint64, len(LateBounds))
	for i, bound := range LateBounds {
		buckets[bound] = l.upTo[i]
	}
	ch <- prometheus.MustNewConstHistogram(l.desc, l.count, l.sum, buckets)
}
