package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// serverMeasure is one of the few measures, of some two hundred of the embedded Temporal, that show
// slowness or failure and have only bounded labels.
type serverMeasure struct {
	// serverName is the server's name for it, and name ours.
	serverName, name, help string
	// buckets belong to a histogram of seconds; nil means a counter.
	buckets []float64
	tags    []string
	// labels are ours; labelValues computes their values from the tags, or drops the sample.
	labels      []string
	labelValues func(tags []string) (values []string, wanted bool)
	// zeros are initial values, so that there is a 0 to rise from.
	zeros [][]string
}

var serverMeasures = []serverMeasure{
	{
		serverName: "service_requests", name: "mosey_temporal_requests_total",
		help: "Requests to the embedded Temporal, by its service: frontend, history, matching or worker.",
		tags: []string{"service_name"}, labels: []string{"service"}, labelValues: allTags,
	},
	{
		serverName: "service_errors", name: "mosey_temporal_errors_total",
		help: "Requests of mosey_temporal_requests_total that failed unexpectedly.",
		tags: []string{"service_name"}, labels: []string{"service"}, labelValues: allTags,
		zeros: [][]string{{"frontend"}, {"history"}, {"matching"}, {"worker"}},
	},
	{
		serverName: "service_latency", name: "mosey_temporal_request_seconds",
		help:    "Duration of requests to the embedded Temporal, without long polls.",
		buckets: dbBuckets, tags: []string{"service_name", "operation"}, labels: []string{"service"}, labelValues: skipLongRequests,
	},
	{
		serverName: "persistence_latency", name: "mosey_temporal_storage_seconds",
		help: "Wait of the embedded Temporal for its database.", buckets: dbBuckets, labelValues: allTags,
	},
	{
		serverName: "persistence_errors", name: "mosey_temporal_storage_errors_total",
		help: "Unexpected failures of the database of the embedded Temporal.", labelValues: allTags, zeros: [][]string{{}},
	},
	{
		serverName: "task_latency_queue", name: "mosey_temporal_task_seconds",
		help: "Time from when a task of the embedded Temporal was due until it was done, by queue: " +
			"timer, transfer (to a worker or a workflow), visibility (lists) or other.",
		buckets: waitBuckets, tags: []string{"task_type"}, labels: []string{"queue"}, labelValues: queueLabel,
	},
}

func allTags(tags []string) (values []string, ok bool) { return tags, true }

// longRequests lists requests that get a response only after an event.
var longRequests = []string{
	"UpdateWorkflowExecution", "ExecuteMultiOperation", "QueryWorkflow", "GetTaskQueueUserData", "DispatchNexusTask",
}

func skipLongRequests(tags []string) (values []string, ok bool) {
	operation := tags[1]
	return tags[:1], !strings.HasPrefix(operation, "Poll") && !slices.Contains(longRequests, operation)
}

func queueLabel(tags []string) (values []string, ok bool) {
	for _, queue := range []string{"Timer", "Transfer", "Visibility"} {
		if strings.HasPrefix(tags[0], queue) {
			return []string{strings.ToLower(queue)}, true
		}
	}
	return []string{"other"}, true
}

type serverSampler struct {
	serverMeasure

	observe func(value float64, values []string)
}

func (s serverSampler) record(tags []string, value float64) {
	if values, isCounted := s.labelValues(tags); isCounted {
		s.observe(value, values)
	}
}

// declareServer declares the embedded Temporal's metrics. Without one there are no series.
func (m *Metrics) declareServer() {
	m.server = make(map[string]serverSampler)
	for _, s := range serverMeasures {
		var observe func(value float64, values []string)
		if s.buckets == nil {
			c := m.counters(s.name, s.help, s.labels...)
			observe = func(value float64, values []string) { c.WithLabelValues(values...).Add(value) }
		} else {
			h := m.histograms(s.name, s.help, s.buckets, s.labels...)
			observe = func(value float64, values []string) { h.WithLabelValues(values...).Observe(value) }
		}
		m.server[s.serverName] = serverSampler{s, observe}
	}
}

// MeasureServer starts counting the embedded Temporal's measures. It returns a measure's wanted
// tags and its sample function, nil if the measure is not served.
func (m *Metrics) MeasureServer() func(measure string) (tags []string, take func(tags []string, value float64)) {
	for _, s := range m.server {
		for _, values := range s.zeros {
			s.observe(0, values)
		}
	}
	return func(measure string) ([]string, func([]string, float64)) {
		s, isServed := m.server[measure]
		if !isServed {
			return nil, nil
		}
		return s.tags, s.record
	}
}

// sdkBuckets are buckets in seconds. OpenTelemetry's own begin at 5, where most SDK durations end.
var sdkBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

// SDK returns a handler for the Temporal SDK's metrics, under their own names (temporal_…).
func (m *Metrics) SDK() (client.MetricsHandler, error) {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(m.registry), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("read the metrics of Temporal's SDK: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithView(metric.NewView(
		metric.Instrument{Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: sdkBuckets}},
	)))
	m.closers = append(m.closers, provider.Shutdown)
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: provider.Meter("temporal-sdk-go")}), nil
}

// Close shuts the metric exporters down.
func (m *Metrics) Close(ctx context.Context) error {
	var errs []error
	for _, end := range m.closers {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
