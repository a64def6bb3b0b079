package images

import (
	"context"
	"fmt"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// imageStoreFlag names the place where images are stored, for commands that read it.
type imageStoreFlag struct {
	ImageStore string `help:"Where the bytes of images are kept: a directory, or the URL of a bucket (s3://). Default: images in the data directory." placeholder:"DIR|URL"`
}

// open opens it.
func (f imageStoreFlag) open(ctx context.Context, e *command.Env) (*imagestore.Store, error) {
	where, err := command.ImageStoreOf(e, f.ImageStore)
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

// withImages hands out the store of images.
func (f imageStoreFlag) withImages(ctx context.Context, e *command.Env, do func(*imagestore.Store) error) error {
	store, err := f.open(ctx, e)
	if err != nil {
		return err
	}
	if err := do(store); err != nil {
		return fmt.Errorf("images in %s: %w", store, err)
	}
	return nil
}
