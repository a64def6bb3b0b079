// Package telemetry exports metrics for Prometheus, traces for OpenTelemetry, health and profiles
// of a process. docs/metrics.md lists the metrics, and docs/traces.md the spans.
package telemetry

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/request"
)

// Metrics are the counters of a process and its samples of the database. No label holds a domain or
// a URL: each has few, known values. Metrics is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	declared []Metric
	closers  []func(context.Context) error

	requests, notRequested, unreadTotal, received, imageStore *prometheus.CounterVec
	phases, waits, statements                                 *prometheus.HistogramVec

	groups, groupWait, groupDuration *prometheus.HistogramVec
	fallbacks                        *prometheus.CounterVec

	gaps, violations *prometheus.CounterVec
	requestLateness  *lateness

	// server maps the measures of an embedded Temporal by its names
	server map[string]serverSampler

	outage  prometheus.Gauge
	outages prometheus.Counter

	serving, domains                                           *prometheus.GaugeVec
	reportedReasons                                            map[reasons.Reason]bool // reasons reported so far
	domainsEstimate, pending, due, oldest, keywords, sampledAt prometheus.Gauge
	failures                                                   prometheus.Counter
}

// Metric declares a metric, as listed in docs/metrics.md.
type Metric struct {
	Name, Kind, Help string
	Labels           []string
}

// Buckets of durations, in seconds.
var (
	phaseBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	waitBuckets  = []float64{.1, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600, 6 * 3600, 24 * 3600}
	dbBuckets    = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
	// LatenessBounds are the buckets of a request's lateness.
	LatenessBounds = []float64{0, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
)

// NewMetrics declares all metrics.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.requests = m.counters("mosey_requests_total", "Recorded requests, by kind of page and outcome.",
		"kind", "outcome")
	m.notRequested = m.counters("mosey_not_requested_total",
		"Pages closed without a request, by the reason for skipping them; blocked_robots counts forbidden pages.", "reason")
	m.unreadTotal = m.counters("mosey_unusable_responses_total",
		"Responses without text, links or images, and walls against bots, by kind of page and reason.",
		"kind", "reason")
	m.received = m.counters("mosey_received_bytes_total", "Bytes received from sites, including headers, by kind of page.", "kind")
	m.phases = m.histograms("mosey_request_phase_seconds", "Duration of each phase of a request: "+
		"resolve, connect (with TLS), first_byte, body, read (parse it) and record.", phaseBuckets, "phase")
	m.waits = m.histograms("mosey_wait_seconds",
		"Delay of a domain after a request, by reason.", waitBuckets, "reason")

	m.gaps = m.counters("mosey_gaps_total", "Gaps between two requests, checked from the stored rows, "+
		"by key of the delay: domain, address, subnet or registered (domain).", "key")
	m.violations = m.counters("mosey_gap_violations_total",
		"Gaps of mosey_gaps_total that were shorter than the delay. Every such gap is a bug in Mosey.", "key")
	for _, key := range []string{"domain", "address", "subnet", "registered"} { // so that there is a 0 to rise from
		m.gaps.WithLabelValues(key)
		m.violations.WithLabelValues(key)
	}
	const latenessHelp = "Lateness of requests after their earliest possible time, from the stored rows."
	m.requestLateness = declare(m, "mosey_request_lateness_seconds", "histogram", latenessHelp, nil, &lateness{
		desc:       prometheus.NewDesc("mosey_request_lateness_seconds", latenessHelp, nil, nil),
		cumulative: make([]uint64, len(LatenessBounds)),
	})

	m.groups = m.histograms("mosey_group_documents",
		"Documents of different domains in one transaction, by operation: begin, release or record.",
		[]float64{1, 2, 4, 8, 16, 32, 64}, "operation")
	m.groupWait = m.histograms("mosey_group_wait_seconds", "Wait of the first document of a group for others.", dbBuckets, "operation")
	m.groupDuration = m.histograms("mosey_group_seconds", "Duration of the transaction of a group.", dbBuckets, "operation")
	m.fallbacks = m.counters("mosey_group_fallbacks_total", "Groups that failed, so that each document got its own transaction.", "operation")
	m.statements = m.histograms("mosey_statement_seconds",
		"Duration of statements, by name; other counts the statements that begin and end transactions.", dbBuckets, "statement")

	m.declared = append(m.declared, cacheLookups)
	m.imageStore = m.counters("mosey_image_store_operations_total",
		"Operations of the image store (put, thumbnail, check), by result: ok or error.", "operation", "result")

	m.declared = append(m.declared, fleetGauges...)
	m.declareServer()

	m.outage = m.gauge("mosey_network_outage",
		"1 while the network of this process seems to be down, so that failures are not counted against sites.")
	m.outages = m.counter("mosey_network_outages_total", "Started outages of the network of this process.")
	m.reportedReasons = make(map[reasons.Reason]bool)
	m.serving = m.gauges("mosey_domains_served",
		"Domains with a workflow, by the reason of their wait: in flight during a request, none without a wait.", "reason")
	m.domains = m.gauges("mosey_domains", "Domains by status; above 50,000 domains, only mosey_domains_estimate is set.", "status")
	m.domainsEstimate = m.gauge("mosey_domains_estimate", "Estimated number of domains, from the planner's statistics.")
	m.pending = m.gauge("mosey_frontier_pending", "Pending attempts of all runs; above 50,000 an estimate.")
	m.due = m.gauge("mosey_frontier_due_domains", "Due domains without a workflow, up to 50,000 per run.")
	m.oldest = m.gauge("mosey_frontier_oldest_due_seconds", "Time since the oldest due domain became due.")
	m.keywords = m.gauge("mosey_pages_awaiting_index", "Fetched pages that are not searchable yet, up to 20,000.")
	m.sampledAt = m.gauge("mosey_sample_timestamp_seconds", "Time of the last sample of the database.")
	m.failures = m.counter("mosey_sample_failures_total", "Failed samples of the database.")
	return m
}

