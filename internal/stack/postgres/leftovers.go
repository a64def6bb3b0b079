package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

const (
	// fastStopTimeout bounds the time of a postmaster to flush its memory to the disk.
	fastStopTimeout = 60 * time.Second
	abortTimeout    = 15 * time.Second

	pollInterval = 20 * time.Millisecond

	// lockFile exists in a cluster's folder from the start of its postmaster to its clean end.
	lockFile = "postmaster.pid"
)

// clearLeftovers prepares a data directory for a new postmaster, however the last one or Mosey
// ended. It stops an orphaned postmaster, and renews or removes stale lock files.
func clearLeftovers(ctx context.Context, dir string, b binaries, progress func(string)) error {
	data := dataDir(dir)
	pidFile := filepath.Join(data, lockFile)
	content, err := readLockFile(ctx, pidFile)
	if errors.Is(err, fs.ErrNotExist) {
		return removeSocketLocks(dir)
	}
	if err != nil {
		return fmt.Errorf("read lock file of Postgres: %w", err)
	}
	first, rest, _ := bytes.Cut(content, []byte{'\n'})
	pid, err := strconv.Atoi(string(bytes.TrimSpace(first)))
	switch {
	case err != nil || pid <= 1:
		// A machine crash can leave a corrupt file, which would keep Postgres from starting.
		if err := os.Remove(pidFile); err != nil {
			return fmt.Errorf("remove broken lock file of Postgres: %w", err)
		}
	case isPostmaster(pid, data):
		progress("stopping the Postgres of a killed Mosey")
		if err := stopOrphan(ctx, pid, b, data); err != nil {
			return err
		}
	case runtime.GOOS == "windows":
		return nil
	default:
		// The postmaster is gone. Postgres would take a process that reused its PID for a
		// postmaster, but it accepts its parent's PID, which is ours. Removing the file would skip
		// its check for old backends that still use the shared memory.
		if err := os.WriteFile(pidFile, fmt.Appendf(nil, "%d\n%s", os.Getpid(), rest), 0o600); err != nil {
			return fmt.Errorf("renew stale lock file of Postgres: %w", err)
		}
	}
	return removeSocketLocks(dir)
}

// readLockFile reads the file, and waits a moment for a partly written file.
func readLockFile(ctx context.Context, path string) ([]byte, error) {
	const timeout = 500 * time.Millisecond
	for began := time.Now(); ; {
		content, err := os.ReadFile(path)
		if err != nil || len(content) > 0 || time.Since(began) > timeout {
			return content, err
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

// removeSocketLocks removes the lock files of our own sockets, while no postmaster runs.
func removeSocketLocks(dir string) error {
	lock := filepath.Join(ClusterDir(dir), socketFile+".lock")
	if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove stale socket lock: %w", err)
	}
	return nil
}

// stopOrphan stops a postmaster that is not our child, cleanly if possible.
func stopOrphan(ctx context.Context, pid int, b binaries, data string) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find orphaned Postgres %d: %w", pid, err)
	}
	for _, step := range []struct {
		signal   func() error
		patience time.Duration
	}{
		{func() error { return interrupt(process, b, data) }, fastStopTimeout},
		{func() error { return abort(process) }, abortTimeout},
	} {
		if err := step.signal(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop orphaned Postgres %d: %w", pid, err)
		}
		for began := time.Now(); time.Since(began) < step.patience; {
			if !isPostmaster(pid, data) {
				return nil
			}
			if err := pause(ctx, pollInterval); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("the Postgres process %d that an earlier Mosey left in %s "+
		"does not stop: end it manually", pid, data)
}

// pause sleeps, or returns an error if the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
