// Package crawler runs Mosey in one process: the stack, the database and Temporal, for one command.
package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/telemetry"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/language/models"
	"github.com/mosey-web/mosey/internal/stack"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/workflows"
)

// Crawler holds the stack, the database and the Temporal client of one command.
type Crawler struct {
	Stack  *stack.Stack
	Store  *db.Store
	Client *wiring.Client
	Worker *wiring.Worker
	// Web is nil if it is off.
	Web *command.Web
	// Telemetry is nil if it is off.
	Telemetry *wiring.Telemetry
	// stopMemoryLimit ends LimitMemory
	stopMemoryLimit func()
	Logger          *slog.Logger
}

// Attach connects to the running Mosey, and starts nothing.
func Attach(
	ctx context.Context, e *command.Env, listen ListenFlags, logger *slog.Logger, progress func(string),
) (*Crawler, error) {
	if listen.PortFlags != (PortFlags{}) {
		return nil, wiring.Usagef("--temporal-port and --ui-port do not apply with --detach, because another Mosey runs Temporal")
	}
	if listen.Metrics != "" {
		return nil, wiring.Usagef("--metrics %s does not apply with --detach, because another Mosey crawls: give it there", listen.Metrics)
	}
	listen.Web = "off" // the running Mosey serves one
	database, temporal := e.Environ.Get("DATABASE_URL"), wiring.TemporalAddress(e.Environ)
	var info datadir.Info
	if database == "" && temporal == "" {
		dir, err := datadir.Resolve(e.DataDir)
		if err != nil {
			return nil, err
		}
		var running bool
		if info, running, err = datadir.AwaitReady(ctx, dir, progress); err != nil {
			return nil, err
		}
		if !running || info.DatabaseURL == "" || info.TemporalAddress == "" {
			return nil, fmt.Errorf("--detach: no Mosey uses %s: start one with mosey up, and keep it running", dir)
		}
		database, temporal = info.DatabaseURL, info.TemporalAddress
	}
	if database == "" || temporal == "" {
		return nil, wiring.Usagef("--detach needs both DATABASE_URL and TEMPORAL_ADDRESS, or neither")
	}
	c, err := connect(ctx, e, listen, stack.Options{
		DatabaseURL: database, TemporalAddress: temporal, Logger: logger, Progress: progress,
	})
	if err != nil {
		return nil, err
	}
	c.Stack.UIURL = info.UIURL
	if info.WebURL != "" {
		c.Web = &command.Web{URL: info.WebURL}
	}
	return c, nil
}

// ListenFlags configure the listeners of a crawling process.
type ListenFlags struct {
	telemetry.WatchFlags
	command.WebFlags
	PortFlags

	// ImageLocation is the place of stored images; empty means the default.
	ImageLocation string `kong:"-"`
}

// PortFlags choose the ports of our own Temporal.
type PortFlags struct {
	TemporalPort uint16 `help:"Port of Temporal. Default: 7233, or a free port if it is taken." expert:"" placeholder:"PORT"`
	UIPort       uint16 `name:"ui-port" help:"Port of Temporal's web UI. Default: 8233, or a free port if it is taken." expert:"" placeholder:"PORT"`
}

// Open starts the servers that the environment does not name, and connects to all.
func Open(
	ctx context.Context, e *command.Env, listen ListenFlags, logger *slog.Logger, progress func(string),
) (_ *Crawler, err error) {
	opts := stack.Options{
		DatabaseURL:      e.Environ.Get("DATABASE_URL"),
		TemporalAddress:  wiring.TemporalAddress(e.Environ),
		Logger:           logger,
		Progress:         progress,
		TemporalPort:     int(listen.TemporalPort),
		UIPort:           int(listen.UIPort),
		SearchAttributes: workflows.SearchAttributes(),
	}
	if opts.TemporalAddress != "" && listen.PortFlags != (PortFlags{}) {
		return nil, wiring.Usagef("--temporal-port and --ui-port apply to the embedded Temporal, and " +
			"TEMPORAL_ADDRESS names another: leave them out")
	}
	if opts.DatabaseURL == "" || opts.TemporalAddress == "" {
		if opts.DataDir, err = datadir.Resolve(e.DataDir); err != nil {
			return nil, err
		}
	}
	return connect(ctx, e, listen, opts)
}

