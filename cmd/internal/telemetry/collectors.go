package telemetry

import (
	"sync"
	"sync/atomic"

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

// fleetUse reads what a process may have in flight, and has.
type fleetUse struct {
	share, taken, limit *prometheus.Desc
	use                 atomic.Pointer[func() (share, taken, limit int)]
}

func (m *Metrics) declareFleet() {
	m.fleet = &fleetUse{}
	of := func(name, help string) *prometheus.Desc {
		m.declared = append(m.declared, Metric{Name: name, Kind: "gauge", Help: help})
		return prometheus.NewDesc(name, help, nil, nil)
	}
	m.fleet.share = of("mosey_fetches_share", "How many requests this process may have in flight: its share of the limit of all, or its own.")
	m.fleet.taken = of("mosey_fetches_in_flight", "How many it has, those that are about to begin included.")
	m.fleet.limit = of("mosey_fetches_limit", "How many all workers may have in flight together (mosey workers --max-fetches); 0 is no limit.")
	m.registry.MustRegister(m.fleet)
}

// Fleet has the use of a process's share shown.
func (m *Metrics) Fleet(use func() (share, taken, limit int)) { m.fleet.use.Store(&use) }

// Describe implements prometheus.Collector.
func (f *fleetUse) Describe(ch chan<- *prometheus.Desc) {
	ch <- f.share
	ch <- f.taken
	ch <- f.limit
}

// Collect implements prometheus.Collector.
func (f *fleetUse) Collect(ch chan<- prometheus.Metric) {
	use := f.use.Load()
	if use == nil {
		return
	}
	share, taken, limit := (*use)()
	for desc, value := range map[*prometheus.Desc]int{f.share: share, f.taken: taken, f.limit: limit} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
	}
}

// Cache has the use of a cache counted.
func (m *Metrics) Cache(name string, use func() (hits, misses int64)) {
	m.caches.mu.Lock()
	defer m.caches.mu.Unlock()
	m.caches.use[name] = use
}

// cacheCounts reads how caches were used.
type cacheCounts struct {
	desc *prometheus.Desc

	mu  sync.Mutex
	use map[string]func() (hits, misses int64)
}

// Describe implements prometheus.Collector.
func (c *cacheCounts) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *cacheCounts) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, use := range c.use {
		hits, misses := use()
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(hits), name, "hit")
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(misses), name, "miss")
	}
}
