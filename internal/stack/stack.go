package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/grpc"

	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/failures"
	"github.com/mosey-web/mosey/internal/stack/logfile"
	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/internal/stack/temporal"
)

// The default ports of our own Temporal and its web UI. A busy port is replaced.
const (
	TemporalPortDefault = temporal.FrontendPortDefault
	UIPortDefault       = temporal.UIPortDefault
)

// maxTemporalLog bounds each of the two log files of Temporal, in bytes.
const maxTemporalLog = 16 << 20

// Options configures Up.
type Options struct {
	// DataDir is the absolute path of the data directory, see datadir.Resolve. It is not needed
	// when both halves are given.
	DataDir string

	// DatabaseURL is an existing database to use instead of our own Postgres.
	DatabaseURL string

	// TemporalAddress is the host:port of an existing Temporal to use instead of our own.
	TemporalAddress string

	// Logger gets errors, also those in Postgres and Temporal that need an operator's attention.
	Logger *slog.Logger

	// Progress receives short notices about slow steps, from any goroutine. Nil discards them.
	Progress func(string)

	// Prepare prepares the database, for example by migrations. Other processes do not use our own
	// Postgres before Prepare returns. Nil skips this step.
	Prepare func(ctx context.Context, databaseURL string) error

	// MetricReader receives the metrics of our own Temporal, see temporal.Config.
	MetricReader func(measure string) (tags []string, take func(tags []string, value float64))

	// TemporalPort and UIPort are the ports of our own Temporal and its web UI. Zero lets Temporal
	// choose. A busy port is an error.
	TemporalPort, UIPort int

	// SearchAttributes are registered in our own Temporal.
	SearchAttributes map[string]enumspb.IndexedValueType
}

// Stack holds the started halves and the addresses of both.
type Stack struct {
	DatabaseURL     string
	TemporalAddress string
	// UIURL is the address of our own Temporal's web UI, or empty.
	UIURL string

	webURL      string
	dir         *datadir.Dir
	postgres    *postgres.Server
	temporal    *temporal.Server
	temporalLog *logfile.Writer
	// quiet is unset only between the end of Up and the beginning of Close.
	quiet atomic.Bool
	// stopSettling cancels Settle.
	stopSettling func()
}

