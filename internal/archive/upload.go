package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// uploadInterval is the pause between two searches for complete files.
	uploadInterval = 10 * time.Second
	// uploadTimeout bounds the upload of a file: 300 KB/s for a file of MaxFileBytes.
	uploadTimeout = time.Hour
	// maxAge is the age at which a file that will be uploaded is complete.
	maxAge = time.Hour
)

// uploader moves complete files from a directory to a bucket.
type uploader struct {
	dir    string
	bucket Bucket
	logger *slog.Logger
	// isFailing is set after a failed upload that was logged.
	isFailing bool
}

// run uploads until the context ends. It calls complete before each search for files.
func (u *uploader) run(ctx context.Context, complete func() error) {
	for {
		err := errors.Join(complete(), u.uploadAll(ctx))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !u.isFailing:
			u.logger.WarnContext(ctx, "cannot upload the archive; its files stay on this machine until it works",
				"directory", u.dir, "error", err)
		case err == nil && u.isFailing:
			u.logger.InfoContext(ctx, "the archive is uploaded again")
		}
		u.isFailing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(uploadInterval):
		}
	}
}

// uploadAll uploads all complete files.
func (u *uploader) uploadAll(ctx context.Context) error {
	paths, err := filepath.Glob(filepath.Join(u.dir, "*"+Suffix))
	if err != nil {
		return err
	}
	for i, path := range paths {
		if err := u.upload(ctx, path); err != nil {
			return fmt.Errorf("%d files are left: %w", len(paths)-i, err)
		}
	}
	return nil
}

// upload uploads a file and removes it. It leaves a file that another process uploads.
func (u *uploader) upload(ctx context.Context, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	lock := flock.New(path + lockSuffix)
	if isLocked, err := lock.TryLock(); err != nil || !isLocked {
		return err
	}
	defer func() { err = errors.Join(err, unlock(lock)) }()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // uploaded meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := u.put(ctx, filepath.Base(path), f); err != nil {
		return err
	}
	return os.Remove(path)
}

// put stores a file unless it is stored. A killed process may have uploaded it before, and some of
// its records may be erased since.
func (u *uploader) put(ctx context.Context, name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size, err := u.bucket.Objects.Size(ctx, name)
	if err == nil && size == info.Size() {
		return nil
	}
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return err
	}
	return u.bucket.put(ctx, name, f)
}
