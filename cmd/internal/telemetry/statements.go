package telemetry

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mosey-web/mosey/internal/traces"
)

// Statements times the statements of a pool, by the names that sqlc gives them. It is to be the
// pool's tracer.
type Statements struct{ m *Metrics }

// Statements is a tracer for a pool.
func (m *Metrics) Statements() Statements { return Statements{m} }

type startedKey struct{}

type started struct {
	name string
	at   time.Time
}

// TraceQueryStart implements pgx.QueryTracer.
func (Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, startedKey{}, started{statementName(data.SQL), time.Now()})
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s Statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if began, ok := ctx.Value(startedKey{}).(started); ok {
		s.m.statements.WithLabelValues(began.name).Observe(time.Since(began.at).Seconds())
	}
}

// TracedStatements notes statements in the trace of the attempt that they run for. It is to be
// the pool's tracer.
type TracedStatements struct{}

type tracedKey struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (TracedStatements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s := traces.BeginStatement(ctx, statementName(data.SQL))
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, tracedKey{}, s)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (TracedStatements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if s, ok := ctx.Value(tracedKey{}).(*traces.Statement); ok {
		s.End(data.Err)
	}
}

// statementName is the name in the first line that sqlc writes, "-- name: Name :many".
func statementName(sql string) string {
	rest, ok := strings.CutPrefix(sql, "-- name: ")
	if !ok {
		return "other"
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// Pool adds how the connections of a pool are used.
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
	stat("mosey_pool_connections_used", "gauge", "Connections to Postgres that are in use.",
		func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) })
	stat("mosey_pool_connections_max", "gauge", "Connections to Postgres that there may be.",
		func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) })
	stat("mosey_pool_waits_total", "counter", "Times that a connection had to be waited for.",
		func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) })
	stat("mosey_pool_wait_seconds_total", "counter", "How long connections were waited for.",
		func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() })
}