// Up starts the halves that the options do not give, concurrently, and returns when both are ready.
// If it fails, it leaves nothing running. It holds the data directory until Close: a second Up
// fails with a *datadir.InUseError.
func Up(ctx context.Context, options Options) (*Stack, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	if options.Prepare == nil {
		options.Prepare = func(context.Context, string) error { return nil }
	}
	s := &Stack{
		DatabaseURL:     options.DatabaseURL,
		TemporalAddress: options.TemporalAddress,
		stopSettling:    func() {},
	}
	if s.DatabaseURL != "" && s.TemporalAddress != "" {
		if err := options.Prepare(ctx, s.DatabaseURL); err != nil {
			return nil, err
		}
		return s, nil
	}
	s.quiet.Store(true)
	var err error
	if s.dir, err = datadir.Lock(ctx, options.DataDir, func(i datadir.Info) { options.Progress(i.WaitNotice()) }); err != nil {
		return nil, err
	}
	if err := s.start(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, options Options) error {
	// The half that fails first cancels the other half's start.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var errs [2]error
	for i, start := range []func(context.Context, Options) error{s.startDatabase, s.startTemporal} {
		group.Go(func() {
			if errs[i] = start(ctx, options); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	// the error of a half that was canceled because the other half failed is not a cause
	isCanceled := func(err error) bool { return errors.Is(err, context.Canceled) }
	causes := slices.DeleteFunc(slices.Clone(errs[:]), isCanceled)
	if err := cmp.Or(errors.Join(causes...), errors.Join(errs[:]...)); err != nil {
		return err
	}
	if err := s.publish(); err != nil {
		return err
	}
	s.quiet.Store(false)
	return nil
}

// startDatabase starts our own Postgres, unless a database is given, and prepares the database.
func (s *Stack) startDatabase(ctx context.Context, options Options) (err error) {
	if options.DatabaseURL == "" {
		if err := s.dir.Publish(datadir.Info{Activity: postgres.StartActivity(options.DataDir)}); err != nil {
			return err
		}
		s.postgres, err = postgres.Start(ctx, postgres.Config{
			Dir:      options.DataDir,
			Logger:   options.Logger,
			Progress: options.Progress,
		})
		if err != nil {
			return err
		}
		s.DatabaseURL = s.postgres.URL()
	}
	return options.Prepare(ctx, s.DatabaseURL)
}

func (s *Stack) startTemporal(ctx context.Context, options Options) (err error) {
	if options.TemporalAddress != "" {
		return nil
	}
	dir := temporalDir(options.DataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create folder for Temporal: %w", err)
	}
	path := filepath.Join(dir, "temporal.log")
	if s.temporalLog, err = logfile.NewWriter(path, maxTemporalLog); err != nil {
		return err
	}
	s.temporal, err = temporal.Start(ctx, temporal.Config{
		Dir: dir,
		Logger: slog.New(failures.NewHandler(
			slog.NewTextHandler(s.temporalLog, &slog.HandlerOptions{Level: slog.LevelWarn}),
			&failures.Reporter{Logger: options.Logger, Server: "Temporal", File: path}, &s.quiet,
		)),
		MetricReader:     options.MetricReader,
		Port:             options.TemporalPort,
		UIPort:           options.UIPort,
		SearchAttributes: options.SearchAttributes,
	})
	if err == nil {
		s.TemporalAddress, s.UIURL = s.temporal.Address(), s.temporal.UIURL()
	}
	return err
}

// DialOptions returns a client's options. They bypass the connection if Temporal is our own.
func (s *Stack) DialOptions() []grpc.DialOption {
	if s.temporal == nil {
		return nil
	}
	return []grpc.DialOption{s.temporal.DialOption()}
}

// PublishWeb publishes the address of the web page to other processes. Empty does nothing.
func (s *Stack) PublishWeb(address string) error {
	if s.dir == nil || address == "" {
		return nil
	}
	s.webURL = address
	return s.publish()
}

// publish publishes the addresses of our own halves to other processes. It omits a given database,
// because its address may hold a password that we must not store.
func (s *Stack) publish() error {
	info := datadir.Info{Ready: true, WebURL: s.webURL}
	if s.postgres != nil {
		info.DatabaseURL = s.DatabaseURL
	}
	if s.temporal != nil {
		info.TemporalAddress, info.UIURL = s.TemporalAddress, s.UIURL
	}
	return s.dir.Publish(info)
}

// closeTimeout bounds Close, besides its context.
const closeTimeout = 2 * time.Minute

// Close stops both halves concurrently and releases the data directory. Stop workers and close
// pools first. If ctx ends before Postgres has flushed its memory to the disk, Postgres is aborted:
// the next start takes longer, but nothing is lost.
func (s *Stack) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	s.quiet.Store(true)
	s.stopSettling()
	var (
		group                              sync.WaitGroup
		temporalErr, logErr, dirErr, pgErr error
	)
	group.Go(func() {
		if s.postgres != nil {
			pgErr = s.postgres.Stop(ctx)
		}
	})
	if s.temporal != nil {
		if err := s.temporal.Stop(); err != nil {
			temporalErr = fmt.Errorf("stop Temporal: %w", err)
		}
	}
	if s.temporalLog != nil {
		logErr = s.temporalLog.Close()
	}
	group.Wait()
	if s.dir != nil {
		dirErr = s.dir.Close()
	}
	return errors.Join(temporalErr, logErr, pgErr, dirErr)
}

// Settle makes our own Postgres flush its memory to the disk, in the background, so that Close does
// not wait for it: the creation of the tables leaves some hundred files.
func (s *Stack) Settle() {
	if s.postgres == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = s.postgres.Checkpoint(ctx) }) // Close repeats it
	s.stopSettling = func() {
		cancel()
		group.Wait()
	}
}

// TemporalDir returns the directory of our own Temporal, or an empty string.
func (s *Stack) TemporalDir() string {
	if s.temporal == nil {
		return ""
	}
	return temporalDir(s.dir.Path())
}

func temporalDir(dataDir string) string { return filepath.Join(dataDir, "temporal") }

// SnapshotTemporal copies the state of a data directory's own Temporal to a new file, even while
// Temporal runs. It returns an error if the file exists, and false if there is no state.
func SnapshotTemporal(ctx context.Context, dataDir, to string) (found bool, err error) {
	return temporal.Snapshot(ctx, temporalDir(dataDir), to)
}

// RestoreTemporal moves a file that SnapshotTemporal wrote into an unused data directory.
func RestoreTemporal(dataDir, from string) error {
	dir := temporalDir(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create folder for Temporal: %w", err)
	}
	if err := os.Rename(from, filepath.Join(dir, temporal.DatabaseFile)); err != nil {
		return fmt.Errorf("restore the state of Temporal: %w", err)
	}
	return nil
}
