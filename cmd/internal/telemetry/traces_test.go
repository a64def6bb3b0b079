package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/mosey-web/mosey/internal/traces"
	"github.com/mosey-web/mosey/test/otlp"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// variables are an environment.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	value := v[name]
	return value, value != ""
}

const (
	exporter      = "OTEL_TRACES_EXPORTER"
	endpoint      = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesAt      = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolOfAll = "OTEL_EXPORTER_OTLP_PROTOCOL"
	samplerName   = "OTEL_TRACES_SAMPLER"
	samplerArg    = "OTEL_TRACES_SAMPLER_ARG"
)

func TestTracesAreOff(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]variables{
		"ByDefault":      {},
		"ByTheExporter":  {exporter: "none", endpoint: "http://localhost:4318"},
		"WithAllOfOTel":  {"OTEL_SDK_DISABLED": "true", exporter: "otlp"},
		"WhateverElseIs": {samplerName: "jaeger_remote", protocolOfAll: "http/json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := readTraceSettings(env.lookup)
			require.NoError(t, err)
			require.Nil(t, s)
		})
	}
}

func TestTraceSettings(t *testing.T) {
	t.Parallel()
	const all, one = "AlwaysOnSampler", "TraceIDRatioBased{0.01}"
	for name, c := range map[string]struct {
		env                         variables
		protocol, endpoint, sampler string
	}{
		"Defaults":         {variables{exporter: "otlp"}, protocolHTTP, "http://localhost:4318/v1/traces", all},
		"DefaultsOfGRPC":   {variables{exporter: "otlp", protocolOfAll: "grpc"}, protocolGRPC, "http://localhost:4317", all},
		"EndpointOfAll":    {variables{endpoint: "https://a.example/otel/"}, protocolHTTP, "https://a.example/otel/v1/traces", all},
		"EndpointOfTraces": {variables{tracesAt: "http://a.example/in", endpoint: "http://b.example"}, protocolHTTP, "http://a.example/in", all},
		"EndpointByGRPC":   {variables{endpoint: "http://a.example:4317", protocolOfAll: "grpc"}, protocolGRPC, "http://a.example:4317", all},
		"OneInAHundred": {
			variables{exporter: "otlp", samplerName: "parentbased_traceidratio", samplerArg: "0.01"},
			protocolHTTP, "http://localhost:4318/v1/traces", one,
		},
		"Enabled": {
			variables{exporter: "otlp", "OTEL_SDK_DISABLED": "False", samplerName: "always_off"},
			protocolHTTP, "http://localhost:4318/v1/traces", "AlwaysOffSampler",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := readTraceSettings(c.env.lookup)
			require.NoError(t, err)
			require.Equal(t, c.protocol, s.protocol)
			require.Equal(t, c.endpoint, s.endpoint)
			require.Equal(t, c.sampler, s.sampler.Description())
		})
	}

	t.Run("Resource", func(t *testing.T) {
		t.Parallel()
		s, err := readTraceSettings(variables{
			exporter: "otlp", "OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "team=the%20web, a=b=c,",
		}.lookup)
		require.NoError(t, err)
		require.Equal(t, []attribute.KeyValue{
			attribute.String("team", "the web"), attribute.String("a", "b=c"), attribute.String("service.name", "mine"),
		}, s.resource)
	})
}

func TestWrongTraceSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, want string }{
		exporter:                                {`zipkin`, `OTEL_TRACES_EXPORTER "zipkin": want otlp or none`},
		"OTEL_SDK_DISABLED":                     {`yes`, `OTEL_SDK_DISABLED "yes": want true or false`},
		protocolOfAll:                           {`http/json`, `OTEL_EXPORTER_OTLP_PROTOCOL "http/json": want http/protobuf or grpc`},
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL":    {`x`, `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL "x": want http/protobuf or grpc`},
		endpoint:                                {`localhost:4318`, `OTEL_EXPORTER_OTLP_ENDPOINT "localhost:4318": want a URL such as http://localhost:4318`},
		tracesAt:                                {`ftp://me:secret@a`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT "ftp://…@a": want a URL such as http://localhost:4318`},
		samplerName:                             {`some`, `OTEL_TRACES_SAMPLER "some": want always_on, always_off or traceidratio, or one of them with parentbased_ before it`},
		samplerArg:                              {`1%`, `OTEL_TRACES_SAMPLER_ARG "1%": want a share from 0 to 1, such as 0.01`},
		"OTEL_RESOURCE_ATTRIBUTES":              {`team`, `OTEL_RESOURCE_ATTRIBUTES "team": want pairs such as deployment.environment.name=test,team=web`},
		"OTEL_BSP_MAX_QUEUE_SIZE":               {`0`, `OTEL_BSP_MAX_QUEUE_SIZE "0": want a whole number from 1`},
		"OTEL_EXPORTER_OTLP_TIMEOUT":            {`10s`, `OTEL_EXPORTER_OTLP_TIMEOUT "10s": want a whole number from 1`},
		"OTEL_EXPORTER_OTLP_COMPRESSION":        {`br`, `OTEL_EXPORTER_OTLP_COMPRESSION "br": want gzip or none`},
		"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": {`/nowhere`, `OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE "/nowhere": want a file that can be read`},
		"OTEL_EXPORTER_OTLP_HEADERS":            {`secret`, `OTEL_EXPORTER_OTLP_HEADERS "…": want pairs such as authorization=Bearer%20abc`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := variables{exporter: "otlp"}
			if name == samplerArg {
				env[samplerName] = "traceidratio"
			}
			env[name] = c.value
			_, err := NewTraces(env.lookup, Process{}, slog.New(slog.DiscardHandler))
			require.EqualError(t, err, c.want)
		})
	}

	t.Run("AreAllNamed", func(t *testing.T) {
		t.Parallel()
		_, err := readTraceSettings(variables{exporter: "otlp", samplerName: "x", protocolOfAll: "y"}.lookup)
		require.Len(t, strings.Split(err.Error(), "\n"), 2)
	})
}

// attempt makes one of no consequence.
func attempt(tracer *traces.Tracer) {
	_, a := tracer.Begin(context.Background(), "page")
	a.Requested()
	a.End("")
}

//nolint:paralleltest // what OpenTelemetry complains about goes to one place a process
func TestExport(t *testing.T) {
	process := Process{Version: "1.2.3", Instance: "me"}
	t.Run("SaysWhoItIs", func(t *testing.T) {
		received := otlp.Start(t)
		tr, err := NewTraces(variables{endpoint: received.URL, "OTEL_RESOURCE_ATTRIBUTES": "team=web"}.lookup, process, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		attempt(tr.Tracer)
		tr.Close()
		all := received.Traces(t)
		require.Len(t, all, 1, "the last are sent at the end")
		resource := all[0].Root.Resource
		require.Subset(t, resource, map[string]any{
			"service.name": "mosey", "service.version": "1.2.3", "service.instance.id": "me", "team": "web",
		})
	})

	t.Run("ByGRPC", func(t *testing.T) {
		received := otlp.StartGRPC(t)
		tr, err := NewTraces(variables{endpoint: received.URL, protocolOfAll: "grpc"}.lookup, process, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		attempt(tr.Tracer)
		tr.Close()
		require.Len(t, received.Traces(t), 1)
	})

	t.Run("ThatFailsIsLoggedOnceAMinute", func(t *testing.T) {
		t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
		refused := otlp.StartThat(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
		var log output.Buffer
		tr, err := NewTraces(variables{endpoint: refused.URL}.lookup, process, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		for i := 1; i <= 3; i++ {
			attempt(tr.Tracer)
			wait.Until(t, func() bool { return refused.Requests() == i }, time.Minute, time.Millisecond)
		}
		tr.Close()
		require.Equal(t, 1, strings.Count(log.String(), "\n"), &log)
		require.Contains(t, log.String(), `level=WARN msg="traces could not be sent"`)
		require.Contains(t, log.String(), "403")
	})

	t.Run("ThatHangsHoldsNobodyUp", func(t *testing.T) {
		end := make(chan struct{})
		hanging := otlp.StartThat(t, func(http.ResponseWriter) { <-end })
		defer close(end)
		var log output.Buffer
		tr, err := NewTraces(variables{endpoint: hanging.URL}.lookup, process, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		began := time.Now()
		for range 10_000 { // more than there is room for
			attempt(tr.Tracer)
		}
		require.Less(t, time.Since(began), flushTimeout, "nobody waits for room")
		began = time.Now()
		tr.Close()
		require.Less(t, time.Since(began), 2*flushTimeout)
		require.Contains(t, log.String(), "the last traces could not be sent")
	})
}

func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	var log output.Buffer
	tr := &exportErrorHandler{logger: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		tr.Handle(errors.New("away\nagain"))
	}
	tr.last = tr.last.Add(-exportErrorInterval)
	tr.Handle(errors.New("still"))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `error="away again" times_since_last=0`)
	require.Contains(t, lines[1], "error=still times_since_last=2")
}
