package activities_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/traces"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/otlp"
)

// tracer sends each span to a receiver at once.
func tracer(t *testing.T, to *otlp.Receiver, sampler sdktrace.Sampler) *traces.Tracer {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(to.URL+"/v1/traces"))
	require.NoError(t, err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return traces.New(provider)
}

// phases are the spans of an attempt that gets a response.
var phases = []string{"permit", "resolve", "lease", "GET", "read", "record"}

func TestTraceOfAnAttempt(t *testing.T) {
	t.Parallel()
	received := otlp.Start(t)
	var log bytes.Buffer
	b := setup(t, options{
		sites:  []web.Site{{Pages: -1, Plain: true, Robots: web.RobotsDisallow}},
		logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		tracer: tracer(t, received, sdktrace.AlwaysSample()),
	})
	b.seed(t, "/", "/private/1")
	b.readRobots(t)
	_, err := b.fetchPages(t, 10)
	require.NoError(t, err)

	all := received.Traces(t)
	require.Len(t, all, 2, "what robots.txt forbids has none")
	lines := attemptLines(t, log.String())
	for i, want := range []struct{ kind, path, activity string }{
		{"robots", "/robots.txt", "FetchRobots"}, {"page", "/", "FetchPages"},
	} {
		tr := all[i]
		require.Equal(t, "attempt "+want.kind, tr.Root.Name)
		require.Equal(t, phases, tr.Names(tr.Root))
		require.False(t, tr.Root.Failed())
		require.Equal(t, hex.EncodeToString(tr.Root.TraceId), lines[i].Trace)

		addr, _ := b.web.Addr(b.site)
		u, err := urls.Parse(b.page(want.path))
		require.NoError(t, err)
		attrs := tr.Root.Attrs
		require.Equal(t, lines[i].Crawl, attrs["mosey.attempt_id"])
		require.Equal(t, lines[i].Wait, attrs["mosey.wait_ms"])
		require.Equal(t, lines[i].Reason, attrs["mosey.reason"])
		require.NotEmpty(t, attrs["temporal.workflow_id"])
		require.NotEmpty(t, attrs["temporal.run_id"])
		for _, name := range []string{"mosey.attempt_id", "mosey.wait_ms", "mosey.reason", "temporal.workflow_id", "temporal.run_id"} {
			delete(attrs, name)
		}
		require.Equal(t, map[string]any{
			"http.request.method": "GET", "url.full": b.page(want.path), "server.address": b.site, "server.port": int64(u.Port()),
			"network.peer.address": addr.String(), "http.response.status_code": int64(200),
			"mosey.domain": b.site, "mosey.run": runName, "mosey.kind": want.kind, "mosey.outcome": "success",
			"temporal.activity_type": want.activity, "temporal.activity_attempt": int64(1),
		}, attrs)

		get := tr.Child(t, tr.Root, "GET")
		require.Equal(t, []string{"connect", "first_byte", "body"}, tr.Names(get))
		require.Equal(t, b.page(want.path), get.Attrs["url.full"])
		require.Equal(t, lines[i].Bytes, get.Attrs["http.response.size"])
		sum := time.Duration(0)
		for _, part := range tr.Of(get) {
			sum += part.Took()
		}
		require.Equal(t, get.Took(), sum, "nothing is between the parts of a request")
	}
	require.Empty(t, lines[2].Trace, "an attempt without a request")
}

// headers keeps those of the requests it answers.
type headers struct {
	web.Healthy

	of chan http.Header
}

// Serve implements web.Behaviour.
func (h headers) Serve(v *web.Visit) {
	h.of <- v.R.Header.Clone()
	h.Healthy.Serve(v)
}

// A site is told nothing of our traces.
func TestTracesAreNotPropagated(t *testing.T) {
	t.Parallel()
	received, asked := otlp.Start(t), headers{of: make(chan http.Header, 1)}
	b := setup(t, options{sites: one(asked), tracer: tracer(t, received, sdktrace.AlwaysSample())})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	_, err := b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Len(t, received.Traces(t), 1)
	var names []string
	for name := range <-asked.of {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"Accept", "Accept-Encoding", "Connection", "User-Agent"}, names)
}

func TestTraceOfAFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what   web.Behaviour
		parts  []string
		kind   string
		status any
	}{
		"NoAnswer":  {web.Hang{}, []string{"connect", "first_byte"}, "timeout", nil},
		"BrokenOff": {web.Status{Code: 503}, []string{"connect", "first_byte", "body"}, "503", int64(503)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := otlp.Start(t)
			b := setup(t, options{
				sites: one(c.what), tracer: tracer(t, received, sdktrace.AlwaysSample()),
				limits: fetch.Config{FirstByteTimeout: 300 * time.Millisecond},
			})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			if err != nil { // a failure of the page alone is none of the domain's
				requireSiteFailure(t, err)
			}
			all := received.Traces(t)
			require.Len(t, all, 1)
			tr := all[0]
			require.Equal(t, phases, tr.Names(tr.Root))
			get := tr.Child(t, tr.Root, "GET")
			require.Equal(t, c.parts, tr.Names(get))
			require.Equal(t, c.kind, get.Attrs["error.type"])
			require.Equal(t, c.kind, tr.Root.Attrs["error.type"])
			require.Equal(t, c.status, tr.Root.Attrs["http.response.status_code"])
			parts := tr.Of(get)
			for _, s := range []otlp.Span{tr.Root, get, parts[len(parts)-1]} {
				require.True(t, s.Failed(), s.Name)
				require.NotEmpty(t, s.Status.GetMessage())
			}
			require.False(t, parts[0].Failed())
		})
	}
}

func TestNoTrace(t *testing.T) {
	t.Parallel()
	for name, traced := range map[string]bool{"Off": false, "NoneIsSampled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received, o := otlp.Start(t), options{}
			var log bytes.Buffer
			o.logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			if traced {
				o.tracer = tracer(t, received, sdktrace.TraceIDRatioBased(0))
			}
			b := setup(t, o)
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			require.Len(t, b.pages(), 1)
			require.Zero(t, received.Requests())
			require.NotContains(t, log.String(), "trace_id")
		})
	}
}

// exhausted is a machine that can open no more connections.
type exhausted struct{ activities.Fetcher }

func (exhausted) Do(context.Context, fetch.Request) (*fetch.Response, error) {
	return nil, &fetch.Error{Cause: fetch.CauseLocal, Msg: "too many open files", EndedAt: time.Now()}
}

// nameless knows no name.
type nameless struct{ activities.Resolver }

func (nameless) Lookup(context.Context, string) ([]netip.Addr, error) { return nil, dns.ErrNotFound }

func TestTraceWithoutARequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       options
		outcome string
		phases  []string
	}{
		"InternalFailure": {
			options{wrap: func(f activities.Fetcher) activities.Fetcher { return exhausted{f} }},
			"undone",
			[]string{"permit", "resolve", "lease", "GET"},
		},
		"NoSuchHost": {
			options{resolve: func(r activities.Resolver) activities.Resolver { return nameless{r} }},
			"failed",
			[]string{"permit", "resolve", "lease", "read", "record"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := otlp.Start(t)
			c.o.tracer = tracer(t, received, sdktrace.AlwaysSample())
			b := setup(t, c.o)
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, _ = b.fetchPages(t, 1) // what becomes of it is not the matter
			all := received.Traces(t)
			require.Len(t, all, 1)
			tr := all[0]
			require.Equal(t, c.phases, tr.Names(tr.Root))
			require.Equal(t, c.outcome, tr.Root.Attrs["mosey.outcome"])
			require.True(t, tr.Root.Failed())
			require.Equal(t, name == "NoSuchHost", tr.Child(t, tr.Root, "resolve").Failed())
			require.NotEmpty(t, tr.Root.Attrs["error.type"])
		})
	}
}
