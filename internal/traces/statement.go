package traces

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Statement is one that runs for an attempt. A nil one is not traced.
type Statement struct {
	of    *Attempt
	place int
}

// BeginStatement notes that a statement begins. It is part of the current phase of the context's
// attempt. Nil is that the context belongs to no attempt.
func BeginStatement(ctx context.Context, name string) *Statement {
	a := of(ctx)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return &Statement{a, a.add(span{
		name: name, parent: a.phase, kind: trace.SpanKindClient, began: time.Now(),
		attrs: []attribute.KeyValue{semconv.DBSystemNamePostgreSQL, semconv.DBQuerySummary(name)},
	})}
}

// End notes that it has ended.
func (s *Statement) End(err error) {
	if s == nil || s.place < 0 {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.ended {
		return
	}
	s.of.spans[s.place].ended = time.Now()
	if err != nil {
		s.of.spans[s.place].failed = err.Error()
	}
}
