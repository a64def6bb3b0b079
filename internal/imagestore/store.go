package imagestore

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // a service's check of what it was sent; SHA-256 is ours
	"crypto/rand"
	"fmt"
	"time"

	"gocloud.dev/blob"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// openSpan bounds how long credentials are looked for.
	openSpan = 10 * time.Second
	// cleanUpSpan bounds what is done after a context has ended.
	cleanUpSpan = 10 * time.Second
)

// Store keeps images. It is safe for use by several goroutines.
type Store struct {
	bucket *blob.Bucket
	driver driver
	name   string
	dir    string // empty for a bucket
}

// Open opens the store at a URL, or in the directory of that path, which it makes, readable
// by its owner and its group (0750). It finds credentials, for 10 seconds at the most, but
// asks nothing of the store itself: Check does. A URL that makes no sense is
// crawl.ErrInvalid. No error has credentials in it.
//
//	file:///var/lib/mosey/images
//	s3://BUCKET?region=REGION
//	s3://BUCKET?region=us-east-1&endpoint=http://minio:9000&use_path_style=true
//	gs://BUCKET
//	azblob://CONTAINER
func Open(ctx context.Context, where string) (*Store, error) {
	l, err := parseLocation(where)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openSpan)
	defer cancel()
	s := &Store{driver: l.driver, name: l.name, dir: l.dir}
	if s.bucket, err = l.driver.open(ctx, l); err != nil {
		if s.dir != "" {
			return nil, s.trouble("open the store of images", err)
		}
		// Nothing is asked of the service yet: the driver says what is missing.
		return nil, &failure{text: fmt.Sprintf("open the store of images in %s: %s", s.name, detail(err)), err: err}
	}
	return s, nil
}

// String is where the store is, without credentials.
func (s *Store) String() string { return s.name }

// Close gives up what the store has open.
func (s *Store) Close() error {
	if err := s.bucket.Close(); err != nil {
		return s.trouble("close the store of images", err)
	}
	return nil
}

// Check reports whether the store can be written, read and deleted from: it does so with
// an object under a name of its own, of so many bytes or a few more. Call it when a process
// starts.
func (s *Store) Check(ctx context.Context, size int64) (err error) {
	text := rand.Text()
	key := probePrefix + text
	trial := bytes.Repeat([]byte(text), max(1, int(size)/len(text)+1))
	o := object{key: key, what: "a trial object", mediaType: "text/plain", size: int64(len(trial))}
	o.md5 = md5.Sum(trial) //nolint:gosec // see the import
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
	got, err := s.bucket.ReadAll(ctx, key)
	if err != nil {
		return s.trouble("read "+o.what, err)
	}
	if !bytes.Equal(got, trial) {
		return s.trouble("read "+o.what, fmt.Errorf("it is not what was written: %w", ErrCorrupt))
	}
	return nil
}

// DeleteAgeMin is how old an object has to be for Delete, where nothing refers to it: a Put
// that left it alone, as it was young enough then, has long been recorded. It allows for
// clocks that differ.
const DeleteAgeMin = 2 * rewriteAfter

// Delete deletes what List has found, and reports whether it is gone: what was written
// since, as by a Put of the same image, is left alone.
func (s *Store) Delete(ctx context.Context, o Object) (gone bool, err error) {
	if o.key == "" {
		return false, fmt.Errorf("%w: image %s: want an object that was listed", crawl.ErrInvalid, o.SHA256)
	}
	what := fmt.Sprintf("the object %q", o.key)
	attributes, err := s.bucket.Attributes(ctx, o.key)
	switch {
	case err == nil && attributes.ModTime.After(o.Written):
		return false, nil
	case err == nil:
		err = s.remove(ctx, o.key, what)
		return err == nil, err
	case missing(err):
		return true, nil
	}
	return false, s.trouble("delete "+what, err)
}

// remove deletes what is there.
func (s *Store) remove(ctx context.Context, key, what string) error {
	if err := ctx.Err(); err != nil { // a directory does not ask
		return s.trouble("delete "+what, err)
	}
	if err := s.bucket.Delete(ctx, key); err != nil && !missing(err) {
		return s.trouble("delete "+what, err)
	}
	return nil
}

// size is that of what is stored under a key, or crawl.ErrNotFound.
func (s *Store) size(ctx context.Context, o object) (int64, error) {
	attributes, err := s.bucket.Attributes(ctx, o.key)
	switch {
	case err == nil:
		return attributes.Size, nil
	case missing(err):
		return 0, s.notFound(o.what)
	default:
		return 0, s.trouble("look for "+o.what, err)
	}
}

// rewriteAfter is how old an object may be that is left alone. One that is older may be an
// orphan which is just being deleted: it is written again, and young then, which spares it.
const rewriteAfter = time.Hour

// isThere reports whether an object is stored that need not be written: it has the size
// that it should have, and is young.
func (s *Store) isThere(ctx context.Context, o object) (bool, error) {
	attributes, err := s.bucket.Attributes(ctx, o.key)
	switch {
	case err == nil:
		return attributes.Size == o.size && time.Since(attributes.ModTime) < rewriteAfter, nil
	case missing(err):
		return false, nil
	}
	return false, s.trouble("look for "+o.what, err)
}
