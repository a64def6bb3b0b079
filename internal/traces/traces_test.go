package traces

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func setup(sampler sdktrace.Sampler) (*Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	return New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sampler))), exporter
}

// named are spans by their names, and the names in the order in which they came.
func named(spans tracetest.SpanStubs) (by map[string]tracetest.SpanStub, names []string) {
	by = make(map[string]tracetest.SpanStub)
	for _, s := range spans {
		by[s.Name] = s
		names = append(names, s.Name)
	}
	return by, names
}

func TestAttempt(t *testing.T) {
	t.Parallel()

	t.Run("HasSpansOfPhasesAndStatements", func(t *testing.T) {
		t.Parallel()
		tracer, exporter := setup(sdktrace.AlwaysSample())
		ctx, a := tracer.Begin(t.Context(), "page")
		require.False(t, trace.SpanContextFromContext(ctx).IsValid(), "nobody else can continue the trace")
		a.Phase("lease")
		good := BeginStatement(ctx, "Good")
		good.End(nil)
		bad := BeginStatement(ctx, "Bad")
		bad.End(errors.New("no\nroom" + strings.Repeat(".", maxFailureBytes)))
		a.Phase("read")
		late := BeginStatement(ctx, "Late")
		a.Leave("broken")
		free := BeginStatement(ctx, "Free")
		free.End(nil)
		require.Empty(t, exporter.GetSpans(), "before the end there are none")
		a.Requested()
		a.End("it failed")
		late.End(errors.New("nobody listens any more"))
		BeginStatement(ctx, "Never").End(nil)

		by, names := named(exporter.GetSpans())
		require.Equal(t, []string{"lease", "Good", "Bad", "read", "Late", "Free", "attempt page"}, names)
		root := by["attempt page"]
		require.Equal(t, root.SpanContext.TraceID().String(), ID(ctx))
		require.False(t, root.Parent.IsValid())
		require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "it failed"}, root.Status)
		for child, parent := range map[string]string{
			"lease": "attempt page", "Good": "lease", "Bad": "lease", "read": "attempt page", "Late": "read", "Free": "attempt page",
		} {
			require.Equal(t, by[parent].SpanContext.SpanID(), by[child].Parent.SpanID(), child)
		}
		require.Equal(t, codes.Unset, by["Good"].Status.Code)
		require.True(t, strings.HasPrefix(by["Bad"].Status.Description, "no room."))
		require.Len(t, by["Bad"].Status.Description, maxFailureBytes)
		require.Equal(t, "broken", by["read"].Status.Description)
		require.Equal(t, root.EndTime, by["Late"].EndTime, "it outlives the attempt")
		require.Equal(t, codes.Unset, by["Late"].Status.Code)
	})

	t.Run("WithoutARequestHasNone", func(t *testing.T) {
		t.Parallel()
		tracer, exporter := setup(sdktrace.AlwaysSample())
		ctx, a := tracer.Begin(t.Context(), "page")
		a.Phase("lease")
		BeginStatement(ctx, "One").End(nil)
		a.End("")
		require.Empty(t, exporter.GetSpans())
	})

	t.Run("IsBounded", func(t *testing.T) {
		t.Parallel()
		tracer, exporter := setup(sdktrace.AlwaysSample())
		ctx, a := tracer.Begin(t.Context(), "sitemap")
		a.Requested()
		a.Phase("read")
		for range maxSpans + 10 {
			BeginStatement(ctx, "One").End(nil)
		}
		a.Phase("record")
		a.Add(Part{Name: "part", Parts: []Part{{Name: "of it"}}, Began: time.Now(), Ended: time.Now()})
		a.End("")
		spans := exporter.GetSpans()
		require.Len(t, spans, maxSpans+1)
		root := spans[maxSpans]
		require.Len(t, root.Attributes, 1)
		require.Equal(t, "mosey.spans_dropped", string(root.Attributes[0].Key))
		require.EqualValues(t, 14, root.Attributes[0].Value.AsInt64())
	})

	t.Run("ThatIsNotSampledIsNotTraced", func(t *testing.T) {
		t.Parallel()
		tracer, _ := setup(sdktrace.NeverSample())
		ctx, a := tracer.Begin(t.Context(), "page")
		require.Nil(t, a)
		require.Empty(t, ID(ctx))
	})
}

//nolint:paralleltest // what others allocate would count
func TestOffCostsNothing(t *testing.T) {
	var tracer *Tracer
	allocated := testing.AllocsPerRun(100, func() {
		ctx, a := tracer.Begin(context.Background(), "page")
		a.Phase("read")
		BeginStatement(ctx, "One").End(nil)
		a.Leave("")
		a.Requested()
		a.End("")
		_ = ID(ctx)
	})
	require.Zero(t, allocated)
}
