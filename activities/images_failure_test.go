package activities_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/wait"
)

// crowdedStore is a store of images on a disk with little room left, and of another kind of
// failure with all that is larger than a limit.
type crowdedStore struct {
	*imagestore.Store

	room, limit int64
}

func (s *crowdedStore) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	switch {
	case size > s.room:
		return fmt.Errorf("%d bytes: %w", size, crawl.ErrFull)
	case size > s.limit:
		return errors.New("413 Request Entity Too Large")
	}
	return s.Store.Put(ctx, sha256, body, size, mediaType)
}

func (s *crowdedStore) Check(ctx context.Context, size int64) error {
	if size > s.room {
		return fmt.Errorf("%d bytes: %w", size, crawl.ErrFull)
	}
	return s.Store.Check(ctx, size)
}

func openImages(t *testing.T) *imagestore.Store {
	t.Helper()
	images, err := imagestore.Open(t.Context(), filepath.Join(t.TempDir(), "images"))
	require.NoError(t, err)
	return images
}

// A store that cannot be written to is an internal failure.
func TestImagesThatCannotBeStored(t *testing.T) {
	t.Parallel()
	one := []web.Site{imagesOf(`<img src="/a.png">`, map[string]web.Behaviour{"/a.png": pngOf(t, 200, 150, 1)})}

	t.Run("AreLeftAloneWhileItIsAway", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "images")
		images, err := imagestore.Open(t.Context(), dir)
		require.NoError(t, err)
		b := setup(t, options{settings: imageSettings(settings.ImagesStore), images: images, sites: one})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.WriteFile(dir, nil, 0o600)) // a file is where the directory was

		_, err = b.fetchPages(t, 100)
		requireInternalFailure(t, err)
		require.Equal(t, 1, b.asked("/a.png"))
		for range 5 {
			_, err = b.fetchPages(t, 100)
			requireInternalFailure(t, err)
		}
		require.Equal(t, 1, b.asked("/a.png"), "nothing is asked for that cannot be kept")
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'image' AND skipped = 'undone'"))
		require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'image' AND outcome = 'failed'"))

		require.NoError(t, os.Remove(dir))
		wait.Until(t, func() bool {
			_, err := b.fetchPages(t, 100)
			return err == nil
		}, time.Minute, 100*time.Millisecond, "once it is looked at again")
		require.Equal(t, 2, b.asked("/a.png"))
		require.NotZero(t, b.imageRows(t)["/a.png"].StoredAt)
		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.EqualValues(t, 1, dom.Runs[0].ImageRequests, "what was taken back counts for nothing")
	})

	t.Run("AreNotGivenUpForLackOfRoom", func(t *testing.T) {
		t.Parallel()
		images := &crowdedStore{openImages(t), 1000, 1 << 30}
		b := setup(t, options{settings: imageSettings(settings.ImagesStore), images: images, sites: one})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 100)
		requireInternalFailure(t, err)
		require.ErrorContains(t, err, "the store is full")
		require.Nil(t, b.imageRows(t)["/a.png"].Success, "what is small would be taken: it is not this image")
		images.room = 1 << 30
		wait.Until(t, func() bool {
			_, err := b.fetchPages(t, 100)
			return err == nil
		}, time.Minute, 100*time.Millisecond, "once there is room")
		require.NotZero(t, b.imageRows(t)["/a.png"].StoredAt)
	})

	t.Run("AreRecordedWhereItTakesOthers", func(t *testing.T) {
		t.Parallel()
		images := &crowdedStore{openImages(t), 1 << 30, 1000}
		set := imageSettings(settings.ImagesStore)
		set.Thumbnails = new(true)
		b := setup(t, options{settings: set, images: images, sites: one})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		r := b.imageRows(t)["/a.png"]
		require.NotEmpty(t, r.SHA256)
		require.Zero(t, r.StoredAt)
		require.NotZero(t, r.ThumbnailAt)
		require.Contains(t, b.report(t, "/a.png").Crawls[0].Error, "the image could not be stored: 413")
	})

	t.Run("DoNotHoldUpOtherRuns", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{settings: imageSettings(settings.ImagesStore), sites: one})
		b.exec(t, `UPDATE crawl_runs SET settings = jsonb_set(settings, '{delay}', '"100ms"')`)
		other := b.inRun(t, "pages", settings.Settings{YieldAfter: new(int64(1))})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 100)
		require.ErrorContains(t, err, "--image-store")
		other.seed(t, "/other")
		_, err = b.fetchPages(t, 100)
		require.ErrorContains(t, err, "--image-store")
		require.Equal(t, []string{"/", "/other"}, b.pages())
		require.Equal(t, 100, b.count(t, "SELECT delay_ms FROM page_crawls WHERE url = $1", b.page("/other")),
			"the delay is that of the run that waits, too")

		other.seed(t, "/third")
		b.exec(t, "UPDATE crawl_runs SET has_waiting_domains = true")
		_, err = b.fetchPages(t, 100)
		require.ErrorContains(t, err, "--image-store", "the other has had its turn")
		require.Equal(t, []string{"/", "/other"}, b.pages())
	})
}

