package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

const (
	// MaxFileBytes is the size at which a file is complete: WARC 1.1, annex C.
	MaxFileBytes = 1 << 30
	// maxOpenFiles bounds the open files, one for each run.
	maxOpenFiles = 32
	// trialInterval is the pause between two trials of a directory that could not be written.
	trialInterval = 5 * time.Second
	trialBytes    = 1 << 20
)

// Config configures an Archive.
type Config struct {
	// Dir is the directory of the files. It is created, for its owner and group (0750).
	Dir string
	// Bucket is where complete files are moved to. If it is nil, they stay in Dir.
	Bucket Objects
	// Logger logs failed uploads.
	Logger *slog.Logger
	// Software and UserAgent describe the crawler in the first record of each file.
	Software, UserAgent string
	// MaxFileBytes defaults to [MaxFileBytes].
	MaxFileBytes int64
}

// Archive writes responses. It is safe for concurrent use.
type Archive struct {
	config Config

	mu    sync.Mutex
	files map[string]*file
	// failure is the last error of the directory, or nil; triedAt is the time of the last trial.
	failure error
	triedAt time.Time

	// uploader is nil without a bucket. stopUploader ends its loop.
	uploader     *uploader
	stopUploader func()
}

// Exchange is a response to store, with its request.
type Exchange struct {
	// Run names the run, which has the Settings.
	Run      string
	Settings settings.Settings

	URL string
	// IP is the requested address.
	IP string
	// At is the start of the request.
	At      time.Time
	Capture Capture
	// Truncated is the reason for an incomplete body, "length" or "unspecified"; empty means complete.
	Truncated string
	// NotModified is set for a response with status 304.
	NotModified bool
	// Earlier is the last record of the URL with a payload; nil means no such record.
	Earlier *crawl.Archived
}

// Capture holds the bytes of an exchange. Its methods return them from the start with each call.
type Capture interface {
	// Request returns the request, and Received the response.
	Request() io.Reader
	Received() io.Reader
	// Head and Payload return the two parts of the response.
	Head() io.Reader
	Payload() io.Reader
}

// Open opens the archive in a directory. It repairs the files that killed processes have left, and
// returns their names.
func Open(config Config) (a *Archive, repaired []string, err error) {
	if config.MaxFileBytes == 0 {
		config.MaxFileBytes = MaxFileBytes
	}
	if config.Dir, err = filepath.Abs(config.Dir); err != nil {
		return nil, nil, fmt.Errorf("open the archive: %w", err)
	}
	if err := os.MkdirAll(config.Dir, 0o750); err != nil {
		return nil, nil, fmt.Errorf("open the archive: %w", err)
	}
	a = &Archive{config: config, files: map[string]*file{}}
	if err := a.try(); err != nil {
		return nil, nil, fmt.Errorf("open the archive in %s: %w", config.Dir, err)
	}
	repaired, err = repairAll(config.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("repair the archive in %s: %w", config.Dir, err)
	}
	if config.Bucket != nil {
		a.startUploader()
	}
	return a, repaired, nil
}

func (a *Archive) startUploader() {
	a.uploader = &uploader{dir: a.config.Dir, bucket: Bucket{Objects: a.config.Bucket}, logger: a.config.Logger}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		a.uploader.run(ctx, func() error { return a.complete(time.Now().Add(-maxAge)) })
	})
	a.stopUploader = func() {
		cancel()
		running.Wait()
	}
}

// Close completes the open files. With a bucket, it uploads files until the context ends. The next
// Open uploads the others.
func (a *Archive) Close(ctx context.Context) error {
	if a.uploader == nil {
		return a.complete(time.Now())
	}
	a.stopUploader()
	return errors.Join(a.complete(time.Now()), a.uploader.uploadAll(ctx))
}

// complete completes the open files that were created until a time.
func (a *Archive) complete(before time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closeFiles(before)
}

// closeFiles is complete for a caller that holds the lock.
func (a *Archive) closeFiles(before time.Time) error {
	var errs []error
	for run, f := range a.files {
		if !f.createdAt.After(before) {
			errs = append(errs, f.close())
			delete(a.files, run)
		}
	}
	return errors.Join(errs...)
}

// Ready returns the reason why nothing can be stored now, or nil. After a failure it tries the
// directory again from time to time. No page is requested until it works, because the page would
// have to be requested again.
func (a *Archive) Ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure != nil && time.Since(a.triedAt) >= trialInterval {
		a.failure, a.triedAt = a.try(), time.Now()
	}
	if a.failure != nil {
		return fmt.Errorf("the archive in %s cannot be written: %w", a.config.Dir, a.failure)
	}
	return nil
}

// try writes a file and removes it.
func (a *Archive) try() error {
	f, err := os.CreateTemp(a.config.Dir, "trial-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, trialBytes))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// Write stores an exchange durably. Its error is our own failure, and then nothing is stored.
func (a *Archive) Write(x Exchange) (crawl.Archived, error) {
	x.At = x.At.UTC().Truncate(time.Millisecond)
	response, archived, err := x.response()
	if err != nil {
		return crawl.Archived{}, fmt.Errorf("archive %s: %w", x.URL, err)
	}
	request, err := x.request(response)
	if err != nil {
		return crawl.Archived{}, fmt.Errorf("archive %s: %w", x.URL, err)
	}
	f, offset, length, err := a.append(x, response, request)
	if err == nil {
		err = f.sync(offset + length)
	}
	if err != nil {
		a.mu.Lock()
		a.failure, a.triedAt = err, time.Now()
		a.mu.Unlock()
		return crawl.Archived{}, fmt.Errorf("archive %s: %w", x.URL, err)
	}
	archived.File, archived.Offset, archived.Length = f.name, offset, length
	return archived, nil
}

// append writes the records to the run's file, and returns the place of the first.
func (a *Archive) append(x Exchange, records ...record) (f *file, offset, length int64, err error) {
	for {
		if f, err = a.file(x); err != nil {
			return nil, 0, 0, err
		}
		offset, length, err = f.append(records)
		if !errors.Is(err, errClosed) {
			return f, offset, length, err
		}
	}
}

// file returns the run's file, a new one if the last is complete.
func (a *Archive) file(x Exchange) (*file, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.files[x.Run]
	if f != nil && f.isComplete(a.config.MaxFileBytes) {
		delete(a.files, x.Run)
		if err := f.close(); err != nil {
			return nil, err
		}
		f = nil
	}
	if f != nil {
		return f, nil
	}
	if len(a.files) >= maxOpenFiles {
		if err := a.closeFiles(time.Now()); err != nil {
			return nil, err
		}
	}
	f, err := a.create(x)
	if err != nil {
		return nil, err
	}
	a.files[x.Run] = f
	return f, nil
}
