package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/traces"
)

const (
	// flushTimeout bounds the export of a process's last traces.
	flushTimeout = 3 * time.Second
	// exportErrorInterval is the least interval between logged export errors.
	exportErrorInterval = time.Minute
	// maxExportErrorBytes bounds an error's text in bytes, because it may quote a server.
	maxExportErrorBytes = 500
)

// Traces exports traces as the environment configures. A full queue drops spans.
type Traces struct {
	Tracer *traces.Tracer

	provider *sdktrace.TracerProvider
	exporter *otlptrace.Exporter
	logger   *slog.Logger
}

// NewTraces exports traces as the environment configures (OTEL_*), or returns nil if they are off.
func NewTraces(lookup func(string) (string, bool), process Process, logger *slog.Logger) (*Traces, error) {
	s, err := readTraceSettings(lookup)
	if err != nil || s == nil {
		return nil, err
	}
	otel.SetLogger(logr.FromSlogHandler(errorsOnly{logger.Handler()}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // tracing has validated the environment
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
		// the last of two values of an attribute counts
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL, append(attrs, s.resource...)...)),
	)
	otel.SetErrorHandler(&exportErrorHandler{logger: logger})
	return &Traces{Tracer: traces.New(provider), provider: provider, exporter: exporter, logger: logger}, nil
}

// Process names the process that emits traces.
type Process struct{ Version, Instance string }

// Close sends the remaining traces, for three seconds at most.
func (t *Traces) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		err = errors.Join(err, t.exporter.Shutdown(ctx)) // cancels the export
		t.logger.WarnContext(ctx, "the last traces could not be sent", "error", shortenError(err))
	}
}

type exportErrorHandler struct {
	logger *slog.Logger

	mu         sync.Mutex
	last       time.Time
	suppressed int
}

func (t *exportErrorHandler) Handle(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.last.IsZero() || now.Sub(t.last) >= exportErrorInterval {
		t.logger.Warn("traces could not be sent", "error", shortenError(err), "times_since_last", t.suppressed)
		t.last, t.suppressed = now, 0
		return
	}
	t.suppressed++
}

func shortenError(err error) string { return crawl.CleanText(err.Error(), maxExportErrorBytes) }

// errorsOnly drops the settings that OpenTelemetry logs.
type errorsOnly struct{ slog.Handler }

func (h errorsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

type traceSettings struct {
	protocol, endpoint string
	sampler            sdktrace.Sampler
	resource           []attribute.KeyValue
}

type environment struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (e *environment) get(name string) string {
	value, _ := e.lookup(name)
	return strings.TrimSpace(value)
}

// lookupForTraces returns the variable for traces, or else the variable for all signals.
func (e *environment) lookupForTraces(suffix string) (name, value string) {
	for _, name = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + suffix, "OTEL_EXPORTER_OTLP_" + suffix} {
		if value = e.get(name); value != "" {
			break
		}
	}
	return name, value
}

func (e *environment) addError(name, value, want string) {
	e.errs = append(e.errs, fmt.Errorf("%s %q: want %s", name, value, want))
}

// readTraceSettings reads the environment's settings of traces; nil means off. If off, it ignores
// the details, which may be meant for other programs.
func readTraceSettings(lookup func(string) (string, bool)) (*traceSettings, error) {
	e := &environment{lookup: lookup}
	if !e.isEnabled() {
		return nil, errors.Join(e.errs...)
	}
	protocol, endpoint := e.exportTarget()
	s := &traceSettings{protocol, endpoint, e.sampler(), e.resource()}
	e.checkOthers()
	return s, errors.Join(e.errs...)
}

func (e *environment) isEnabled() bool {
	const off, exporter = "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"
	switch v := e.get(off); strings.ToLower(v) {
	case "true":
		return false
	case "", "false":
	default:
		e.addError(off, v, "true or false")
		return false
	}
	switch v := e.get(exporter); v {
	case "":
		_, endpoint := e.lookupForTraces("ENDPOINT")
		return endpoint != ""
	case "otlp":
		return true
	case "none":
	default:
		e.addError(exporter, v, "otlp or none")
	}
	return false
}

