package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/cmd/internal/telemetry"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// Telemetry holds the metrics of a process and the traces of its attempts. A nil Telemetry is off.
type Telemetry struct {
	// Metrics is nil if metrics are off; traces is nil if traces are off.
	*telemetry.Metrics

	traces *telemetry.Traces

	address string
	debug   bool
	sdk     client.MetricsHandler
	server  *telemetry.Server
	stop    func() // stops sampling
}

// NewTelemetry enables metrics by flags and traces by environ. It returns nil if both are off.
func NewTelemetry(f telemetry.WatchFlags, environ Env, logger *slog.Logger) (t *Telemetry, err error) {
	address, err := f.Address()
	if err != nil {
		return nil, Usagef("%w", err)
	}
	traces, err := telemetry.NewTraces(environ.LookupEnv, telemetry.Process{Version: Version(), Instance: identity()}, logger)
	if err != nil {
		return nil, Usagef("%w", err)
	}
	if address == "" && traces == nil {
		return nil, nil //nolint:nilnil // off
	}
	t = &Telemetry{traces: traces, stop: func() {}}
	if address != "" {
		t.Metrics, t.address, t.debug = telemetry.NewMetrics(), address, f.Debug
		t.sdk, err = t.SDK()
	}
	return t, err
}

func (t *Telemetry) hasMetrics() bool { return t != nil && t.Metrics != nil }

func (t *Telemetry) hasTraces() bool { return t != nil && t.traces != nil }

func (t *Telemetry) queryTracer() pgx.QueryTracer {
	if !t.hasMetrics() && !t.hasTraces() {
		return nil
	}
	return telemetry.Statements{Metrics: t.Metrics}
}

// MeasureServer is telemetry.Metrics.MeasureServer; nil means that metrics are off.
func (t *Telemetry) MeasureServer() func(measure string) (tags []string, take func(tags []string, value float64)) {
	if !t.hasMetrics() {
		return nil
	}
	return t.Metrics.MeasureServer()
}

// countOutages passes outages on and counts them.
func (t *Telemetry) countOutages(notify func(crawl.Outage)) func(crawl.Outage) {
	if !t.hasMetrics() {
		return notify
	}
	return func(o crawl.Outage) {
		t.Outage(o)
		notify(o)
	}
}

// Serve serves the metrics and samples the database for more. dirs must be writable.
func (t *Telemetry) Serve(ctx context.Context, store *db.Store, c *Client, logger *slog.Logger, dirs ...string) (err error) {
	if !t.hasMetrics() {
		return nil
	}
	t.Pool(store.Pool())
	store.WatchGroups(t.Group)
	t.server, err = telemetry.Serve(ctx, t.address, t.debug, t.Metrics, readinessChecks(store, c, append(dirs, os.TempDir())), logger)
	if err != nil {
		return err
	}
	t.stop = background(func(ctx context.Context) { t.Sample(ctx, store, logger) })
	return nil
}

// Address returns the address that serves metrics; empty means that they are not served.
func (t *Telemetry) Address() string {
	if t == nil || t.server == nil {
		return ""
	}
	return t.server.Address
}

// Close stops sampling, traces and the server.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	t.stop()
	if t.hasTraces() {
		t.traces.Close()
	}
	if !t.hasMetrics() {
		return nil
	}
	var err error
	if t.server != nil {
		err = t.server.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(err, t.Metrics.Close(ctx))
}

func readinessChecks(store *db.Store, c *Client, dirs []string) []telemetry.Check {
	return []telemetry.Check{
		{Name: "postgres", Do: store.Pool().Ping},
		{Name: "schema", Do: func(ctx context.Context) error { return CheckSchema(ctx, store) }},
		{Name: "temporal", Do: c.CheckReachable},
		{Name: "disk", Do: func(context.Context) error {
			var errs []error
			for _, dir := range dirs {
				errs = append(errs, CheckWritable(dir))
			}
			return errors.Join(errs...)
		}},
	}
}

// CheckWritable returns an error if no file can be written in a directory.
func CheckWritable(dir string) (err error) {
	file, err := os.CreateTemp(dir, ".mosey-ready-*")
	if err != nil {
		return fmt.Errorf("create a file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	_, err = file.Write(make([]byte, 4<<10))
	return err
}
