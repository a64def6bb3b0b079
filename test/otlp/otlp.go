// Package otlp receives the traces that OpenTelemetry exports by OTLP, and stores them.
package otlp

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Span is a received span.
type Span struct {
	*trace.Span

	Attrs map[string]any
	// Resource describes the process.
	Resource map[string]any
}

// Took returns the duration of the span.
func (s Span) Took() time.Duration { return time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano) }

// Failed reports whether the span has an error status.
func (s Span) Failed() bool { return s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR }

// Receiver is a server that receives traces.
type Receiver struct {
	// URL is the value for OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string

	// answer, if set, answers in place of the receiver.
	answer func(http.ResponseWriter)

	mu       sync.Mutex
	spans    []Span
	requests int
}

// Start starts a receiver that ends with the test.
func Start(t testing.TB) *Receiver {
	t.Helper()
	return StartThat(t, nil)
}

// StartThat starts a receiver that stores nothing, and replies with answer.
func StartThat(t testing.TB, answer func(http.ResponseWriter)) *Receiver {
	t.Helper()
	r := &Receiver{answer: answer}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// StartGRPC starts a receiver that speaks gRPC.
func StartGRPC(t testing.TB) *Receiver {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r, server, ended := &Receiver{URL: "http://" + listener.Addr().String()}, grpc.NewServer(), make(chan error, 1)
	collector.RegisterTraceServiceServer(server, service{receiver: r})
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-ended)
	})
	return r
}

// service is a receiver for gRPC.
type service struct {
	collector.UnimplementedTraceServiceServer

	receiver *Receiver
}

// Export implements collector.TraceServiceServer.
func (s service) Export(
	_ context.Context, got *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	s.receiver.keep(got)
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP receives a request by the specification of OTLP.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests++
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w)
		return
	}
	if err := r.take(req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *Receiver) take(req *http.Request) error {
	if req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
		return http.ErrNotSupported
	}
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var got collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &got); err != nil {
		return err
	}
	r.keep(&got)
	return nil
}

func (r *Receiver) keep(got *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range got.GetResourceSpans() {
		of := attributes(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, Span{s, attributes(s.GetAttributes()), of})
			}
		}
	}
}

func attributes(list []*common.KeyValue) map[string]any {
	all := make(map[string]any, len(list))
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			all[kv.GetKey()] = v.IntValue
		default:
			all[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return all
}

// Requests counts the requests so far.
func (r *Receiver) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// Trace holds the spans of one trace: its root, and the others by parent.
type Trace struct {
	Root     Span
	Children map[string][]Span
}

// Of returns the children of a span, in the order of arrival.
func (tr Trace) Of(s Span) []Span { return tr.Children[string(s.SpanId)] }

// Names returns the names of the children of a span.
func (tr Trace) Names(s Span) (names []string) {
	for _, child := range tr.Of(s) {
		names = append(names, child.Name)
	}
	return names
}

// Child returns the first child of a span with a name.
func (tr Trace) Child(t testing.TB, s Span, name string) Span {
	t.Helper()
	for _, child := range tr.Of(s) {
		if child.Name == name {
			return child
		}
	}
	require.FailNow(t, "no such span", "%s has %v, not %s", s.Name, tr.Names(s), name)
	return Span{}
}

// Traces returns the received traces, in the order of their roots' arrival. It checks that each
// trace has one root, whose time covers the others, and that each span has the parent it names.
func (r *Receiver) Traces(t testing.TB) (all []Trace) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	place, known := map[string]int{}, map[string]bool{}
	for _, s := range r.spans {
		known[string(s.SpanId)] = true
		if len(s.ParentSpanId) == 0 {
			require.NotContains(t, place, string(s.TraceId), "a trace has one root")
			place[string(s.TraceId)] = len(all)
			all = append(all, Trace{Root: s, Children: map[string][]Span{}})
		}
	}
	for _, s := range r.spans {
		if len(s.ParentSpanId) == 0 {
			continue
		}
		require.Contains(t, place, string(s.TraceId), "%s has no root", s.Name)
		require.True(t, known[string(s.ParentSpanId)], "%s has no parent", s.Name)
		tr := all[place[string(s.TraceId)]]
		require.GreaterOrEqual(t, s.StartTimeUnixNano, tr.Root.StartTimeUnixNano, s.Name)
		require.LessOrEqual(t, s.EndTimeUnixNano, tr.Root.EndTimeUnixNano, s.Name)
		require.LessOrEqual(t, s.StartTimeUnixNano, s.EndTimeUnixNano, s.Name)
		tr.Children[string(s.ParentSpanId)] = append(tr.Children[string(s.ParentSpanId)], s)
	}
	return all
}
