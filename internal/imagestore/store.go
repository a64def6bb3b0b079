package imagestore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	openSpan    = 10 * time.Second // for finding credentials
	cleanUpSpan = 10 * time.Second // after a context has ended
)

// place holds objects. It may ignore that a context has ended. For an object that is not there, it
// returns an error that missing recognizes.
type place interface {
	// write stores an object whole, or not at all. It reads body from its start.
	write(ctx context.Context, o object, body io.ReadSeeker) error
	read(ctx context.Context, key string) (in io.ReadCloser, size int64, err error)
	stat(ctx context.Context, key string) (size int64, written time.Time, err error)
	remove(ctx context.Context, key string) error
	// list is List, but an error may be anybody's.
	list(ctx context.Context, yield func(Object) error) (others int, err error)
	// names are sorted, and without the prefix of the files.
	names(ctx context.Context, prefix string) ([]string, error)
}

// Store keeps images. It is safe for use by several goroutines.
type Store struct {
	place place
	name  string
}

// Open opens the store at a URL, or in a directory, which it makes, readable by its owner and its
// group (0750). It finds credentials within 10 seconds, but does not test the store: Check does.
// An invalid URL is crawl.ErrInvalid. No error has credentials in it.
//
//	file:///var/lib/mosey/images
//	s3://BUCKET?region=REGION
//	s3://BUCKET?region=us-east-1&endpoint=http://minio:9000&use_path_style=true
func Open(ctx context.Context, where string) (*Store, error) {
	l, err := parseLocation(where)
	if err != nil {
		return nil, err
	}
	s := &Store{name: l.name}
	if l.bucket == nil {
		if s.place, err = openDirectory(l.dir); err != nil {
			return nil, s.trouble("open the store of images", err)
		}
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openSpan)
	defer cancel()
	if s.place, err = openBucket(ctx, l.bucket); err != nil {
		// The service has not been asked yet, so the error is about the URL or the environment.
		return nil, &failure{text: fmt.Sprintf("open the store of images in %s: %s", s.name, detail(err)), err: err}
	}
	return s, nil
}

// String is where the store is, without credentials.
func (s *Store) String() string { return s.name }

// Check writes, reads and deletes an object of about size bytes under a name of its own. Call it
// when a process starts.
func (s *Store) Check(ctx context.Context, size int64) (err error) {
	text := rand.Text()
	key := probePrefix + text
	trial := bytes.Repeat([]byte(text), max(1, int(size)/len(text)+1))
	o := newObject(key, "a trial object", "text/plain", trial)
	if err := s.write(ctx, o, bytes.NewReader(trial)); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpSpan)
		defer cancel()
		if e := s.remove(ctx, key, o.what); err == nil {
			err = e
		}
	}()
	in, _, err := s.read(ctx, key, o.what, o.sha)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return errors.Join(err, in.Close())
}

// DeleteAgeMin is the least age for Delete of an object without references: a Put that left it
// alone when it was young has long been recorded. It allows for clocks that differ.
const DeleteAgeMin = 2 * rewriteAfter

// Delete deletes an object that List has found, unless it was written since, and reports whether it
// is gone.
func (s *Store) Delete(ctx context.Context, o Object) (gone bool, err error) {
	if o.key == "" {
		return false, fmt.Errorf("%w: image %s: want an object that was listed", crawl.ErrInvalid, o.SHA256)
	}
	what := fmt.Sprintf("the object %q", o.key)
	_, written, err := s.place.stat(ctx, o.key)
	switch {
	case err == nil && written.After(o.Written):
		return false, nil
	case err == nil:
		err = s.remove(ctx, o.key, what)
		return err == nil, err
	case missing(err):
		return true, nil
	}
	return false, s.trouble("delete "+what, err)
}

// Erase deletes an image and its thumbnail, if they are there. A Put that has just left the image
// alone may be recorded afterwards: check then whether it is there.
func (s *Store) Erase(ctx context.Context, sha256 string) error {
	if err := checkSHA(sha256); err != nil {
		return err
	}
	return errors.Join(
		s.remove(ctx, imageKey(sha256), "image "+sha256),
		s.remove(ctx, thumbnailKey(sha256), "the thumbnail of image "+sha256),
	)
}

func (s *Store) remove(ctx context.Context, key, what string) error {
	if err := ctx.Err(); err != nil { // a directory does not ask
		return s.trouble("delete "+what, err)
	}
	if err := s.place.remove(ctx, key); err != nil && !missing(err) {
		return s.trouble("delete "+what, err)
	}
	return nil
}

// rewriteAfter is the age at which Put writes an object again, because it may be an orphan that is
// just being deleted; Delete leaves a young one alone.
const rewriteAfter = time.Hour

// isThere reports whether an object is stored with the right size and young enough to be left alone.
func (s *Store) isThere(ctx context.Context, o object) (bool, error) {
	size, written, err := s.place.stat(ctx, o.key)
	switch {
	case err == nil:
		return size == o.size && time.Since(written) < rewriteAfter, nil
	case missing(err):
		return false, nil
	}
	return false, s.trouble("look for "+o.what, err)
}

// Object is an object that List has found.
type Object struct {
	// SHA256 is that of the image, also for its thumbnail; empty for a leftover of Check.
	SHA256 string
	Bytes  int64
	// Written is when, in UTC, by the clock of the disk's machine or of the service.
	Written time.Time
	// Thumbnail says that it is the thumbnail, not the image.
	Thumbnail bool
	// Leftover is set for a partial file of a process that was killed, or is still writing.
	Leftover bool

	key string
}

// List calls yield for all images, thumbnails and leftovers, in the order of their keys, until that
// returns an error, which List returns. An object that is written or deleted meanwhile may be among
// them. others counts foreign objects; a folder without keys of ours counts once.
func (s *Store) List(ctx context.Context, yield func(Object) error) (others int, err error) {
	var stopped error
	others, err = s.place.list(ctx, func(o Object) error {
		stopped = yield(o)
		return stopped
	})
	if err != nil && stopped == nil {
		err = s.trouble("list the images", err)
	}
	return others, err
}
