package traces

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// maxSpans bounds the spans of an attempt: a long sitemap has many statements.
	maxSpans = 200
	// maxFailureBytes bounds the text of a failure, in bytes.
	maxFailureBytes = 512
	// noPhase is the parent of spans outside of phases: the attempt itself.
	noPhase = -1
)

// Tracer makes traces of attempts. A nil Tracer makes no traces. It is safe for concurrent use.
type Tracer struct{ tracer trace.Tracer }

// New returns a tracer that uses a provider.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{provider.Tracer("github.com/mosey-web/mosey")}
}

// Attempt is the trace of one attempt; nil means no trace. It is safe for concurrent use.
type Attempt struct {
	tracer trace.Tracer
	span   trace.Span

	mu        sync.Mutex
	requested bool
	spans     []span
	phase     int // index of the current phase in spans
	dropped   int
	ended     bool
}

type span struct {
	name         string
	parent       int
	kind         trace.SpanKind
	began, ended time.Time
	failure      string
	attrs        []attribute.KeyValue
}

type attemptKey struct{}

// Begin begins the trace of an attempt for a kind of page. Use the returned context for all work of
// the attempt. The trace is nil if it is not sampled.
func (t *Tracer) Begin(ctx context.Context, kind string) (context.Context, *Attempt) {
	if t == nil {
		return ctx, nil
	}
	_, s := t.tracer.Start(context.Background(), "attempt "+kind, trace.WithNewRoot())
	if !s.IsRecording() {
		return ctx, nil
	}
	a := &Attempt{tracer: t.tracer, span: s, phase: noPhase}
	return context.WithValue(ctx, attemptKey{}, a), a
}

func attemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

// ID returns the ID of a context's trace, or an empty string.
func ID(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil {
		return a.span.SpanContext().TraceID().String()
	}
	return ""
}

// locked calls do with the lock held, unless a is nil.
func (a *Attempt) locked(do func(now time.Time)) {
	if a == nil {
		return
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	do(now)
}

// Phase ends the current phase and begins another, each a span of its own.
func (a *Attempt) Phase(name string) {
	a.locked(func(now time.Time) {
		a.leave(now, "")
		a.phase = a.add(span{name: name, parent: noPhase, began: now})
	})
}

// Leave ends the current phase. failure is empty after success.
func (a *Attempt) Leave(failure string) {
	a.locked(func(now time.Time) { a.leave(now, failure) })
}

func (a *Attempt) leave(now time.Time, failure string) {
	if a.phase >= 0 {
		a.spans[a.phase].ended, a.spans[a.phase].failure = now, failure
	}
	a.phase = noPhase
}

// add returns the index of a span, or noPhase if the limit is reached.
func (a *Attempt) add(s span) int {
	if a.ended || len(a.spans) >= maxSpans {
		a.dropped++
		return noPhase
	}
	a.spans = append(a.spans, s)
	return len(a.spans) - 1
}

// Part is a completed part of an attempt.
type Part struct {
	Name         string
	Began, Ended time.Time
	Failure      string // empty after success
	Client       bool   // another machine did the work
	Attrs        []attribute.KeyValue
	Parts        []Part
}

// Add adds a part. It ends the current phase.
func (a *Attempt) Add(p Part) {
	a.locked(func(time.Time) {
		a.leave(p.Began, "")
		a.part(p, noPhase)
	})
}

func (a *Attempt) part(p Part, parent int) {
	s := span{name: p.Name, parent: parent, began: p.Began, ended: p.Ended, failure: p.Failure, attrs: p.Attrs}
	if p.Client {
		s.kind = trace.SpanKindClient
	}
	index := a.add(s)
	for _, part := range p.Parts {
		a.part(part, index)
	}
}

// Set adds attributes of the attempt.
func (a *Attempt) Set(attrs ...attribute.KeyValue) {
	if a != nil {
		a.span.SetAttributes(attrs...)
	}
}

// Requested records that the attempt has made a request.
func (a *Attempt) Requested() {
	a.locked(func(time.Time) { a.requested = true })
}

// End makes the spans of an attempt, if it made a request. failure is empty after success.
func (a *Attempt) End(failure string) {
	a.locked(func(now time.Time) {
		a.leave(now, "")
		if a.ended = true; !a.requested {
			return
		}
		made := make([]trace.Span, len(a.spans))
		for i, s := range a.spans {
			parent := a.span
			if s.parent >= 0 {
				parent = made[s.parent]
			}
			if s.ended.IsZero() { // a statement that outlives the attempt
				s.ended = now
			}
			_, made[i] = a.tracer.Start(trace.ContextWithSpan(context.Background(), parent), s.name,
				trace.WithTimestamp(s.began), trace.WithSpanKind(s.kind), trace.WithAttributes(s.attrs...))
			fail(made[i], s.failure)
			made[i].End(trace.WithTimestamp(s.ended))
		}
		if a.dropped > 0 {
			a.span.SetAttributes(attribute.Int("mosey.spans_dropped", a.dropped))
		}
		fail(a.span, failure)
		a.span.End(trace.WithTimestamp(now))
	})
}

func fail(s trace.Span, failure string) {
	if failure != "" {
		s.SetStatus(codes.Error, crawl.CleanText(failure, maxFailureBytes))
	}
}

// Statement is a statement of an attempt. A nil Statement is not traced.
type Statement struct {
	attempt *Attempt
	index   int
}

// BeginStatement begins a statement in the current phase of the context's attempt, if it has one.
func BeginStatement(ctx context.Context, name string) *Statement {
	a := attemptOf(ctx)
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

// End ends the statement.
func (s *Statement) End(err error) {
	if s == nil || s.index < 0 {
		return
	}
	s.attempt.mu.Lock()
	defer s.attempt.mu.Unlock()
	if s.attempt.ended {
		return
	}
	s.attempt.spans[s.index].ended = time.Now()
	if err != nil {
		s.attempt.spans[s.index].failure = err.Error()
	}
}
