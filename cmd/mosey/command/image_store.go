package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// ImageStoreFlag names the place where images are stored, for commands that read it.
type ImageStoreFlag struct {
	ImageStore string `help:"Where the bytes of images are kept: a directory, or the URL of a bucket (s3://). Default: images in the data directory." placeholder:"DIR|URL"`
}

// Open opens it.
func (f ImageStoreFlag) Open(ctx context.Context, e *Env) (*imagestore.Store, error) {
	where, err := ImageStoreOf(e, f.ImageStore)
	if err != nil {
		return nil, err
	}
	if where == "" {
		return nil, wiring.Usagef("--image-store: want the directory or the bucket that the workers of this cluster store images in")
	}
	store, err := imagestore.Open(ctx, where)
	if err != nil {
		return nil, wiring.Usagef("--image-store: %w", err)
	}
	return store, nil
}

// WithImages hands out the store of images.
func (f ImageStoreFlag) WithImages(ctx context.Context, e *Env, do func(*imagestore.Store) error) error {
	store, err := f.Open(ctx, e)
	if err != nil {
		return err
	}
	if err := do(store); err != nil {
		return fmt.Errorf("images in %s: %w", store, err)
	}
	return nil
}

// NoteLostImages notes those of some images that are recorded as stored and are not there, and returns
// how many they were: runs that want them fetch them again.
func NoteLostImages(ctx context.Context, store *db.Store, images *imagestore.Store, hashes []string) (lost int64, err error) {
	named, err := store.StoredImages(ctx, hashes)
	for _, sha := range named {
		n, err := noteIfLost(ctx, store, images, sha)
		if lost += n; err != nil {
			return lost, err
		}
	}
	return lost, err
}

func noteIfLost(ctx context.Context, store *db.Store, images *imagestore.Store, sha string) (lost int64, err error) {
	image, err := IsThere(images.Get(ctx, sha))
	if image || err != nil {
		return 0, err
	}
	thumbnail, err := IsThere(images.Thumbnail(ctx, sha))
	if err != nil {
		return 0, err
	}
	known, err := store.ImageContent(ctx, sha)
	if err != nil {
		return 0, err
	}
	if known.Stored {
		lost = 1
	}
	return lost, store.LoseImages(ctx, []string{sha}, !thumbnail)
}

// IsThere reports whether there is something to read.
func IsThere(in io.ReadCloser, _ int64, err error) (bool, error) {
	if errors.Is(err, crawl.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, in.Close()
}
