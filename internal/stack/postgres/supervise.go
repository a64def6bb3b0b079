package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/mosey-web/mosey/internal/stack/logfile"
)

const (
	// The restart delay doubles from minBackoff to maxBackoff. A run of lasting resets it.
	minBackoff  = 100 * time.Millisecond
	maxBackoff  = 10 * time.Second
	stableAfter = time.Minute

	maxQuotedBytes = 4096 // of the log, in an error
)

var errQuitting = errors.New("postgres is being stopped")

// supervise runs a postmaster until alive ends, or until the first one ends before it was up.
func (s *Server) supervise(alive context.Context) {
	defer close(s.ended)
	defer s.quit()
	// The death signal comes when the starting thread ends, so this goroutine keeps its own.
	runtime.LockOSThread()
	go s.boundLog(alive)

	for backoff := minBackoff; ; backoff = min(2*backoff, maxBackoff) {
		began := time.Now()
		err := s.runOnce(alive)
		s.mu.Lock()
		s.process, s.lastErr = nil, err
		s.quitting = s.quitting || !s.up
		quitting := s.quitting
		s.mu.Unlock()
		if quitting {
			return
		}
		s.cfg.Logger.Error("Postgres ended; restarting it",
			slog.Any("error", err), slog.Duration("delay", backoff))
		s.cfg.Progress("Postgres ended unexpectedly; restarting it")
		if time.Since(began) > stableAfter {
			backoff = minBackoff
		}
		if pause(alive, backoff) != nil {
			return
		}
	}
}

// runOnce runs one postmaster to its end, which is always an error.
func (s *Server) runOnce(alive context.Context) error {
	if err := clearLeftovers(alive, s.cfg.Dir, s.binaries, s.cfg.Progress); err != nil {
		return err
	}
	cmd, offset, err := s.launch(alive)
	if err != nil {
		return err
	}
	running, ended := context.WithCancel(alive)
	go s.report(running, offset)
	err = cmd.Wait()
	ended()
	if err == nil {
		err = errors.New("another process stopped it")
	}
	tail, _, readErr := readSince(logPath(s.cfg.Dir), offset, maxQuotedBytes)
	if readErr != nil || len(tail) == 0 {
		return fmt.Errorf("postgres ended: %w", err)
	}
	return fmt.Errorf("postgres ended: %w: %s", err, reason(tail))
}

// launch starts a postmaster that writes to the log, and returns the log's offset at the start.
func (s *Server) launch(alive context.Context) (*exec.Cmd, int64, error) {
	// A file, unlike a pipe, survives if we are killed.
	log, size, err := logfile.Open(logPath(s.cfg.Dir), maxLogBytes)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	args := append([]string{
		"-D", dataDir(s.cfg.Dir),
		"-c", "logging_collector=off",
		"-c", "log_destination=stderr",
		"-c", "log_line_prefix=" + linePrefix,
		"-c", "lc_messages=C",
		// Omit values from the log, because details quote rows.
		"-c", "log_error_verbosity=terse",
		"-c", "log_parameter_max_length=0",
		"-c", "log_parameter_max_length_on_error=0",
		// for online backups, because the files of older clusters disable them
		"-c", "wal_level=replica",
		"-c", "max_wal_senders=4",
	}, s.endpoint.settings()...)
	// Stop ends it cleanly. A context can only kill it.
	cmd := exec.CommandContext(context.WithoutCancel(alive), s.binaries.postgres(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	// SIGINT causes a fast shutdown if we are killed.
	s.user.command(cmd, syscall.SIGINT)
	cmd.Dir = ClusterDir(s.cfg.Dir)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quitting {
		return nil, 0, errQuitting
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("start Postgres: %w", err)
	}
	s.process = cmd.Process
	return cmd, size, nil
}

// boundLog empties a log that is too long, because the server would keep writing to a renamed file.
func (s *Server) boundLog(alive context.Context) {
	path := logPath(s.cfg.Dir)
	for pause(alive, logCheckInterval) == nil {
		stat, err := os.Stat(path)
		if err == nil && stat.Size() > maxLogBytes {
			err = os.Truncate(path, 0)
		}
		if err != nil {
			s.cfg.Logger.Warn("cannot truncate the log of Postgres", slog.Any("error", err))
		}
	}
}
