// Package datadir owns the directory of Mosey's state: its path on each platform, its lock, and the
// discovery of a stack that another process runs in it.
//
// One process at a time holds a data directory, by an advisory lock on the file mosey.lock. The
// operating system releases the lock when the process ends, however it ends. While the lock is
// held, stack.json names the holder and the addresses of its services. The file holds a password,
// so only its owner can read it.
package datadir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mosey-web/mosey/internal/files"
)

const (
	lockFile = "mosey.lock"
	infoFile = "stack.json"

	// Running holds a shared lock for an instant. These bounds let Lock wait for such a probe.
	lockTimeout       = 250 * time.Millisecond
	lockRetryInterval = 10 * time.Millisecond

	// NotifyAfter is the delay before a waiting process names the holder.
	NotifyAfter = 2 * time.Second
)

// IsOwn reports whether a file of a data directory is the lock, or one that Publish writes.
func IsOwn(name string) bool {
	return name == lockFile || name == infoFile || name == infoFile+files.TempSuffix
}

// InUseError reports that another process holds the data directory.
type InUseError struct {
	Dir string
	// PID is the process that holds it, or 0 if it has not published its PID yet.
	PID      int
	Activity string
}

func (e *InUseError) Error() string {
	holder := "another Mosey"
	if e.PID != 0 {
		holder = fmt.Sprintf("another Mosey (pid %d)", e.PID)
	}
	if e.Activity != "" {
		holder += ", which " + e.Activity
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop it, "+
		"or choose another directory with --data-dir", e.Dir, holder)
}

// Dir is a data directory that this process holds.
type Dir struct {
	path    string
	started time.Time
	lock    *flock.Flock
}

// Lock creates the data directory at path if it is missing, and holds it until Close. It waits for
// a transient holder, and calls notify once if that takes longer than NotifyAfter. It fails with an
// *InUseError if any other process, or another Dir of this process, holds it.
//
// A new directory is closed to other users. Root's directory lets others pass through, because the
// user that Postgres runs as must reach its part of it.
func Lock(ctx context.Context, path string, notify ...func(holder Info)) (*Dir, error) {
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
			info, err := transientHolder(path)
			if err != nil {
				return nil, err
			}
			if time.Since(began) > NotifyAfter {
				for _, f := range notify {
					f(info)
				}
				notify = nil
			}
		}
	}
	d := &Dir{path: path, started: time.Now(), lock: lock}
	if err := d.Publish(Info{}); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

func tryLock(ctx context.Context, lock *flock.Flock) (bool, error) {
	timed, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	held, err := lock.TryLockContext(timed, lockRetryInterval)
	if ctx.Err() != nil && !held {
		return false, context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return held, err
}

// transientHolder returns a transient holder, or an *InUseError that names the holder if it is
// known.
func transientHolder(path string) (Info, error) {
	info, err := readInfo(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, errors.Join(&InUseError{Dir: path}, err)
	}
	if info.Transient {
		return info, nil
	}
	return info, &InUseError{Dir: path, PID: info.PID, Activity: info.Activity}
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
		// The umask may have removed the right to pass through.
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

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// Close removes the file that Publish wrote and releases the directory. The lock file stays,
// because deleting it would let two processes lock two files of one name.
func (d *Dir) Close() error {
	err := os.Remove(filepath.Join(d.path, infoFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, d.lock.Close())
}

// Info describes the services in a data directory. The address of a stopped service is empty.
type Info struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	// Ready is set once all services of the holder are ready.
	Ready bool `json:"ready"`
	// Transient is set for a command that will soon release the directory.
	Transient bool `json:"transient,omitempty"`
	// Activity names the holder's work before it is Ready, such as "creates the database". A waiting
	// process prints it at once. Empty means no slow work.
	Activity string `json:"activity,omitempty"`
	// DatabaseURL connects to the Postgres. It names the file that holds the password.
	DatabaseURL string `json:"database_url,omitempty"`
	// TemporalAddress is the host:port of Temporal's gRPC frontend.
	TemporalAddress string `json:"temporal_address,omitempty"`
	// UIURL is the address of Temporal's web UI, and WebURL that of Mosey's web page.
	UIURL  string `json:"ui_url,omitempty"`
	WebURL string `json:"web_url,omitempty"`
}

// WaitNotice returns the notice that a process waits for this holder.
func (i Info) WaitNotice() string {
	return fmt.Sprintf("waiting for the process %d, which %s", i.PID, cmp.Or(i.Activity, "uses the data directory"))
}

// Publish replaces the published Info. It sets PID and StartedAt. It is not safe for concurrent
// use.
//
// It replaces the file atomically, and only its owner can read it. It does not sync the file: after
// a machine crash nobody holds the directory, and nobody reads the file.
func (d *Dir) Publish(info Info) error {
	info.PID, info.StartedAt = os.Getpid(), d.started
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", infoFile, err)
	}
	path := filepath.Join(d.path, infoFile)
	if err := files.Replace(path, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Running returns the Info of the data directory at path, and whether a process holds its lock. It
// ignores the files of a killed process. The Info is empty without a holder, and may be empty for
// an instant after a process has acquired the lock.
func Running(path string) (Info, bool, error) {
	held, err := isHeld(path)
	if err != nil || !held {
		return Info{}, false, err
	}
	info, err := readInfo(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, err
	}
	return info, true, nil
}

// AwaitReady is like Running, but waits until the holder is ready. It calls notify once if the
// holder has an Activity.
func AwaitReady(ctx context.Context, path string, notify func(string)) (Info, bool, error) {
	for notified := false; ; {
		info, running, err := Running(path)
		if err != nil || !running || info.Ready || info.Transient {
			return info, running, err
		}
		if !notified && info.Activity != "" {
			notified = true
			notify(info.WaitNotice())
		}
		select {
		case <-ctx.Done():
			return info, true, fmt.Errorf("%s: %w", info.WaitNotice(), context.Cause(ctx))
		case <-time.After(lockRetryInterval):
		}
	}
}

func isHeld(path string) (bool, error) {
	name := filepath.Join(path, lockFile)
	// The probe would create the file, but Running must not change the directory.
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	probe := flock.New(name)
	free, err := probe.TryRLock()
	if err == nil {
		err = probe.Close()
	}
	if err != nil {
		return false, fmt.Errorf("probe lock of data directory %s: %w", path, err)
	}
	return !free, nil
}

func readInfo(path string) (Info, error) {
	name := filepath.Join(path, infoFile)
	data, err := os.ReadFile(name)
	if err != nil {
		return Info{}, fmt.Errorf("read running stack: %w", err)
	}
	var info Info
	if err := json.Unmarshal(data, &info); err != nil {
		return Info{}, fmt.Errorf("read running stack: %s: %w", name, err)
	}
	return info, nil
}
