package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/traces"
)

const (
	// flushSpan bounds how long the last traces of a process may take.
	flushSpan = 3 * time.Second
	// troubleSpan is how often trouble with traces is logged at the most.
	troubleSpan = time.Minute
	// troubleMax bounds the text of it, in bytes: it may quote a server.
	troubleMax = 500
)

// Traces are sent where the environment says, by a queue that is bounded: what does not fit is
// dropped.
type Traces struct {
	Tracer *traces.Tracer

	provider *sdktrace.TracerProvider
	exporter *otlptrace.Exporter
	logger   *slog.Logger
}

// NewTraces sends traces as the environment says (OTEL_*), or returns nil if it does not want any.
// An error is of the environment.
func NewTraces(lookup func(string) (string, bool), process Process, logger *slog.Logger) (*Traces, error) {
	s, err := tracing(lookup)
	if err != nil || s == nil {
		return nil, err
	}
	otel.SetLogger(logr.FromSlogHandler(errorsOnly{logger.Handler()}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // what is wrong in the environment was found
	var client otlptrace.Client
	if s.protocol == protocolGRPC {
		client = otlptracegrpc.NewClient(otlptracegrpc.WithEndpointURL(s.endpoint))
	} else {
		client = otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(s.endpoint))
	}
	exporter, err := otlptrace.New(context.Background(), client)
	if err != nil {
		return nil, err
	}
	attrs := append(resource.Default().Attributes(),
		semconv.ServiceName("mosey"), semconv.ServiceVersion(process.Version), semconv.ServiceInstanceID(process.Instance))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(s.sampler),
		// of two values of an attribute the last one counts
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL, append(attrs, s.resource...)...)),
	)
	otel.SetErrorHandler(&trouble{logger: logger})
	return &Traces{Tracer: traces.New(provider), provider: provider, exporter: exporter, logger: logger}, nil
}

// Process names the process that traces come from.
type Process struct{ Version, Instance string }

// Close sends what there is yet to send, for three seconds at the most.
func (t *Traces) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushSpan)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		err = errors.Join(err, t.exporter.Shutdown(ctx)) // breaks off what is being sent
		t.logger.WarnContext(ctx, "the last traces could not be sent", "error", brief(err))
	}
}

// trouble logs what OpenTelemetry complains about, once in a while.
type trouble struct {
	logger *slog.Logger

	mu     sync.Mutex
	last   time.Time
	silent int
}

// Handle implements otel.ErrorHandler.
func (t *trouble) Handle(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.last.IsZero() || now.Sub(t.last) >= troubleSpan {
		t.logger.Warn("traces could not be sent", "error", brief(err), "times_since_last", t.silent)
		t.last, t.silent = now, 0
		return
	}
	t.silent++
}

func brief(err error) string { return crawl.CleanText(err.Error(), troubleMax) }

// errorsOnly leaves out what is not an error: OpenTelemetry tells its settings.
type errorsOnly struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h errorsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}