// What a feed lists comes first among pages, but never before images: else the budget of
// pages, once it is spent, would hide those.
func TestImagesComeBeforeNews(t *testing.T) {
	t.Parallel()
	b := setup(t, options{
		settings: settings.Settings{Images: new(settings.ImagesMetadata), MaxPagesPerDomain: new(int64(2)), Feeds: new(true)},
		sites: []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/": page{
				head: `<link rel="alternate" type="application/atom+xml" href="/feed">`,
				body: `<img src="/a.png">`,
			},
			"/feed": xmlOf(atom), "/a.png": turns{answers: []func(*web.Visit){
				func(v *web.Visit) { v.W.WriteHeader(http.StatusServiceUnavailable) }, pngOf(t, 200, 150, 1).Serve,
			}},
		}}},
	})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	_, err := b.fetchPages(t, 100)
	require.Error(t, err, "the failure of the image ends a batch")
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '4 s' WHERE kind = 'image' AND outcome IS NULL")
	wait.Until(t, func() bool {
		res, err := b.fetchPages(t, 100)
		return err == nil && res.Next == activities.StepFinish
	}, 20*time.Second, 100*time.Millisecond)
	require.Equal(t, []string{"/", "/a.png", "/feed", "/news/2", "/a.png"}, b.pages())
	require.NotZero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE priority = 1 AND outcome IS NULL"), "news waits")
}

