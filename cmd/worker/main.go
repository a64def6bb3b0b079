// Command worker is the production worker: it serves workflows and activities of any number of
// runs, with an existing Temporal (TEMPORAL_*) and Postgres (DATABASE_URL). Run any number of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	_ "time/tzdata" // for machines without time zone data

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/telemetry"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/internal/language/models"
)

type flags struct {
	wiring.Flags
	wiring.FetchFlags
	wiring.ServeFlags
	telemetry.WatchFlags

	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"Postgres to use. Run mosey migrate first." placeholder:"URL"`
	Health      bool   `help:"Check the health of the worker at --metrics, print its response, and exit with 1 if it is not ready: the health check of a container." env:"-"`
	CPUProfile  string `name:"cpu-profile" help:"Write a CPU profile to this file until stopped." placeholder:"FILE"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second signal ends the process at once, which loses nothing
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run works until the context ends and returns the exit code.
func run(ctx context.Context, args []string, environ wiring.Env, stdout, stderr io.Writer) int {
	stdout, stderr = wiring.Plain(stdout), wiring.Plain(stderr)
	var f flags
	exited := -1
	parser, err := wiring.NewParser(&f, environ, nil,
		kong.Name("worker"),
		kong.Description("Mosey's production worker. The TEMPORAL_* variables name the Temporal."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
	)
	if err != nil {
		return wiring.Fail(stderr, "worker", err)
	}
	_, err = parser.Parse(args)
	if exited >= 0 {
		return exited // --help or --version
	}
	if err == nil && f.Health {
		return f.checkHealth(ctx, stdout, stderr)
	}
	if err == nil && f.DatabaseURL == "" {
		err = errors.New("no database: give DATABASE_URL or --database-url, such as postgres://mosey@localhost:5432/mosey")
	}
	if err != nil {
		code := wiring.Fail(stderr, "worker", wiring.Usagef("%w", err))
		fmt.Fprintln(stderr, "Try: worker --help")
		return code
	}
	if err := f.serve(ctx, environ, stderr); err != nil {
		return wiring.Fail(stderr, "worker", err)
	}
	return wiring.ExitOK
}

func (f flags) checkHealth(ctx context.Context, stdout, stderr io.Writer) int {
	if f.Metrics == "" {
		return wiring.Fail(stderr, "worker", wiring.Usagef("--health needs --metrics, the address of the worker"))
	}
	if err := f.PrintReadiness(ctx, stdout); err != nil {
		return wiring.Fail(stderr, "worker", err)
	}
	return wiring.ExitOK
}

func (f flags) serve(ctx context.Context, environ wiring.Env, stderr io.Writer) (err error) {
	// the steps after Stop may wait for an unavailable service
	defer wiring.EndAfter(ctx, f.StopTimeout(), func() { os.Exit(wiring.ExitOK) })() //nolint:revive // nothing else ends it then
	if f.CPUProfile != "" {
		stop, err := profile(f.CPUProfile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	logger := f.Logger(stderr, slog.LevelInfo, true)
	t, err := wiring.NewTelemetry(f.WatchFlags, environ, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	store, err := wiring.OpenStore(ctx, f.DatabaseURL, t)
	if err != nil {
		return err
	}
	defer store.Close()
	defer wiring.LimitMemory(environ, wiring.MemoryWithoutTemporal)()
	c, err := wiring.Dial(ctx, environ, "", logger, t)
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := wiring.NewWorker(ctx, c, store, f.FetchFlags, f.ServeFlags, models.Models{}, logger, t)
	if err != nil {
		return err
	}
	if err := t.Serve(ctx, store, c, logger); err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	logger.InfoContext(ctx, "worker started", "role", f.Role, "user_agent", f.Agent(), "metrics", t.Address())
	if warning := f.ContactWarning(); warning != "" {
		logger.WarnContext(ctx, warning) //nolint:sloglint // it says all
	}
	wiring.WarnVersion(ctx, c, f.ServeFlags, logger)
	select {
	case <-ctx.Done():
		logger.InfoContext(ctx, "worker stopping after the requests in flight", "within", f.Drain.String())
	case err = <-w.Outdated():
	}
	w.Stop()
	return err
}

func profile(name string) (stop func() error, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, wiring.Usagef("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("--cpu-profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
