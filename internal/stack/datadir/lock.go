package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockFile = "mosey.lock"

	// A probe by Running, which holds a shared lock for an instant, is not another Mosey.
	lockPatience = 250 * time.Millisecond
	lockRetry    = 10 * time.Millisecond

	// TellAfter is after how long a person is told whom a process waits for.
	TellAfter = 2 * time.Second
)

// IsOwn reports whether a file of a data directory is the lock, or one that Publish writes.
func IsOwn(name string) bool {
	return name == lockFile || name == infoFile || name == infoFile+tempSuffix
}

// InUseError says that another process holds the data directory.
type InUseError struct {
	// Dir is the data directory.
	Dir string
	// PID is the process that holds it, or 0 when it has not said so yet.
	PID int
}

func (e *InUseError) Error() string {
	holder := "another Mosey"
	if e.PID != 0 {
		holder = fmt.Sprintf("another Mosey (pid %d)", e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop that one, "+
		"or choose another directory with --data-dir", e.Dir, holder)
}

// Dir is a data directory held by this process.
type Dir struct {
	path    string
	started time.Time
	lock    *flock.Flock
}

// Lock creates the data directory at path where it is missing, and takes it for this process until
// Close. It fails with an *InUseError when another process, or another Dir of this one, holds it,
// but waits for a transient holder. It tells once who that is, if it takes longer than TellAfter.
//
// A new directory is closed to other users, except that root's can be passed
// through: the user that Postgres runs as needs to reach its part of it.
func Lock(ctx context.Context, path string, tell ...func(holder Info)) (*Dir, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	began := time.Now()
	lock := flock.New(filepath.Join(path, lockFile))
	for held := false; !held; {
		var err error
		if held, err = tryLock(ctx, lock); err != nil {
			return nil, fmt.Errorf("lock data directory %s: %w", path, err)
		}
		if !held {
			info, err := transient(path)
			if err != nil {
				return nil, err
			}
			if time.Since(began) > TellAfter {
				for _, f := range tell {
					f(info)
				}
				tell = nil
			}
		}
	}
	d := &Dir{path: path, started: time.Now(), lock: lock}
	if err := d.Publish(Info{}); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// tryLock tries for a moment, and for no longer than ctx.
func tryLock(ctx context.Context, lock *flock.Flock) (bool, error) {
	patient, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	held, err := lock.TryLockContext(patient, lockRetry)
	if ctx.Err() != nil && !held {
		return false, context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return held, err
}

// transient returns a holder that is worth waiting for, or an *InUseError, which names a known
// holder.
func transient(path string) (Info, error) {
	info, err := readInfo(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, errors.Join(&InUseError{Dir: path}, err)
	}
	if info.Transient {
		return info, nil
	}
	return info, &InUseError{Dir: path, PID: info.PID}
}

func create(path string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.Mkdir(path, mode)
	}
	if err == nil {
		// The umask may have taken the right to pass through away.
		err = os.Chmod(path, mode)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create data directory: %w", err)
	}
	stat, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("open data directory: %w", err)
	}
	if !stat.IsDir() {
		return fmt.Errorf("data directory %s is not a directory", path)
	}
	return nil
}

// Path is the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Close removes what Publish wrote and gives the directory up. The lock file
// stays: deleting it would let two processes lock two files of one name.
func (d *Dir) Close() error {
	err := os.Remove(filepath.Join(d.path, infoFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, d.lock.Close())
}