// Declared lists Mosey's own metrics in the order of their declaration.
func (m *Metrics) Declared() []Metric { return m.declared }

func declare[C prometheus.Collector](m *Metrics, name, kind, help string, labels []string, c C) C {
	m.declared = append(m.declared, Metric{Name: name, Kind: kind, Help: help, Labels: labels})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	opts := prometheus.CounterOpts{Name: name, Help: help}
	return declare(m, name, "counter", help, labels, prometheus.NewCounterVec(opts, labels))
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return m.counters(name, help).WithLabelValues()
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	opts := prometheus.GaugeOpts{Name: name, Help: help}
	return declare(m, name, "gauge", help, labels, prometheus.NewGaugeVec(opts, labels))
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return m.gauges(name, help).WithLabelValues()
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
	return declare(m, name, "histogram", help, labels, prometheus.NewHistogramVec(opts, labels))
}

var cacheLookups = Metric{
	Name: "mosey_cache_lookups_total", Kind: "counter", Labels: []string{"cache", "result"},
	Help: "Lookups in the caches of host names (dns) and of robots.txt (robots), by result: hit or miss.",
}

// Cache counts the use of a cache with a unique name.
func (m *Metrics) Cache(name string, use func() (hits, misses int64)) {
	for i, result := range []string{"hit", "miss"} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: cacheLookups.Name, Help: cacheLookups.Help,
			ConstLabels: prometheus.Labels{"cache": name, "result": result},
		}, func() float64 {
			hits, misses := use()
			return float64([]int64{hits, misses}[i])
		}))
	}
}

var fleetGauges = []Metric{
	{
		Name: "mosey_fetches_share", Kind: "gauge",
		Help: "Maximum number of requests in flight in this process: its share of the fleet limit, or its own limit.",
	},
	{
		Name: "mosey_fetches_in_flight", Kind: "gauge",
		Help: "Requests in flight in this process, including requests that are about to begin.",
	},
	{
		Name: "mosey_fetches_limit", Kind: "gauge",
		Help: "Maximum number of requests in flight in all workers (mosey workers --max-fetches); 0 is no limit.",
	},
}

