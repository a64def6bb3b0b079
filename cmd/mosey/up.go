package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// upCmd runs the embedded stack and a worker.
type upCmd struct {
	wiring.FetchFlags

	NoWorker bool `help:"Run the stack alone; workers run elsewhere."`
}

// Run runs until the context ends.
func (u *upCmd) Run(ctx context.Context, e *env) (err error) {
	logger := newLogger(e.stderr, slog.LevelWarn)
	c, err := openCrawler(ctx, e, logger, func(s string) { fmt.Fprintln(e.stderr, s) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if !u.NoWorker {
		if err := c.startWorker(ctx, e, u.FetchFlags); err != nil {
			return err
		}
		if warning := u.NoContact(); warning != "" {
			fmt.Fprintln(e.stderr, "Warning: "+warning+".")
		}
	}
	fmt.Fprintf(e.stdout, "Temporal   %s\n", c.stack.TemporalAddress)
	if c.stack.UIURL != "" {
		fmt.Fprintf(e.stdout, "Web UI     %s\n", c.stack.UIURL)
	}
	if e.environ.Get("DATABASE_URL") == "" {
		// one that was given holds a password that is not ours to print
		fmt.Fprintf(e.stdout, "Database   %s\n", c.stack.DatabaseURL)
	}
	fmt.Fprintf(e.stdout, "Ready. Start a crawl with:\n"+
		"  temporal workflow start --address %s --task-queue mosey --type SeedWorkflow \\\n"+
		"    --workflow-id seed/small-web/1 --input '{\"run\":\"small-web\",\"urls\":[\"https://example.org/\"]}'\n"+
		"Ctrl-C stops.\n", c.stack.TemporalAddress)
	<-ctx.Done()
	fmt.Fprintln(e.stderr, "Stopping: requests in flight are finished first.")
	return nil
}

// migrateCmd brings the database to the newest schema.
type migrateCmd struct{}

// Run migrates DATABASE_URL's database, or the data directory's.
func (*migrateCmd) Run(ctx context.Context, e *env) error {
	schema, applied, err := migrate(ctx, e)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "schema version %d, %s applied\n", schema.Current, count(int64(applied), "migration"))
	return nil
}

// migrate brings the database to the newest schema. That of the data directory is made
// where there is none.
func migrate(ctx context.Context, e *env) (schema db.Schema, applied int, err error) {
	url := e.environ.Get("DATABASE_URL")
	if url == "" {
		path, err := datadir.Resolve(e.dataDir)
		if err != nil {
			return schema, 0, err
		}
		dir, err := datadir.Lock(ctx, path)
		if err != nil {
			return schema, 0, err
		}
		defer func() { err = errors.Join(err, dir.Close()) }()
		server, err := postgres.Start(ctx, postgres.Config{Dir: dir.Path()})
		if err != nil {
			return schema, 0, err
		}
		defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
		url = server.URL()
	}
	return wiring.Migrate(ctx, url)
}
