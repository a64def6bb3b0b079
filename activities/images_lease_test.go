package activities_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/manners/web"
)

// slowStore takes an image once it is allowed to.
type slowStore struct {
	activities.ImageStore

	before func(context.Context) error
}

func (s *slowStore) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	if err := s.before(ctx); err != nil {
		return err
	}
	return s.ImageStore.Put(ctx, sha256, body, size, mediaType)
}

// If a worker dies with an image, its domain rests no longer than for a page. One that takes
// long to be stored is not taken for dead all the same.
func TestTheLeaseOfAnImageIsKept(t *testing.T) {
	t.Parallel()
	const timeout = 600 * time.Millisecond
	const lease = timeout + 5*time.Second // leaseMargin
	images, err := imagestore.Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	store := &slowStore{ImageStore: images}
	b := setup(t, options{
		settings: imageSettings(settings.ImagesStore), images: store, limits: fetch.Config{TotalTimeout: timeout},
		sites: []web.Site{imagesOf(`<img src="/a.png">`, map[string]web.Behaviour{"/a.png": pngOf(t, 200, 150, 1)})},
	})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	var left time.Duration
	store.before = func(ctx context.Context) error {
		var first time.Time
		for end := (time.Time{}); !end.After(first); {
			err := b.store.Pool().QueryRow(ctx, `
				SELECT free_at, extract(epoch FROM free_at - clock_timestamp()) * 1e9
				FROM politeness_slots WHERE key = 'domain:' || $1 AND holder IS NOT NULL`, b.site).Scan(&end, &left)
			if err != nil {
				return fmt.Errorf("look at the lease: %w", err)
			}
			if first.IsZero() {
				first = end
				if left > lease {
					return fmt.Errorf("the lease lasts for %s", left)
				}
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	_, err = b.fetchPages(t, 100)
	require.NoError(t, err)
	require.Greater(t, left, lease, "it was renewed")
	require.Equal(t, 1, b.asked("/a.png"))
	require.NotZero(t, b.imageRows(t)["/a.png"].StoredAt)
	b.requireNothingInFlight(t)
}
