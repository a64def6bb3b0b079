package telemetry

import (
	"context"
	"errors"
	"fmt"

	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// sdkBuckets are those of the Temporal SDK's durations, in seconds. OpenTelemetry's own begin
// at 5, which is where most of these end.
var sdkBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

// SDK takes the metrics of the Temporal SDK, under their own names (temporal_…).
func (m *Metrics) SDK() (client.MetricsHandler, error) {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(m.registry), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("take the metrics of Temporal's SDK: %w", err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithView(metric.NewView(
		metric.Instrument{Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: sdkBuckets}},
	)))
	m.closers = append(m.closers, provider.Shutdown)
	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{Meter: provider.Meter("temporal-sdk-go")}), nil
}

// Close ends what the metrics of others need.
func (m *Metrics) Close(ctx context.Context) error {
	var errs []error
	for _, end := range m.closers {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
