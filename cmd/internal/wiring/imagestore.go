package wiring

import (
	"context"
	"io"
	"sync"

	"github.com/mosey-web/mosey/internal/imagestore"
)

// imageStore opens the store of images when it is first needed. Most workers never need
// it, and a store that cannot be opened must only affect runs that store images.
type imageStore struct {
	where string
	t     *Telemetry

	mu    sync.Mutex
	store *imagestore.Store
}

func (s *imageStore) open(ctx context.Context) (*imagestore.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, nil
	}
	store, err := imagestore.Open(ctx, s.where)
	if err == nil {
		s.store = store
	}
	return store, err
}

// with opens the store, has op done with it, and counts that.
func (s *imageStore) with(ctx context.Context, operation string, op func(*imagestore.Store) error) error {
	store, err := s.open(ctx)
	if err == nil {
		err = op(store)
	}
	s.t.imageStore(operation, err)
	return err
}

// Put implements activities.ImageStore.
func (s *imageStore) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	return s.with(ctx, "put", func(store *imagestore.Store) error { return store.Put(ctx, sha256, body, size, mediaType) })
}

// PutThumbnail implements activities.ImageStore.
func (s *imageStore) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	return s.with(ctx, "thumbnail", func(store *imagestore.Store) error { return store.PutThumbnail(ctx, sha256, jpeg) })
}

// Check implements activities.ImageStore.
func (s *imageStore) Check(ctx context.Context, size int64) error {
	return s.with(ctx, "check", func(store *imagestore.Store) error { return store.Check(ctx, size) })
}

// ImagesIn opens the store of images at a place, once that is asked for.
func ImagesIn(where string) func(context.Context) (*imagestore.Store, error) {
	return (&imageStore{where: where}).open
}
