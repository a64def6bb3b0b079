package imagestore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

// Object is what is stored for an image, and found by List.
type Object struct {
	// SHA256 is that of the image, also for its thumbnail; empty for a leftover of Check.
	SHA256 string
	Bytes  int64
	// Written is when, in UTC, by the clock of the disk's machine or of the service.
	Written time.Time
	// Thumbnail says that it is the thumbnail, not the image.
	Thumbnail bool
	// Leftover says that it is neither: a file of a process that was killed while it wrote, or
	// of one that writes just now. Nobody reads it.
	Leftover bool

	key string
}

// List calls yield for all images, thumbnails and leftovers, in the order of their keys,
// until that returns an error, which List returns. What is written or deleted meanwhile may be among
// them or not. What has no key of ours is left out, and its number returned: of a
// directory, a folder that can have none counts once.
func (s *Store) List(ctx context.Context, yield func(Object) error) (others int, err error) {
	if s.dir == "" {
		return s.listBucket(ctx, yield)
	}
	return s.listDirectory(ctx, yield)
}

func (s *Store) listBucket(ctx context.Context, yield func(Object) error) (others int, err error) {
	page := s.bucket.List(nil)
	for {
		o, err := page.Next(ctx)
		if errors.Is(err, io.EOF) {
			return others, nil
		}
		if err != nil {
			return others, s.trouble("list the images", err)
		}
		found, ok := parseKey(o.Key)
		if !ok {
			others++
			continue
		}
		found.Bytes, found.Written = o.Size, o.ModTime.UTC()
		if err := yield(found); err != nil {
			return others, err
		}
	}
}

// listDirectory walks a directory itself. The driver walks all of it anew for each thousand,
// and passes over what it cannot read as if nothing were there.
func (s *Store) listDirectory(ctx context.Context, yield func(Object) error) (others int, err error) {
	var stopped error // by yield
	err = filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != s.dir { // deleted meanwhile
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		key, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		key = filepath.ToSlash(key)
		if entry.IsDir() {
			if key == "." || mayHaveKeys(key) {
				return nil
			}
			others++
			return fs.SkipDir
		}
		found, ok := parseKey(key)
		if !ok || !entry.Type().IsRegular() {
			others++
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		found.Bytes, found.Written = info.Size(), info.ModTime().UTC()
		stopped = yield(found)
		return stopped
	})
	switch {
	case stopped != nil:
		return others, stopped
	case err != nil:
		return others, s.trouble("list the images", err)
	default:
		return others, nil
	}
}
