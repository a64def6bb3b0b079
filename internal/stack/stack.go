package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

	// Logger gets what goes wrong. Temporal and Postgres have logs of their own in the data
	// directory; an error in them that a person has to know of comes here, too. Defaults to
	// discarding.
	Logger *slog.Logger

	// Measured takes what our own Temporal measures of itself, see temporal.Config. Defaults
	// to nothing.
	Measured func(measure string) (tags []string, take func(tags []string, value float64))

	// Namespace is the namespace to register in our own Temporal. Defaults to
	// temporal.NamespaceDefault.
	Namespace string

	// NoUI leaves the web UI of our own Temporal out.
	NoUI bool

	// TemporalPort and UIPort are those of our own Temporal and its web UI; 0 leaves the
	// choice to it. A port that is taken is an error.
	TemporalPort, UIPort int

	// Progress is told, in a few words for a person, what takes long. It may be
	// called from any goroutine. Defaults to nothing.
	Progress func(string)

	// SearchAttributes are registered in our own Temporal.
	SearchAttributes map[string]enumspb.IndexedValueType

	// TemporalAddress is the host:port of an existing Temporal to use in place
	// of our own.
	TemporalAddress string
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Stack is what Up started, and the addresses of all of it.
type Stack struct {
	// DatabaseURL connects to the database.
	DatabaseURL string
	// TemporalAddress is the host:port of Temporal's gRPC API.
	TemporalAddress string
	// UIURL is the address of our own Temporal's web UI, or empty.
	UIURL string

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
	options = options.withDefaults()
	s := &Stack{
		DatabaseURL:     options.DatabaseURL,
		TemporalAddress: options.TemporalAddress,
		stopSettling:    func() {},
	}
	if s.DatabaseURL != "" && s.TemporalAddress != "" {
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
	var (
		group                    sync.WaitGroup
		postgresErr, temporalErr error
	)
	// What fails first ends the other's start.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if options.DatabaseURL == "" {
		group.Go(func() {
			if postgresErr = s.startPostgres(ctx, options); postgresErr != nil {
				cancel()
			}
		})
	}
	if options.TemporalAddress == "" {
		group.Go(func() {
			if temporalErr = s.startTemporal(ctx, options); temporalErr != nil {
				cancel()
			}
		})
	}
	group.Wait()
	if err := firstCause(postgresErr, temporalErr); err != nil {
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
	var causes []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			causes = append(causes, err)
		}
	}
	if len(causes) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(causes...)
}

func (s *Stack) startPostgres(ctx context.Context, options Options) error {
	server, err := postgres.Start(ctx, postgres.Config{
		Dir:      options.DataDir,
		Logger:   options.Logger,
		Progress: options.Progress,
	})
	if err != nil {
		return err
	}
	s.postgres, s.DatabaseURL = server, server.URL()
	return nil
}

func (s *Stack) startTemporal(ctx context.Context, options Options) error {
	dir := temporalDir(options.DataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create folder for Temporal: %w", err)
	}
	path := filepath.Join(dir, "temporal.log")
	log, err := logfile.NewWriter(path, maxTemporalLog)
	if err != nil {
		return err
	}
	s.temporalLog = log
	server, err := temporal.Start(ctx, temporal.Config{
		Dir: dir,
		Logger: slog.New(trouble.NewHandler(
			slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}),
			&trouble.Teller{Logger: options.Logger, Server: "Temporal", File: path}, &s.quiet,
		)),
		Measured:         options.Measured,
		Namespace:        options.Namespace,
		NoUI:             options.NoUI,
		Port:             options.TemporalPort,
		UIPort:           options.UIPort,
		SearchAttributes: options.SearchAttributes,
	})
	if err != nil {
		return err
	}
	s.temporal = server
	s.TemporalAddress, s.UIURL = server.Address(), server.UIURL()
	return nil
}

// DialOptions are those of a client in this process that reaches Temporal at its address:
// to our own no connection is needed.
func (s *Stack) DialOptions() []grpc.DialOption {
	if s.temporal == nil {
		return nil
	}
	return []grpc.DialOption{s.temporal.DialOption()}
}

// publish tells other processes about what is ours. The address of a database
// that was given to us holds a password that is not ours to write down.
func (s *Stack) publish() error {
	info := datadir.Info{Ready: true}
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

// Close stops what Up started, both halves at once, and gives the data directory up.
// Stop workers and close pools before. When ctx ends before Postgres has written
// all it has in memory to the disk, it is ended at once: the next start takes
// longer, and nothing is lost.
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
