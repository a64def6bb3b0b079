package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"golang.org/x/term"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/internal/stack"
	"github.com/mosey-web/mosey/internal/stack/datadir"
)

// crawler is the stack, the database and the Temporal client of one command.
type crawler struct {
	stack  *stack.Stack
	store  *db.Store
	client *wiring.Client
	worker *wiring.Worker
	// unlimit ends the watch over this process's memory
	unlimit func()
	logger  *slog.Logger
}

// attachCrawler connects to the Mosey that runs, and starts none.
func attachCrawler(ctx context.Context, e *env, logger *slog.Logger, progress func(string)) (*crawler, error) {
	database, temporal := e.environ.Get("DATABASE_URL"), e.environ.Get("TEMPORAL_ADDRESS")
	if database == "" && temporal == "" {
		dir, err := datadir.Resolve(e.dataDir)
		if err != nil {
			return nil, err
		}
		info, running, err := datadir.Running(dir)
		if err != nil {
			return nil, err
		}
		if !running || info.DatabaseURL == "" || info.TemporalAddress == "" {
			return nil, fmt.Errorf("--detach: no Mosey runs in %s: start one with mosey up, and leave it running", dir)
		}
		database, temporal = info.DatabaseURL, info.TemporalAddress
	}
	if database == "" || temporal == "" {
		return nil, wiring.Usagef("--detach: want both DATABASE_URL and TEMPORAL_ADDRESS, or neither")
	}
	return connectCrawler(ctx, e, stack.Options{DatabaseURL: database, TemporalAddress: temporal, Logger: logger, Progress: progress})
}

// openCrawler starts what the environment does not name, and connects to it all.
func openCrawler(ctx context.Context, e *env, logger *slog.Logger, progress func(string)) (*crawler, error) {
	var err error
	opts := stack.Options{
		DatabaseURL:     e.environ.Get("DATABASE_URL"),
		TemporalAddress: e.environ.Get("TEMPORAL_ADDRESS"),
		Logger:          logger,
		Progress:        progress,
		SearchAttributes: map[string]enumspb.IndexedValueType{
			crawl.AttrDomain: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			crawl.AttrRun:    enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
			crawl.AttrStatus: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		},
	}
	if opts.DatabaseURL == "" || opts.TemporalAddress == "" {
		if opts.DataDir, err = datadir.Resolve(e.dataDir); err != nil {
			return nil, err
		}
	}
	return connectCrawler(ctx, e, opts)
}

// connectCrawler starts what the options leave to us, and connects to it all.
func connectCrawler(ctx context.Context, e *env, opts stack.Options) (_ *crawler, err error) {
	logger := opts.Logger
	c := &crawler{logger: logger, unlimit: wiring.LimitMemory(e.environ, wiring.MemoryOfAll)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if c.stack, err = stack.Up(ctx, opts); err != nil {
		if inUse, ok := errors.AsType[*datadir.InUseError](err); ok {
			return nil, describeInUse(inUse)
		}
		return nil, err
	}
	_, applied, err := wiring.Migrate(ctx, c.stack.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if applied > 0 {
		c.stack.Settle()
	}
	if c.store, err = wiring.OpenStore(ctx, c.stack.DatabaseURL); err != nil {
		return nil, err
	}
	address := ""
	if e.environ.Get("TEMPORAL_ADDRESS") == "" {
		address = c.stack.TemporalAddress
	}
	c.client, err = wiring.Dial(ctx, e.environ, address, logger, c.stack.DialOptions()...)
	return c, err
}

// describeInUse tells how to work with the Mosey that has the directory.
func describeInUse(inUse *datadir.InUseError) error {
	info, running, err := datadir.Running(inUse.Dir)
	if err != nil || !running || info.TemporalAddress == "" || info.DatabaseURL == "" {
		return inUse
	}
	return fmt.Errorf("%w\nTo have it crawl, and to crawl beside it:\n  mosey crawl --detach …\n"+
		"  TEMPORAL_ADDRESS=%s DATABASE_URL='%s' mosey crawl …", inUse, info.TemporalAddress, info.DatabaseURL)
}

// checkNamespace refuses a Temporal whose namespace belongs to another database.
func (c *crawler) checkNamespace(ctx context.Context, e *env) error {
	return describeForeign(e, wiring.CheckNamespace(ctx, c.client, c.store))
}

// describeForeign tells what to do where the namespace of another database is that of the
// data directory's own Temporal, which does not run once this command has failed.
func describeForeign(e *env, err error) error {
	foreign, is := errors.AsType[*wiring.ForeignNamespaceError](err)
	if !is || e.environ.Get("TEMPORAL_ADDRESS") != "" {
		return err
	}
	dir, resolveErr := datadir.Resolve(e.dataDir)
	if resolveErr != nil {
		return err
	}
	return fmt.Errorf("%s: choose another data directory with --data-dir, or, if the other database is gone for good, "+
		"delete %s, which holds nothing that a database lacks", foreign.Whose(), filepath.Join(dir, "temporal"))
}

// startWorker starts a worker in this process.
func (c *crawler) startWorker(ctx context.Context, e *env, f wiring.FetchFlags) (err error) {
	if f.ImageStore, err = imageStoreOf(e, f.ImageStore); err != nil {
		return err
	}
	w, err := wiring.NewWorker(ctx, c.client, c.store, f, models.Models{}, c.logger)
	if err != nil {
		return describeForeign(e, err)
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	c.worker = w
	return nil
}

// closeTimeout bounds how long the stack may take to stop. It is killed then, which
// loses nothing.
const closeTimeout = 30 * time.Second

// close stops everything: the worker first, which finishes requests in flight.
func (c *crawler) close() error {
	defer c.unlimit()
	if c.worker != nil {
		c.worker.Stop()
	}
	if c.client != nil {
		c.client.Close()
	}
	if c.store != nil {
		c.store.Close()
	}
	if c.stack == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.stack.Close(ctx)
}

// errorsOnly keeps a command's short use of Temporal silent.
const errorsOnly = slog.LevelError

// newLogger logs warnings for people; the embedded servers have files of their
// own.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return wiring.NewLogger(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && f.Fd() <= math.MaxInt32 && term.IsTerminal(int(f.Fd()))
}
