// Package datadir owns the directory of Mosey's state: its place on each platform, the right to use
// it, and how a process finds the stack that another process runs in it.
//
// One process at a time holds a data directory, by an advisory lock on the file mosey.lock. The
// lock belongs to the process, so that it is gone the moment the process is, however it died. While
// it is held, stack.json says who holds it and how to reach what runs there; it holds a password
// and is readable by its owner alone.
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

	// A probe by Running, which holds a shared lock for an instant, is not another Mosey.
	lockPatience = 250 * time.Millisecond
	lockRetry    = 10 * time.Millisecond

	// TellAfter is after how long a person is told whom a process waits for.
	TellAfter = 2 * time.Second
)

// IsOwn reports whether a file of a data directory is the lock, or one that Publish writes.
func IsOwn(name string) bool {
	return name == lockFile || name == infoFile || name == infoFile+files.TempSuffix
}

// InUseError says that another process holds the data directory.
type InUseError struct {
	// Dir is the data directory.
	Dir string
	// PID is the process that holds it, or 0 when it has not said so yet.
	PID int
	// Doing is Info.Doing of the process.
	Doing string
}

func (e *InUseError) Error() string {
	holder := "another Mosey"
	if e.PID != 0 {
		holder = fmt.Sprintf("another Mosey (pid %d)", e.PID)
	}
	if e.Doing != "" {
		holder += ", which " + e.Doing
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
	return info, &InUseError{Dir: path, PID: info.PID, Doing: info.Doing}
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

// Info says what runs in a data directory. The address of a part is empty until the holder runs it.
type Info struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	// Ready is true once every part that the holder runs can be used.
	Ready bool `json:"ready"`
	// Transient is true for a command that gives the directory up in a moment.
	Transient bool `json:"transient,omitempty"`
	// Doing says what the holder does before it is Ready, such as "creates the database". A process
	// that waits for the holder repeats it at once. Empty means nothing that takes long.
	Doing string `json:"doing,omitempty"`
	// DatabaseURL connects to the Postgres. It names the file that has the password.
	DatabaseURL string `json:"database_url,omitempty"`
	// TemporalAddress is the host:port of Temporal's gRPC frontend.
	TemporalAddress string `json:"temporal_address,omitempty"`
	// UIURL is the address of Temporal's web UI, and WebURL that of Mosey's web page.
	UIURL  string `json:"ui_url,omitempty"`
	WebURL string `json:"web_url,omitempty"`
}

// Waits says in words that a process waits for this holder.
func (i Info) Waits() string {
	return fmt.Sprintf("waiting for the process %d, which %s", i.PID, cmp.Or(i.Doing, "uses the data directory for a while"))
}

// Publish tells other processes what runs in the directory now. It fills PID and StartedAt in. Not
// for concurrent use.
//
// The file is replaced atomically, and readable by its owner alone. It is not forced to the disk:
// after a crash of the machine nobody holds the directory, and the file is not read.
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

// Running reports what runs in the data directory at path, and whether any process holds it. Only a
// lock that is really held counts: the files of a killed process do not. Without a holder the Info
// is empty; a holder that took the directory this very instant may not have filled it in yet.
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

// AwaitReady is Running, but waits for a holder that prepares its parts. It tells once of a holder
// that is Doing something.
func AwaitReady(ctx context.Context, path string, tell func(string)) (Info, bool, error) {
	for told := false; ; {
		info, running, err := Running(path)
		if err != nil || !running || info.Ready || info.Transient {
			return info, running, err
		}
		if !told && info.Doing != "" {
			told = true
			tell(info.Waits())
		}
		select {
		case <-ctx.Done():
			return info, true, fmt.Errorf("%s: %w", info.Waits(), context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}

func isHeld(path string) (bool, error) {
	name := filepath.Join(path, lockFile)
	// The probe would create the file, and a reader that changes what it reads surprises.
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
