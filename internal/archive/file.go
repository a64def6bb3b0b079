package archive

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/gzip"

	"github.com/mosey-web/mosey/internal/files"
)

// Suffix ends the name of a complete file. OpenSuffix follows it while the file is written, and
// lockSuffix in the name of its lock.
const (
	Suffix     = ".warc.gz"
	OpenSuffix = ".open"
	lockSuffix = ".lock"
)

var errClosed = errors.New("the file is complete")

// file is a WARC file that is being written. A lock shows other processes that its writer lives.
type file struct {
	name, path string
	lock       *flock.Flock
	id         string // of its warcinfo record
	createdAt  time.Time

	mu   sync.Mutex
	out  *os.File // nil once complete
	size int64
	gzip *gzip.Writer

	syncing sync.Mutex
	synced  atomic.Int64
}

// create creates a file that begins with a description of the crawler and the run.
func (a *Archive) create(x Exchange) (*file, error) {
	f, err := newFile(a.config.Dir, x.Run)
	if err != nil {
		return nil, err
	}
	info, err := a.describe(f.name, x)
	if err == nil {
		_, _, err = f.append([]record{info})
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.id = info.id
	return f, files.SyncDirectory(a.config.Dir)
}

func newFile(dir, run string) (*file, error) {
	now := time.Now()
	name := run + "-" + now.UTC().Format(stampFormat) + "-" + rand.Text() + Suffix
	f := &file{name: name, path: filepath.Join(dir, name), createdAt: now}
	f.lock = flock.New(f.path + lockSuffix)
	if err := f.lock.Lock(); err != nil { // nobody else has a file of this name
		return nil, err
	}
	var err error
	if f.out, err = os.OpenFile(f.path+OpenSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, errors.Join(err, unlock(f.lock))
	}
	f.gzip = gzip.NewWriter(nil)
	return f, nil
}

func (f *file) isComplete(maxBytes int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out == nil || f.size >= maxBytes
}

// append writes records, and returns the place of the first. After an error the file is as before,
// or complete.
func (f *file) append(records []record) (offset, length int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out == nil {
		return 0, 0, errClosed
	}
	offset = f.size
	size := f.size
	for i, r := range records {
		r.add("WARC-Warcinfo-ID", f.id)
		n, err := f.write(r)
		size += n
		if err != nil {
			if e := f.out.Truncate(f.size); e != nil {
				err = errors.Join(err, e, f.finish())
			}
			return 0, 0, err
		}
		if i == 0 {
			length = n
		}
	}
	f.size = size
	return offset, length, nil
}

// write writes a record as a gzip member of n bytes.
func (f *file) write(r record) (n int64, err error) {
	counter := &countingWriter{out: f.out}
	f.gzip.Reset(counter)
	err = errors.Join(r.writeTo(f.gzip), f.gzip.Close())
	return counter.n, err
}

type countingWriter struct {
	out io.Writer
	n   int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.n += int64(n)
	return n, err
}

// sync makes the first bytes of the file survive a power cut. Concurrent calls share one sync.
func (f *file) sync(bytes int64) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	if f.synced.Load() >= bytes {
		return nil
	}
	f.mu.Lock()
	size, out := f.size, f.out
	f.mu.Unlock()
	if out == nil {
		return errClosed
	}
	if err := out.Sync(); err != nil {
		return err
	}
	f.synced.Store(size)
	return nil
}

// close completes the file.
func (f *file) close() error {
	f.syncing.Lock() // no sync of a closed file
	defer f.syncing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.finish()
}

// finish completes the file, once. The caller holds the lock.
func (f *file) finish() error {
	if f.out == nil {
		return nil
	}
	err := errors.Join(f.out.Sync(), f.out.Close())
	f.out = nil
	if err == nil {
		f.synced.Store(f.size)
	}
	return errors.Join(err, rename(f.path), unlock(f.lock))
}

// rename gives a complete file its name. The caller holds its lock.
func rename(path string) error {
	if err := os.Rename(path+OpenSuffix, path); err != nil {
		return err
	}
	return files.SyncDirectory(filepath.Dir(path))
}

func unlock(lock *flock.Flock) error { return errors.Join(lock.Close(), os.Remove(lock.Path())) }