// Fleet shows the use of a process's share. Call it once.
func (m *Metrics) Fleet(use func() (share, inFlight, limit int)) {
	for i, g := range fleetGauges {
		opts := prometheus.GaugeOpts{Name: g.Name, Help: g.Help}
		m.registry.MustRegister(prometheus.NewGaugeFunc(opts, func() float64 {
			share, inFlight, limit := use()
			return float64([]int{share, inFlight, limit}[i])
		}))
	}
}

// ImageStore counts an operation of the image store.
func (m *Metrics) ImageStore(operation string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.imageStore.WithLabelValues(operation, result).Inc()
}

// Attempt counts a recorded attempt.
func (m *Metrics) Attempt(o request.Observation) {
	at := o.Attempt
	if !at.Requested {
		m.notRequested.WithLabelValues(cmp.Or(string(at.Skipped), string(at.Outcome))).Inc()
		return
	}
	kind := string(at.Kind)
	m.requests.WithLabelValues(kind, string(at.Outcome)).Inc()
	if reason := unreadReason(at); reason != "" {
		m.unreadTotal.WithLabelValues(kind, reason).Inc()
	}
	m.received.WithLabelValues(kind).Add(float64(at.Bytes))
	m.waits.WithLabelValues(string(at.Reason)).Observe(time.Duration(at.Delay).Seconds())
	for phase, duration := range map[string]time.Duration{
		"resolve": o.Resolve, "connect": o.Connect, "first_byte": o.FirstByte,
		"body": o.Body, "read": o.Read, "record": o.Record,
	} {
		if duration > 0 { // else the attempt ended before this phase
			m.phases.WithLabelValues(phase).Observe(duration.Seconds())
		}
	}
}

// unreadReason returns the reason why a response gave no content, or "".
func unreadReason(at crawl.Attempt) string {
	switch {
	case at.Outcome != crawl.OutcomeSuccess && !at.Skipped.Row().IsWall:
		return ""
	case at.Image != nil:
		return cmp.Or(string(at.Skipped), string(at.Image.Problem))
	}
	return string(at.Skipped)
}

// Group counts a group of documents that shared a transaction.
func (m *Metrics) Group(op string, g db.GroupStats) {
	m.groups.WithLabelValues(op).Observe(float64(g.Documents))
	m.groupWait.WithLabelValues(op).Observe(g.Waited.Seconds())
	m.groupDuration.WithLabelValues(op).Observe(g.Took.Seconds())
	if g.Failed {
		m.fallbacks.WithLabelValues(op).Inc()
	}
}

// Outage counts the begin of an outage, or its end if Since is zero.
func (m *Metrics) Outage(o crawl.Outage) {
	if o.Since.IsZero() {
		m.outage.Set(0)
		return
	}
	m.outage.Set(1)
	m.outages.Inc()
}

func (m *Metrics) setSample(w report.Watch) {
	for reason := range w.Waits {
		m.reportedReasons[reason] = true
	}
	for reason := range m.reportedReasons { // earlier reasons without a domain become 0
		m.serving.WithLabelValues(cmp.Or(string(reason), "none")).Set(float64(w.Waits[reason]))
	}
	if w.Domains == nil {
		m.domains.Reset()
	} else {
		for _, status := range crawl.DomainStatuses {
			m.domains.WithLabelValues(string(status)).Set(float64(w.Domains[status]))
		}
	}
	m.domainsEstimate.Set(float64(w.DomainsEstimate))
	m.pending.Set(float64(w.Pending))
	m.due.Set(float64(w.Due))
	m.oldest.Set(time.Duration(w.OldestDue).Seconds())
	m.keywords.Set(float64(w.KeywordsWaiting))
	m.sampledAt.Set(float64(w.Now.UnixMilli()) / 1000)
}