func connect(ctx context.Context, e *command.Env, listen ListenFlags, opts stack.Options) (_ *Crawler, err error) {
	logger := opts.Logger
	c := &Crawler{Logger: logger, stopMemoryLimit: wiring.LimitMemory(e.Environ, wiring.MemoryWithTemporal)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.Telemetry, err = wiring.NewTelemetry(listen.WatchFlags, e.Environ, logger); err != nil {
		return nil, err
	}
	opts.MetricReader = c.Telemetry.MeasureServer()
	applied := 0
	opts.Prepare = func(ctx context.Context, url string) (err error) {
		_, applied, err = wiring.Migrate(ctx, url, opts.Progress)
		return err
	}
	if c.Stack, err = stack.Up(ctx, opts); err != nil {
		if inUse, ok := errors.AsType[*datadir.InUseError](err); ok {
			return nil, describeInUse(inUse)
		}
		return nil, err
	}
	if applied > 0 {
		c.Stack.Settle()
	}
	if c.Store, err = wiring.OpenStore(ctx, c.Stack.DatabaseURL, c.Telemetry); err != nil {
		return nil, err
	}
	address := ""
	if wiring.TemporalAddress(e.Environ) == "" {
		address = c.Stack.TemporalAddress
	}
	c.Client, err = wiring.Dial(ctx, e.Environ, address, logger, c.Telemetry, c.Stack.DialOptions()...)
	if err != nil {
		return nil, err
	}
	var dirs []string
	if opts.DataDir != "" {
		dirs = append(dirs, opts.DataDir)
	}
	if err = c.Telemetry.Serve(ctx, c.Store, c.Client, logger, dirs...); err != nil {
		return nil, err
	}
	images, err := command.ImageLocation(e, listen.ImageLocation)
	if err != nil {
		return nil, err
	}
	c.Web, err = listen.Serve(ctx, command.WebOptions{
		DatabaseURL: c.Stack.DatabaseURL, TemporalUI: command.NamespaceURL(e, c.Stack.UIURL), Logger: logger,
		Temporal: c.Client.CheckReachable, Images: images,
		Changes:   command.NewWebChanges(c.Store, workflows.Starter{Client: c.Client}, logger),
		TokenFile: command.TokenFile(opts.DataDir), User: command.CurrentUser(),
	})
	if err == nil {
		err = c.Stack.PublishWeb(c.Web.Address())
	}
	return c, err
}

func describeInUse(inUse *datadir.InUseError) error {
	info, running, err := datadir.Running(inUse.Dir)
	if err != nil || !running || info.TemporalAddress == "" || info.DatabaseURL == "" {
		return inUse
	}
	return fmt.Errorf("%w\nTo crawl with that Mosey, or to crawl beside it:\n  mosey crawl --detach …\n"+
		"  TEMPORAL_ADDRESS=%s DATABASE_URL='%s' mosey crawl …", inUse, info.TemporalAddress, info.DatabaseURL)
}

// DescribeForeign adds a remedy to the error of wiring.CheckNamespace if the data directory's own
// Temporal, which stops with this command, has another database's namespace.
func DescribeForeign(e *command.Env, err error) error {
	foreign, is := errors.AsType[*wiring.ForeignNamespaceError](err)
	if !is || wiring.TemporalAddress(e.Environ) != "" {
		return err
	}
	dir, resolveErr := datadir.Resolve(e.DataDir)
	if resolveErr != nil {
		return err
	}
	return fmt.Errorf("%s: choose another data directory with --data-dir, or, if the other database no longer exists, "+
		"delete %s; no crawl data is lost with it", foreign.Ownership(), filepath.Join(dir, "temporal"))
}

// StartWorker starts a worker in this process.
func (c *Crawler) StartWorker(ctx context.Context, e *command.Env, f wiring.FetchFlags) (err error) {
	if f.ImageStore, err = command.ImageLocation(e, f.ImageStore); err != nil {
		return err
	}
	if f.ArchiveSpool, err = command.ArchiveSpool(e, f.ArchiveSpool); err != nil {
		return err
	}
	f.WebURL = cmp.Or(f.WebURL, c.Web.Address())
	w, err := wiring.NewWorker(ctx, c.Client, c.Store, f, wiring.ServeFlags{}, models.Models{}, c.Logger, c.Telemetry)
	if err != nil {
		return DescribeForeign(e, err)
	}
	if dir := c.Stack.TemporalDir(); dir != "" {
		w.WaitingFile = filepath.Join(dir, "waiting.json")
	}
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	c.Worker = w
	return nil
}

// Outdated reports that this program can no longer serve the database; never without a worker.
func (c *Crawler) Outdated() <-chan error {
	if c.Worker == nil {
		return nil
	}
	return c.Worker.Outdated()
}

// CloseTimeout bounds the stop of the stack. Then it is killed, which loses nothing.
const CloseTimeout = 30 * time.Second

// Close stops everything: the worker first, which finishes requests in flight.
func (c *Crawler) Close() (err error) {
	defer c.stopMemoryLimit()
	defer func() { err = errors.Join(err, c.Telemetry.Close()) }()
	err = c.Web.Close()
	if c.Worker != nil {
		c.Worker.Stop()
	}
	if c.Client != nil {
		c.Client.Close()
	}
	if c.Store != nil {
		c.Store.Close()
	}
	if c.Stack == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	return errors.Join(err, c.Stack.Close(ctx))
}
