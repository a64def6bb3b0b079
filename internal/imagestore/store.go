package imagestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	openTimeout    = 10 * time.Second // for finding credentials
	cleanUpTimeout = 10 * time.Second // after a context has ended
)

// backend stores objects. It may ignore that a context has ended. For a missing object, it returns
// an error that missing recognizes.
type backend interface {
	// write stores an object atomically. It reads body from its start.
	write(ctx context.Context, o object, body io.ReadSeeker) error
	// read returns an object, or with a length above 0 so many bytes from offset on. size is that of
	// the returned bytes.
	read(ctx context.Context, key string, offset, length int64) (in io.ReadCloser, size int64, err error)
	stat(ctx context.Context, key string) (size int64, written time.Time, err error)
	remove(ctx context.Context, key string) error
	// walk calls yield for all entries under a prefix, in the order of their keys, and stops at its
	// first error. In a directory, yield returns fs.SkipDir to skip a folder.
	walk(ctx context.Context, prefix string, yield func(entry) error) error
}

// entry is an object of a bucket, or a file or folder in a directory. Its size and its time are
// known if it is an object or a regular file.
type entry struct {
	key     string
	size    int64
	written time.Time
	mode    fs.FileMode // only its type
}

// Store stores images. It is safe for concurrent use.
type Store struct {
	backend backend
	name    string
}

// Open opens the store at a URL, or in a directory. It creates the directory, readable by its owner
// and its group (0750). It finds credentials within 10 seconds, but Check tests the store. An
// invalid URL is crawl.ErrInvalid. Errors contain no credentials.
//
//	file:///var/lib/mosey/images
//	s3://BUCKET?region=REGION
//	s3://BUCKET?region=us-east-1&endpoint=http://minio:9000&use_path_style=true
func Open(ctx context.Context, location string) (*Store, error) {
	l, err := parseLocation(location)
	if err != nil {
		return nil, err
	}
	s := &Store{name: l.name}
	if l.bucket == nil {
		if s.backend, err = openDirectory(l.dir); err != nil {
			return nil, s.describeFailure("open the image store", err)
		}
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if s.backend, err = openBucket(ctx, l.bucket); err != nil {
		// The service was not requested yet, so the error is about the URL or the environment.
		return nil, &failure{text: fmt.Sprintf("open the image store in %s: %s", s.name, detail(err)), err: err}
	}
	return s, nil
}

// String returns the location of the store without credentials.
func (s *Store) String() string { return s.name }

// Check writes, reads and deletes a unique object of about size bytes. Call it at process start.
func (s *Store) Check(ctx context.Context, size int64) (err error) {
	text := rand.Text()
	key := probePrefix + text
	content := bytes.Repeat([]byte(text), max(1, int(size)/len(text)+1))
	o := newObject(key, "a test object", "text/plain", content)
	if err := s.write(ctx, o, bytes.NewReader(content)); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
		defer cancel()
		if e := s.remove(ctx, key, o.label); err == nil {
			err = e
		}
	}()
	in, _, err := s.read(ctx, span{key: key}, o.label, o.sha)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, in.Close())
}

// DeleteAgeMin is the least age of unreferenced objects for Delete. Any Put that skipped a young
// object has been recorded long before. It allows for clock differences.
const DeleteAgeMin = 2 * rewriteAfter

// Delete deletes an object from List unless it was written since. It reports whether it is gone.
func (s *Store) Delete(ctx context.Context, o Object) (gone bool, err error) {
	if o.key == "" {
		return false, fmt.Errorf("%w: image %s: want a listed object", crawl.ErrInvalid, o.SHA256)
	}
	label := fmt.Sprintf("the object %q", o.key)
	_, written, err := s.backend.stat(ctx, o.key)
	switch {
	case err == nil && written.After(o.Written):
		return false, nil
	case err == nil:
		err = s.remove(ctx, o.key, label)
		return err == nil, err
	case isMissing(err):
		return true, nil
	}
	return false, s.describeFailure("delete "+label, err)
}

// Erase deletes an image and its thumbnail, if they exist. A concurrent Put that skipped the image
// may be recorded afterwards. The caller must then check whether the image exists.
func (s *Store) Erase(ctx context.Context, sha256 string) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	return errors.Join(
		s.remove(ctx, imageKey(sha256), "image "+sha256),
		s.remove(ctx, thumbnailKey(sha256), "the thumbnail of image "+sha256),
	)
}

func (s *Store) remove(ctx context.Context, key, label string) error {
	if err := ctx.Err(); err != nil { // a directory does not check it
		return s.describeFailure("delete "+label, err)
	}
	if err := s.backend.remove(ctx, key); err != nil && !isMissing(err) {
		return s.describeFailure("delete "+label, err)
	}
	return nil
}

// rewriteAfter is the age at which Put writes an object again, because it may be an orphan that is
// being deleted. Delete skips younger objects.
const rewriteAfter = time.Hour

// isStored reports whether an object is stored with the right size and young enough to be skipped.
func (s *Store) isStored(ctx context.Context, o object) (bool, error) {
	size, written, err := s.backend.stat(ctx, o.key)
	switch {
	case err == nil:
		return size == o.size && time.Since(written) < rewriteAfter, nil
	case isMissing(err):
		return false, nil
	}
	return false, s.describeFailure("look for "+o.label, err)
}

// Object is an object from List.
type Object struct {
	// SHA256 is the SHA-256 of the image, also for its thumbnail, or empty for leftovers of Check.
	SHA256 string
	Bytes  int64
	// Written is the time of the write, in UTC, by the clock of the disk's machine or service.
	Written time.Time
	// Thumbnail is set for a thumbnail.
	Thumbnail bool
	// Leftover is set for a partial file of a process that was killed, or is still writing.
	Leftover bool

	key string
}

// List calls yield for all images, thumbnails and leftovers, in the order of their keys. It stops
// at the first error of yield and returns it. Objects that are written or deleted concurrently may
// be included. others counts foreign objects. A folder without keys of this package counts once.
func (s *Store) List(ctx context.Context, yield func(Object) error) (others int, err error) {
	var yieldErr error
	err = s.backend.walk(ctx, "", func(e entry) error {
		o, ok := parseKey(e.key)
		switch {
		case e.mode.IsDir() && canHaveKeys(e.key):
			return nil
		case e.mode.IsDir():
			others++
			return fs.SkipDir
		case !ok || !e.mode.IsRegular():
			others++
			return nil
		}
		o.Bytes, o.Written = e.size, e.written.UTC()
		yieldErr = yield(o)
		return yieldErr
	})
	if err != nil && yieldErr == nil {
		err = s.describeFailure("list the images", err)
	}
	return others, err
}
