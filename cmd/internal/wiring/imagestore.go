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

// Put implements activities.ImageStore.
func (s *imageStore) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	return store.Put(ctx, sha256, body, size, mediaType)
}

// PutThumbnail implements activities.ImageStore.
func (s *imageStore) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	return store.PutThumbnail(ctx, sha256, jpeg)
}

// Check implements activities.ImageStore.
func (s *imageStore) Check(ctx context.Context, size int64) error {
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	return store.Check(ctx, size)
}