func TestImagesThatAreForbiddenLater(t *testing.T) {
	t.Parallel()
	forbidden := map[string]string{"X-Robots-Tag": "noimageindex"}
	// recorded is a site whose image was recorded, and is to be asked for again.
	recorded := func(t *testing.T, page, image web.Behaviour) *testBundle {
		t.Helper()
		b := setup(t, options{settings: imageSettings(settings.ImagesMetadata), sites: []web.Site{{
			Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/": page, "/a.png": image},
		}}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		require.NotEmpty(t, b.imageRows(t)["/a.png"].SHA256)
		b.exec(t, "UPDATE image_contents SET creator = 'somebody'")
		return b
	}
	again := func(t *testing.T, b *testBundle) {
		t.Helper()
		next := b.inRun(t, "later", settings.Settings{Images: new(settings.ImagesMetadata), MinRefetch: new(settings.Duration)})
		next.seed(t, "/")
		next.crawlAll(t, 10)
	}
	requireForgotten := func(t *testing.T, b *testBundle) {
		t.Helper()
		r := b.imageRows(t)["/a.png"]
		require.Equal(t, crawl.ImageForbidden, r.Problem)
		require.Empty(t, r.SHA256)
		require.Zero(t, b.count(t, "SELECT count(*) FROM image_contents WHERE phash IS NOT NULL OR dhash IS NOT NULL OR creator IS NOT NULL"))
	}
	shown, image := htmlOf(`<img src="/a.png">`), pngOf(t, 200, 150, 1)

	t.Run("ByItsHeaderIsForgotten", func(t *testing.T) {
		t.Parallel()
		b := recorded(t, shown, turns{answers: []func(*web.Visit){image.Serve, headed{image, forbidden}.Serve}})
		again(t, b)
		require.Equal(t, 2, b.asked("/a.png"))
		requireForgotten(t, b)
	})

	t.Run("ByItsPageIsForgotten", func(t *testing.T) {
		t.Parallel()
		b := recorded(t, turns{answers: []func(*web.Visit){shown.Serve, headed{shown, forbidden}.Serve}}, image)
		again(t, b)
		require.Equal(t, 1, b.asked("/a.png"))
		requireForgotten(t, b)
	})

	t.Run("ByOneOfItsPagesIsKept", func(t *testing.T) {
		t.Parallel()
		b := recorded(t, turns{answers: []func(*web.Visit){shown.Serve, headed{shown, forbidden}.Serve}}, image)
		b.exec(t, `INSERT INTO provenance (id, image_id, page_id, source_page_url, source_domain, discovery_type)
			SELECT uuid_v7(), image_id, 999, source_page_url || '/other', source_domain, 'img' FROM provenance`)
		again(t, b)
		require.NotEmpty(t, b.imageRows(t)["/a.png"].SHA256)
	})

	t.Run("ByRobotsKeepsWhatWasRecorded", func(t *testing.T) {
		t.Parallel()
		b := recorded(t, shown, image)
		b.exec(t, "UPDATE robots SET verdict = 'disallow_all', reason = 'it is malformed'")
		next := b.inRun(t, "later", settings.Settings{Images: new(settings.ImagesMetadata), MinRefetch: new(settings.Duration)})
		next.seed(t, "/")
		b.exec(t, `INSERT INTO page_crawls (page_id, domain, priority, run_id, url, kind, depth)
			SELECT id, domain, 3, $1, url, 'image', 1 FROM pages WHERE kind = 'image'`, next.run.ID)
		next.crawlAll(t, 10)
		require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/a.png").Crawls[0].Outcome)
		r := b.imageRows(t)["/a.png"]
		require.Equal(t, crawl.ImageForbidden, r.Problem)
		require.NotEmpty(t, r.SHA256, "who may ask is another question")
	})
}

// An image that somebody has linked to, and that was passed over as a page, is asked for once
// a page shows it, at whichever host.
func TestImagesThatWerePassedOver(t *testing.T) {
	t.Parallel()
	crawled := func(t *testing.T, scope settings.ImageScope) (b *testBundle) {
		t.Helper()
		set := imageSettings(settings.ImagesMetadata)
		set.ImageScope, set.Scope = &scope, new(settings.ScopeWeb)
		image := func() string { return b.web.URL("cdn.test", "/a.png") }
		answer := func(body func() string) web.Behaviour {
			return turns{answers: []func(*web.Visit){func(v *web.Visit) { htmlOf(body()).Serve(v) }}}
		}
		b = setup(t, options{settings: set, sites: []web.Site{
			{Host: "pages.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
				"/":     answer(func() string { return `<a href="` + image() + `">large</a><a href="/next">next</a>` }),
				"/next": answer(func() string { return `<img src="` + image() + `">` }),
			}},
			{Host: "cdn.test", Pages: -1, Plain: true, Unseeded: true, Paths: map[string]web.Behaviour{"/a.png": pngOf(t, 200, 150, 1)}},
		}})
		b.site = "pages.test"
		return b
	}
	for name, c := range map[string]struct {
		scope settings.ImageScope
		asked []string
	}{
		"AtAnyHost": {settings.ImageScopeAny, []string{"/a.png"}}, "ButForTheScope": {settings.ImageScopeSeeds, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := crawled(t, c.scope)
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 1)
			require.NoError(t, err)
			cdn := *b
			cdn.site = "cdn.test"
			_, err = b.store.ClaimDomains(t.Context(), b.run.ID, 10)
			require.NoError(t, err)
			cdn.readRobots(t)
			cdn.crawlAll(t, 5)
			require.Empty(t, cdn.pages())
			require.Equal(t, reasons.Extension, cdn.report(t, "/a.png").Crawls[0].Skipped)
			_, err = b.store.FinishDomain(t.Context(), "cdn.test", func(f crawl.Facts) (crawl.Finish, bool) {
				return decide.End(decide.Facts{Facts: f}, "")
			})
			require.NoError(t, err)

			b.crawlAll(t, 10)
			due := b.count(t, "SELECT count(*) FROM run_domains WHERE domain = 'cdn.test' AND next_due_at <= now()")
			require.Equal(t, len(c.asked), due, "the dispatcher sees it")
			cdn.crawlAll(t, 5)
			require.Equal(t, c.asked, cdn.pages())
		})
	}
}

