package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

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
