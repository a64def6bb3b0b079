// Command worker is the production worker: it serves workflows and activities of
// any number of runs, against a Temporal (TEMPORAL_*) and a Postgres
// (DATABASE_URL) that are there already. Run as many as you like.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	_ "time/tzdata" // windows name time zones, which a machine may not know

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
)

type flags struct {
	wiring.FetchFlags

	DatabaseURL string `name:"database-url" env:"DATABASE_URL" required:"" help:"Postgres to use. Run mosey migrate first." placeholder:"URL"`
	CPUProfile  string `name:"cpu-profile" help:"Write a CPU profile to this file until stopped." placeholder:"FILE"`
}

func main() {
	var f flags
	if err := wiring.IgnoreEmptyEnv(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	parser, err := kong.New(&f, append(wiring.KongOptions(), kong.Name("worker"),
		kong.Description("Mosey's production worker. Temporal is found through the TEMPORAL_* environment."))...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	if _, err = parser.Parse(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1) //nolint:gocritic // the process ends
	}
}

func run(ctx context.Context, f flags) (err error) {
	if f.CPUProfile != "" {
		stop, err := profile(f.CPUProfile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	store, err := db.Open(ctx, f.DatabaseURL)
	if err != nil {
		return err
	}
	defer store.Close()
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return err
	}
	if err := schema.Check(); err != nil {
		return err
	}
	c, err := wiring.Dial(ctx, "", logger)
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := wiring.NewWorker(ctx, c, store, f.FetchFlags, logger)
	if err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	logger.InfoContext(ctx, "worker started", "user_agent", f.Agent())
	<-ctx.Done()
	logger.InfoContext(ctx, "worker stopping: requests in flight are finished first")
	w.Stop()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return ctx.Err()
}

// profile writes a CPU profile until stop is called.
func profile(name string) (stop func() error, err error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("--cpu-profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
