package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/multitracer"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/cmd/internal/telemetry"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// Telemetry is what a process counts for those who watch it, and the traces of its attempts. A
// nil one is off, and may be used all the same.
type Telemetry struct {
	// Metrics is nil where nobody looks at them, and so is traces.
	*telemetry.Metrics

	traces *telemetry.Traces

	address string
	debug   bool
	sdk     client.MetricsHandler
	server  *telemetry.Server
	stop    func() // sampling
}

// NewTelemetry counts, if the flags say that somebody watches, and makes traces, if the
// environment says so; else it returns nil.
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
		return nil, nil //nolint:nilnil // off, which is no mistake
	}
	t = &Telemetry{traces: traces, stop: func() {}}
	if address != "" {
		t.Metrics, t.address, t.debug = telemetry.NewMetrics(), address, f.Debug
		t.sdk, err = t.SDK()
	}
	return t, err
}

func (t *Telemetry) counting() bool { return t != nil && t.Metrics != nil }

func (t *Telemetry) tracing() bool { return t != nil && t.traces != nil }

func (t *Telemetry) queries() pgx.QueryTracer {
	switch {
	case t.counting() && t.tracing():
		return multitracer.New(t.Statements(), telemetry.TracedStatements{})
	case t.counting():
		return t.Statements()
	case t.tracing():
		return telemetry.TracedStatements{}
	}
	return nil
}

// Measured is telemetry.Metrics.Measured; nil is that nobody watches.
func (t *Telemetry) Measured() func(measure string) (tags []string, take func(tags []string, value float64)) {
	if !t.counting() {
		return nil
	}
	return t.Metrics.Measured()
}

// outages are told to others, and counted.
func (t *Telemetry) outages(told func(crawl.Outage)) func(crawl.Outage) {
	if !t.counting() {
		return told
	}
	return func(o crawl.Outage) {
		t.Outage(o)
		told(o)
	}
}

// Serve has the counts served, and the database looked at for more. dirs are directories that
// must be writable.
func (t *Telemetry) Serve(ctx context.Context, store *db.Store, c *Client, logger *slog.Logger, dirs ...string) (err error) {
	if !t.counting() {
		return nil
	}
	t.Pool(store.Pool())
	store.WatchGroups(t.Group)
	t.server, err = telemetry.Serve(ctx, t.address, t.debug, t.Metrics, checks(store, c, append(dirs, os.TempDir())), logger)
	if err != nil {
		return err
	}
	t.stop = background(func(ctx context.Context) { t.Sample(ctx, store, logger) })
	return nil
}

// Address is where the counts are served; empty is nowhere.
func (t *Telemetry) Address() string {
	if t == nil || t.server == nil {
		return ""
	}
	return t.server.Address
}

// Close stops all of it.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	t.stop()
	if t.tracing() {
		t.traces.Close()
	}
	if !t.counting() {
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

func checks(store *db.Store, c *Client, dirs []string) []telemetry.Check {
	return []telemetry.Check{
		{Name: "postgres", Do: store.Pool().Ping},
		{Name: "schema", Do: func(ctx context.Context) error { return CheckSchema(ctx, store) }},
		{Name: "temporal", Do: c.Answers},
		{Name: "disk", Do: func(context.Context) error {
			var errs []error
			for _, dir := range dirs {
				errs = append(errs, writable(dir))
			}
			return errors.Join(errs...)
		}},
	}
}

// writable writes a file of a page's size to a directory, and deletes it.
func writable(dir string) (err error) {
	file, err := os.CreateTemp(dir, ".mosey-ready-*")
	if err != nil {
		return fmt.Errorf("no file can be made: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	_, err = file.Write(make([]byte, 4<<10))
	return err
}