func (e *environment) exportTarget() (protocol, endpoint string) {
	name, protocol := e.lookupForTraces("PROTOCOL")
	protocol = cmp.Or(protocol, protocolHTTP)
	if protocol != protocolHTTP && protocol != protocolGRPC {
		e.addError(name, protocol, protocolHTTP+" or "+protocolGRPC)
	}
	name, endpoint = e.lookupForTraces("ENDPOINT")
	switch {
	case endpoint != "":
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			e.addError(name, urls.WithoutCredentials(endpoint), "a URL such as http://localhost:4318")
			return protocol, endpoint
		}
		if protocol == protocolHTTP && name == "OTEL_EXPORTER_OTLP_ENDPOINT" { // the traces variable is used unchanged
			endpoint = u.JoinPath("v1", "traces").String()
		}
	case protocol == protocolGRPC:
		endpoint = "http://localhost:4317"
	default:
		endpoint = "http://localhost:4318/v1/traces"
	}
	return protocol, endpoint
}

// sampler returns the sampler of attempts. They have no parent, so a parent-based one equals its
// root.
func (e *environment) sampler() sdktrace.Sampler {
	const name, arg = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	v := strings.ToLower(e.get(name))
	switch strings.TrimPrefix(v, "parentbased_") {
	case "", "always_on":
		return sdktrace.AlwaysSample()
	case "always_off":
		return sdktrace.NeverSample()
	case "traceidratio":
		text := cmp.Or(e.get(arg), "1")
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || !(share >= 0 && share <= 1) { // NaN fails both
			e.addError(arg, text, "a share from 0 to 1, such as 0.01")
		}
		return sdktrace.TraceIDRatioBased(share)
	}
	e.addError(name, v, "always_on, always_off or traceidratio, or one of them with parentbased_ before it")
	return sdktrace.NeverSample()
}

func (e *environment) resource() (attrs []attribute.KeyValue) {
	const name = "OTEL_RESOURCE_ATTRIBUTES"
	pairs, ok := parsePairs(e.get(name))
	if !ok {
		e.addError(name, e.get(name), "pairs such as deployment.environment.name=test,team=web")
	}
	for _, pair := range pairs {
		attrs = append(attrs, attribute.String(pair[0], pair[1]))
	}
	if service := e.get("OTEL_SERVICE_NAME"); service != "" {
		attrs = append(attrs, attribute.String("service.name", service))
	}
	return attrs
}

func parsePairs(text string) (pairs [][2]string, ok bool) {
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || key == "" || err != nil {
			return nil, false
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs, true
}

// checkOthers checks the variables that OpenTelemetry reads, because it would only log an error.
func (e *environment) checkOthers() {
	for _, name := range []string{
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
	} {
		e.number(name, e.get(name))
	}
	name, value := e.lookupForTraces("TIMEOUT")
	e.number(name, value)
	if name, value = e.lookupForTraces("COMPRESSION"); value != "" && value != "gzip" && value != "none" {
		e.addError(name, value, "gzip or none")
	}
	for _, suffix := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if name, value = e.lookupForTraces(suffix); value == "" {
			continue
		}
		if _, err := os.ReadFile(value); err != nil {
			e.addError(name, value, "a file that can be read")
		}
	}
	name, value = e.lookupForTraces("HEADERS")
	if _, ok := parsePairs(value); !ok {
		e.addError(name, "…", "pairs such as authorization=Bearer%20abc") // values are secret
	}
}

func (e *environment) number(name, value string) {
	if n, err := strconv.Atoi(value); value != "" && (err != nil || n <= 0) {
		e.addError(name, value, "a whole number from 1")
	}
}
