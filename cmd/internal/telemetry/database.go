package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/traces"
)

// Statements is a pgx tracer. It times the statements of a pool under the names sqlc gives them,
// and adds them to the trace of their attempt, if it has one.
type Statements struct {
	// Metrics is nil if metrics are off.
	Metrics *Metrics
}

type startedKey struct{}

type startedStatement struct {
	name  string
	at    time.Time
	trace *traces.Statement
}

// TraceQueryStart implements pgx.QueryTracer.
func (Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	name := statementName(data.SQL)
	return context.WithValue(ctx, startedKey{}, startedStatement{name, time.Now(), traces.BeginStatement(ctx, name)})
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s Statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	began, ok := ctx.Value(startedKey{}).(startedStatement)
	if !ok {
		return
	}
	began.trace.End(data.Err)
	if s.Metrics != nil {
		s.Metrics.statements.WithLabelValues(began.name).Observe(time.Since(began.at).Seconds())
	}
}

// statementName returns the name in the first line that sqlc writes, "-- name: Name :many".
func statementName(sql string) string {
	rest, ok := strings.CutPrefix(sql, "-- name: ")
	if !ok {
		return "other"
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// Pool adds metrics of a pool's connections.
func (m *Metrics) Pool(pool *pgxpool.Pool) {
	stat := func(name, kind, help string, value func(*pgxpool.Stat) float64) {
		read := func() float64 { return value(pool.Stat()) }
		var c prometheus.Collector = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
		if kind == "counter" {
			c = prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read)
		}
		declare(m, name, kind, help, nil, c)
	}
	stat("mosey_pool_connections", "gauge", "Connections to Postgres.",
		func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) })
	stat("mosey_pool_connections_used", "gauge", "Connections to Postgres in use.",
		func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	stat("mosey_pool_connections_max", "gauge", "Maximum number of connections to Postgres.",
		func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) })
	stat("mosey_pool_waits_total", "counter", "Number of waits for a connection.",
		func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) })
	stat("mosey_pool_wait_seconds_total", "counter", "Total wait for connections.",
		func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() })
}

// Store returns the rows to sample.
type Store interface {
	Watch(ctx context.Context) (report.Watch, error)
	EndedGaps(ctx context.Context, since, until time.Time, bounds []float64) ([]report.EndedGaps, error)
}

const (
	sampleInterval = 15 * time.Second
	// minGapAge is the least age of a counted gap. By then earlier gaps are stored too.
	minGapAge = 5 * time.Second
	// maxSampleSpan bounds the time that a sample covers after an outage of the database.
	maxSampleSpan = 5 * time.Minute
)

// Sample samples the database every 15 s until the context ends. It counts and later retries
// failures.
func (m *Metrics) Sample(ctx context.Context, store Store, logger *slog.Logger) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	var since time.Time
	failing := false
	for {
		next, err := m.sample(ctx, store, since)
		switch {
		case err == nil:
			since, failing = next, false
		case ctx.Err() != nil:
			return
		default:
			m.failures.Inc()
			if !failing {
				logger.WarnContext(ctx, "could not read the metrics of the database; the worker will retry", "error", err)
			}
			failing = true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sample takes one sample. since is the last one's end on the database's clock; zero counts no
// gaps.
func (m *Metrics) sample(ctx context.Context, store Store, since time.Time) (until time.Time, err error) {
	w, err := store.Watch(ctx)
	if err != nil {
		return since, err
	}
	m.setSample(w)
	until = w.Now.Add(-minGapAge)
	if since.IsZero() {
		return until, nil
	}
	if earliest := until.Add(-maxSampleSpan); since.Before(earliest) {
		since = earliest
	}
	gaps, err := store.EndedGaps(ctx, since, until, LatenessBounds)
	if err != nil {
		return since, err
	}
	for _, g := range gaps {
		m.gaps.WithLabelValues(g.Kind).Add(float64(g.Gaps))
		m.violations.WithLabelValues(g.Kind).Add(float64(g.Violations))
		if g.Kind == "domain" {
			m.requestLateness.add(g)
		}
	}
	return until, nil
}

// lateness is a histogram filled with bucket counts from the database.
type lateness struct {
	desc *prometheus.Desc

	mu         sync.Mutex
	count      uint64
	sum        float64
	cumulative []uint64 // gaps of at most each of LatenessBounds
}

func (l *lateness) add(g report.EndedGaps) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var below uint64
	for i := range l.cumulative {
		below += uint64(max(g.LatenessBuckets[i], 0))
		l.cumulative[i] += below
	}
	l.count += uint64(max(g.Gaps, 0))
	l.sum += g.LatenessSumSeconds
}

func (l *lateness) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

func (l *lateness) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buckets := make(map[float64]uint64, len(LatenessBounds))
	for i, bound := range LatenessBounds {
		buckets[bound] = l.cumulative[i]
	}
	ch <- prometheus.MustNewConstHistogram(l.desc, l.count, l.sum, buckets)
}
