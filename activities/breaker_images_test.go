package activities_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// A host that has images alone refuses all else: whether it has recovered is told by its
// images.
func TestBreakerOfAnImageHost(t *testing.T) {
	t.Parallel()
	const images = 10
	// shown is such a host. Its pages were crawled, and its images are down while the
	// flag is set. The bundle is about it.
	shown := func(t *testing.T) (*testBundle, *atomic.Bool) {
		t.Helper()
		down := new(atomic.Bool)
		png := pngOf(t, 200, 150, 1)
		var html strings.Builder
		paths := map[string]web.Behaviour{}
		for i := range images {
			fmt.Fprintf(&html, `<img src="http://images.test{port}/%d.png">`, i)
			paths[fmt.Sprintf("/%d.png", i)] = serve(func(v *web.Visit) {
				if down.Load() {
					web.Status{Code: 503}.Serve(v)
					return
				}
				png.Serve(v)
			})
		}
		page := serve(func(v *web.Visit) {
			_, port, _ := strings.Cut(v.R.Host, ":")
			htmlOf(strings.ReplaceAll(html.String(), "{port}", ":"+port)).Serve(v)
		})
		set := imageSettings(settings.ImagesMetadata)
		set.MaxAttempts, set.MaxGraylistings = new(2), new(3)
		b := setup(t, options{settings: set, sites: []web.Site{
			{Host: "pages.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/": page}},
			{Host: "images.test", Pages: -1, Plain: true, Behaviour: web.Status{Code: 403}, Paths: paths},
		}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		b.site = "images.test"
		b.allowAll(t, b.page("/"))
		_, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		return b, down
	}
	// fails has its images be down until it is graylisted.
	fails := func(t *testing.T, b *testBundle, down *atomic.Bool) {
		t.Helper()
		down.Store(true)
		for range 2 * images {
			b.rested(t)
			if res, _ := b.fetchPages(t, 1); res.Reason == reasons.Graylist { // an error is the wait for the next
				down.Store(false)
				b.rested(t)
				return
			}
		}
		require.Fail(t, "it is not graylisted")
	}
	requireAll := func(t *testing.T, b *testBundle) {
		t.Helper()
		for range 10 * images {
			b.rested(t)
			b.exec(t, "UPDATE page_crawls SET scheduled_for = now() WHERE outcome IS NULL")
			if res, err := b.fetchPages(t, 1); err == nil && res.Next == activities.StepFinish {
				break
			}
		}
		require.NotContains(t, b.pages(), "/", "the front page is no image")
		require.Equal(t, images, b.count(t, "SELECT count(*) FROM images WHERE download_success"))
	}

	t.Run("IsProbedAtAnImageThatHasWorked", func(t *testing.T) {
		t.Parallel()
		b, down := shown(t)
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		worked := b.pages()
		require.Len(t, worked, 1)
		fails(t, b, down)
		before := len(b.pages())
		_, err = b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, worked, b.pages()[before:])
		requireAll(t, b)
	})

	t.Run("IsProbedAtItsNextImageWhereNoneHas", func(t *testing.T) {
		t.Parallel()
		b, down := shown(t)
		fails(t, b, down)
		requireAll(t, b)
	})

	t.Run("IsProbedAtItsFrontPageWhereItHasPages", func(t *testing.T) {
		t.Parallel()
		b, down := shown(t)
		b.seed(t, "/about")
		fails(t, b, down)
		before := len(b.pages())
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, []string{"/"}, b.pages()[before:])
	})
}
