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
	"github.com/mosey-web/mosey/internal/stack/logfile"
	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/internal/stack/temporal"
	"github.com/mosey-web/mosey/internal/stack/trouble"
)

// The ports that our own Temporal and its web UI have, unless they are taken.
const (
	TemporalPortDefault = temporal.FrontendPortDefault
	UIPortDefault       = temporal.UIPortDefault
)

// maxTemporalLog bounds each of the two log files of Temporal, in bytes.
const maxTemporalLog = 16 << 20

// Options say what to run and where.
type Options struct {
	// DataDir is the absolute path of the data directory, see datadir.Resolve.
	// Not needed when both halves are given.
	DataDir string

	// DatabaseURL is an existing database to use in place of our own Postgres.
	DatabaseURL string

	// TemporalAddress is the host:port of an existing Temporal to use in place of our own.
	TemporalAddress string

	// Logger gets errors. Temporal and Postgres have logs of their own in the data
	// directory; an error in them that a person has to know of comes here, too.
	Logger *slog.Logger

	// Progress is told, in a few words for a person, what takes long. It may be
	// called from any goroutine. Defaults to nothing.
	Progress func(string)

	// Prepare makes the database ready for use, such as by migrations. Other processes do not use our
	// own Postgres before. Defaults to nothing.
	Prepare func(ctx context.Context, databaseURL string) error

	// Measured takes the measures of our own Temporal, see temporal.Config.
	Measured func(measure string) (tags []string, take func(tags []string, value float64))

	// TemporalPort and UIPort are those of our own Temporal and its web UI; 0 leaves the
	// choice to it. A port that is taken is an error.
	TemporalPort, UIPort int

	// SearchAttributes are registered in our own Temporal.
	SearchAttributes map[string]enumspb.IndexedValueType
}

// Stack is what Up started, and the addresses of all of it.
type Stack struct {
	// DatabaseURL connects to the database.
	DatabaseURL string
	// TemporalAddress is the host:port of Temporal's gRPC API.
	TemporalAddress string
	// UIURL is the address of our own Temporal's web UI, or empty.
	UIURL string

	webURL      string
	dir         *datadir.Dir
	postgres    *postgres.Server
	temporal    *temporal.Server
	temporalLog *logfile.Writer
	// quiet is set but between the start of all and the end of it.
	quiet atomic.Bool
	// stopSettling ends Settle.
	stopSettling func()
}

// Up starts what the options leave to us, both halves at once, and returns when
// all can be used. Where that fails nothing is left running. The data directory
// is held until Close: a second Up on it fails with a *datadir.InUseError.
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
	if s.dir, err = datadir.Lock(ctx, options.DataDir, func(i datadir.Info) { options.Progress(i.Waits()) }); err != nil {
		return nil, err
	}
	if err := s.start(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, options Options) error {
	// The half that fails first ends the other's start.
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
	if err := firstCause(errs[:]...); err != nil {
		return err
	}
	if err := s.publish(); err != nil {
		return err
	}
	s.quiet.Store(false)
	return nil
}

// firstCause leaves out what only ended because the other failed.
func firstCause(errs ...error) error {
	isCanceled := func(err error) bool { return errors.Is(err, context.Canceled) }
	causes := slices.DeleteFunc(slices.Clone(errs), isCanceled)
	return cmp.Or(errors.Join(causes...), errors.Join(errs...))
}

// startDatabase starts our own Postgres, unless a database is given, and prepares the database.
func (s *Stack) startDatabase(ctx context.Context, options Options) error {
	if options.DatabaseURL == "" {
		if err := s.startPostgres(ctx, options); err != nil {
			return err
		}
	}
	return options.Prepare(ctx, s.DatabaseURL)
}

func (s *Stack) startPostgres(ctx context.Context, options Options) (err error) {
	if err := s.dir.Publish(datadir.Info{Doing: postgres.Doing(options.DataDir)}); err != nil {
		return err
	}
	s.postgres, err = postgres.Start(ctx, postgres.Config{
		Dir:      options.DataDir,
		Logger:   options.Logger,
		Progress: options.Progress,
	})
	if err == nil {
		s.DatabaseURL = s.postgres.URL()
	}
	return err
}

// startTemporal starts our own Temporal, unless another is given.
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
		Logger: slog.New(trouble.NewHandler(
			slog.NewTextHandler(s.temporalLog, &slog.HandlerOptions{Level: slog.LevelWarn}),
			&trouble.Teller{Logger: options.Logger, Server: "Temporal", File: path}, &s.quiet,
		)),
		Measured:         options.Measured,
		Port:             options.TemporalPort,
		UIPort:           options.UIPort,
		SearchAttributes: options.SearchAttributes,
	})
	if err == nil {
		s.TemporalAddress, s.UIURL = s.temporal.Address(), s.temporal.UIURL()
	}
	return err
}

// DialOptions are those of a client in this process that reaches Temporal at its address:
// to our own no connection is needed.
func (s *Stack) DialOptions() []grpc.DialOption {
	if s.temporal == nil {
		return nil
	}
	return []grpc.DialOption{s.temporal.DialOption()}
}

// PublishWeb tells other processes the address of the web page; empty means that it is not served.
func (s *Stack) PublishWeb(address string) error {
	if s.dir == nil || address == "" {
		return nil
	}
	s.webURL = address
	return s.publish()
}

// publish tells other processes about what is ours. The address of a database
// that was given to us holds a password that is not ours to write down.
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

// closePatience bounds Close where its context does not.
const closePatience = 2 * time.Minute

// Close stops what Up started, both halves at once, and gives the data directory up. Stop workers
// and close pools before. When ctx ends before Postgres has written all it has in memory to the
// disk, it is ended at once: the next start takes longer, and nothing is lost.
func (s *Stack) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
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

// Settle has our own Postgres write what it has in memory to the disk, in the background.
// Otherwise Close has to wait for that: after the tables were made it is some hundred
// files, and each may be slow on a busy disk or processor.
func (s *Stack) Settle() {
	if s.postgres == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = s.postgres.Checkpoint(ctx) }) // Close does it as well
	s.stopSettling = func() {
		cancel()
		group.Wait()
	}
}

// TemporalDir is the directory of our own Temporal; empty if it is not ours.
func (s *Stack) TemporalDir() string {
	if s.temporal == nil {
		return ""
	}
	return temporalDir(s.dir.Path())
}

// temporalDir is the folder of Temporal's state in a data directory.
func temporalDir(dataDir string) string { return filepath.Join(dataDir, "temporal") }

// SnapshotTemporal copies the state of a data directory's own Temporal to a file that must not
// exist. It may run meanwhile. It returns false if the directory has none.
func SnapshotTemporal(ctx context.Context, dataDir, to string) (found bool, err error) {
	return temporal.Snapshot(ctx, temporalDir(dataDir), to)
}

// RestoreTemporal moves a file that SnapshotTemporal wrote into a data directory that nobody uses.
func RestoreTemporal(dataDir, from string) error { return temporal.Restore(temporalDir(dataDir), from) }