// What an image redirects to stays an image of the pages that name it.
func TestImagesThatMoveStayOnTheirPages(t *testing.T) {
	t.Parallel()
	b := setup(t, options{settings: imageSettings(settings.ImagesMetadata), sites: []web.Site{imagesOf(
		`<img src="/old.png">`, map[string]web.Behaviour{
			"/old.png": web.Redirect{To: "/newer.png"}, "/newer.png": web.Redirect{To: "/new.png"}, "/new.png": pngOf(t, 200, 150, 1),
			"/other": htmlOf(`two <img src="/old.png">`),
		})}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.crawlAll(t, 10)
	require.EqualValues(t, 1, b.imageRows(t)["/new.png"].Pages)
	later := b.inRun(t, "later", settings.Settings{Images: new(settings.ImagesMetadata), MinRefetch: new(settings.Duration)})
	later.seed(t, "/", "/other")
	_, err := later.fetchPages(t, 1) // a page is read again, and none of its images
	require.NoError(t, err)
	require.EqualValues(t, 1, b.imageRows(t)["/new.png"].Pages)
	require.Zero(t, b.count(t, "SELECT count(*) FROM provenance WHERE gone_at IS NOT NULL"))
	later.crawlAll(t, 10)
	require.EqualValues(t, 2, b.imageRows(t)["/new.png"].Pages)
	dom, err := b.store.Domain(t.Context(), b.site)
	require.NoError(t, err)
	require.EqualValues(t, 1, dom.Runs[0].ImagesFound)
	require.EqualValues(t, 1, dom.Runs[1].ImagesFound, "that on the other page: what it redirects to is the same")
}

func TestImagesComeAgainAsImages(t *testing.T) {
	t.Parallel()
	set := imageSettings(settings.ImagesMetadata)
	set.WhenDone = new(settings.WhenDoneRecrawl)
	b := setup(t, options{settings: set, sites: []web.Site{imagesOf(
		`<a href="/a.png">large</a><a href="/next">next</a>`, map[string]web.Behaviour{
			"/next": htmlOf(`<img src="/a.png">`), "/a.png": pngOf(t, 200, 150, 1),
		})}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	require.Equal(t, 3, b.round(t))
	pending := func() int {
		return b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'image' AND priority = 3 AND is_revisit AND outcome IS NULL")
	}
	require.NoError(t, b.store.RecrawlOlder(t.Context(), crawl.RecrawlSelection{RunID: b.run.ID, IntoID: b.run.ID, Before: time.Now().Add(time.Hour)}, crawl.RecrawlProgress{}, func(crawl.RecrawlProgress) {}))
	require.Equal(t, 1, pending(), "by mosey recrawl")
	require.Equal(t, 3, b.round(t))
	b.passes(t, 30*24*time.Hour)
	require.Equal(t, 3, b.round(t), "and when its time has come")
	require.Equal(t, 3, b.count(t, "SELECT count(*) FROM page_crawls WHERE kind = 'image' AND outcome = 'success'"))
}
