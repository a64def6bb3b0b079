package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mosey-web/mosey/internal/stack/failures"
)

// Server is a private Postgres that runs until Stop.
type Server struct {
	cfg      Config
	binaries binaries
	user     account
	endpoint endpoint
	reporter *failures.Reporter

	// ended is closed when no postmaster runs and none will start.
	ended chan struct{}
	// quit prevents further postmasters.
	quit context.CancelFunc
	// crashed is set if the last postmaster did not end cleanly.
	crashed bool

	mu sync.Mutex
	// up is set once the first postmaster took a connection. Later ones are restarted.
	up bool
	// quitting is set once Stop was called, or the first postmaster failed.
	quitting bool
	process  *os.Process
	lastErr  error
}

// Start starts the cluster in cfg.Dir, and creates it the first time. It returns when the cluster
// takes connections and has the database. Only ctx bounds the recovery after a crash.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	user, err := chooseAccount(cfg.Dir)
	if err != nil {
		return nil, err
	}
	found, err := prepare(ctx, cfg, user)
	if err != nil {
		return nil, err
	}
	if err := writePassFile(cfg.Dir, user); err != nil {
		return nil, err
	}
	address, err := chooseEndpoint(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	_, lockErr := os.Stat(filepath.Join(dataDir(cfg.Dir), lockFile))
	alive, quit := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		cfg:      cfg,
		binaries: found,
		user:     user,
		endpoint: address,
		reporter: &failures.Reporter{Logger: cfg.Logger, Server: "Postgres", File: logPath(cfg.Dir)},
		ended:    make(chan struct{}),
		quit:     quit,
		crashed:  lockErr == nil,
	}
	go s.supervise(alive)
	if err := s.awaitReady(ctx); err != nil {
		// There are no writes yet that a clean shutdown would have to save.
		startCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		return nil, errors.Join(err, s.Stop(startCtx))
	}
	return s, nil
}

// markUp makes supervise restart later postmasters, or returns why the first one ended.
func (s *Server) markUp() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quitting {
		return s.lastErr
	}
	s.up = true
	return nil
}

// URL connects to the database as its owner, also after restarts of the postmaster. It names the
// file with the password, which only the owner of the data directory can read.
func (s *Server) URL() string { return s.url(database) }

func (s *Server) url(database string) string {
	return s.endpoint.url(passFile(s.cfg.Dir), database)
}

// Stop shuts Postgres down cleanly: it disconnects sessions and rolls open transactions back. If
// ctx ends first, it aborts Postgres, and the next start recovers. Committed data is never lost.
// Stop may be called more than once.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.quitting = true
	process := s.process
	s.mu.Unlock()
	s.quit()

	fast := func(process *os.Process) error { return interrupt(process, s.binaries, dataDir(s.cfg.Dir)) }
	detached := context.WithoutCancel(ctx)
	if s.end(ctx, process, fast, fastStopTimeout) || s.end(detached, process, abort, abortTimeout) ||
		s.end(detached, process, (*os.Process).Kill, abortTimeout) {
		return nil
	}
	return fmt.Errorf("the Postgres in %s does not stop", s.cfg.Dir)
}

// end signals a postmaster, if it exists, and waits for the end of all postmasters.
func (s *Server) end(
	ctx context.Context, process *os.Process, signal func(*os.Process) error, timeout time.Duration,
) bool {
	if process != nil {
		if err := signal(process); err != nil && !errors.Is(err, os.ErrProcessDone) {
			s.cfg.Logger.Warn("cannot signal Postgres", slog.Any("error", err))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-s.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// awaitReady waits until the first postmaster serves the database, or ends.
func (s *Server) awaitReady(ctx context.Context) error {
	const slow = 3 * time.Second
	began, notified := time.Now(), false
	for {
		s.mu.Lock()
		hasProcess := s.process != nil
		s.mu.Unlock()
		if hasProcess { // an orphan may respond before
			if done, err := s.tryDatabase(ctx); done {
				return errors.Join(err, s.markUp())
			}
		}
		if !notified && time.Since(began) > slow {
			notified = true
			if s.crashed {
				s.cfg.Progress("waiting for Postgres, which recovers from a crash")
			} else {
				s.cfg.Progress("waiting for Postgres to start")
			}
		}
		select {
		case <-s.ended:
			return s.markUp()
		case <-ctx.Done():
			return fmt.Errorf("wait for Postgres: %w", context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
}

// tryDatabase connects once, and creates a missing database. done ends the retries.
func (s *Server) tryDatabase(ctx context.Context) (done bool, err error) {
	err = connect(ctx, s.URL(), "")
	var refused *pgconn.PgError
	if err == nil || !errors.As(err, &refused) {
		return err == nil, nil
	}
	switch refused.Code { // SQLSTATE codes, see appendix A of the Postgres manual
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return true, fmt.Errorf("the password in %s does not fit the database "+
			"(%w): restore the original file", passwordFile(s.cfg.Dir), err)
	case "3D000": // invalid_catalog_name
		err := connect(ctx, s.url("postgres"), "CREATE DATABASE "+database)
		if errors.As(err, &refused) && refused.Code != "42P04" { // duplicate_database
			return true, fmt.Errorf("create database: %w", err)
		}
	}
	return false, nil
}

// Checkpoint flushes Postgres's memory to the disk, as Stop must.
func (s *Server) Checkpoint(ctx context.Context) error { return connect(ctx, s.URL(), "CHECKPOINT") }

// connect opens a session, runs the statement unless it is empty, and closes the session.
func connect(ctx context.Context, url, statement string) error {
	const timeout = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	if statement != "" {
		_, err = session.Exec(ctx, statement)
	}
	return errors.Join(err, session.Close(ctx))
}
