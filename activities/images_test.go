package activities_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/manners/web"
)

// painted is a picture that differs by seed.
func painted(width, height, seed int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			at := (x*x/(seed+3) + y*(seed+5) + x*y/(seed+7)) % 256
			m.Set(x, y, color.NRGBA{R: uint8(at), G: uint8(x * 255 / width), B: uint8(y * 255 / height), A: 255})
		}
	}
	return m
}

func pngOf(t *testing.T, width, height, seed int) web.Content {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, painted(width, height, seed)))
	return web.Content{Type: "image/png", Body: b.String()}
}

func jpegOf(t *testing.T, width, height, seed int) web.Content {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, painted(width, height, seed), nil))
	return web.Content{Type: "image/jpeg; charset=binary", Body: b.String()}
}

func htmlOf(body string) web.Content {
	return web.Content{Type: "text/html", Body: "<html><body>" + body + "</body></html>"}
}

// headed answers with more in its header.
type headed struct {
	web.Content

	header map[string]string
}

func (h headed) Serve(v *web.Visit) {
	for name, value := range h.header {
		v.W.Header().Set(name, value)
	}
	h.Content.Serve(v)
}

// tooLong says that there is more than is read, and sends little.
type tooLong struct{ web.Healthy }

func (tooLong) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", "image/png")
	v.W.Header().Set("Content-Length", "20000001")
	v.Write([]byte("\x89PNG\r\n\x1a\n"))
}

// imageSettings has images taken.
func imageSettings(mode settings.Images) settings.Settings { return settings.Settings{Images: &mode} }

// imagesOf is a site whose front page has some images.
func imagesOf(page string, paths map[string]web.Behaviour) web.Site {
	paths = maps.Clone(paths)
	paths["/"] = htmlOf(page)
	return web.Site{Pages: -1, Plain: true, Paths: paths}
}

// imageRows are all images that are known, by their paths.
func (b *testBundle) imageRows(t *testing.T) map[string]report.ImageRow {
	t.Helper()
	rows := map[string]report.ImageRow{}
	for _, status := range []report.ImageStatus{report.ImageRecorded, report.ImageFailed, report.ImagePending} {
		found, err := b.store.Images(t.Context(), report.ImageFilter{Status: status, Limit: 1000})
		require.NoError(t, err)
		for _, r := range found {
			_, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), "/")
			rows["/"+path] = r
		}
	}
	return rows
}

func TestImages(t *testing.T) {
	t.Parallel()

	t.Run("AreLeftAloneUnlessWanted", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{imagesOf(`<img src="/a.png">`, map[string]web.Behaviour{"/a.png": pngOf(t, 200, 150, 1)})}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 50)
		require.Equal(t, []string{"/"}, b.pages())
		require.Empty(t, b.imageRows(t))
	})

	t.Run("AreFoundFetchedAndDescribed", func(t *testing.T) {
		t.Parallel()
		set := imageSettings(settings.ImagesMetadata)
		b := setup(t, options{settings: set, sites: []web.Site{imagesOf(`
			<figure><img src="/a.png" alt="A pattern" width=200 height=150><figcaption>Fig. 1</figcaption></figure>
			<img srcset="/b-small.jpg 100w, /b.jpg 400w"><img src="data:image/gif;base64,R0lGOD"><img src="/logo.svg">
			<a href="/a.png">itself</a><link rel=icon href="/icon.png">`, map[string]web.Behaviour{
			"/a.png": pngOf(t, 200, 150, 1), "/b.jpg": jpegOf(t, 400, 300, 2),
		})}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 50)
		require.Equal(t, []string{"/", "/a.png", "/b.jpg"}, b.pages(), "neither the icon, nor the drawing, nor a variant")

		rows := b.imageRows(t)
		require.ElementsMatch(t, []string{"/a.png", "/b.jpg", "/icon.png"}, slices.Collect(maps.Keys(rows)))
		a := rows["/a.png"]
		require.True(t, *a.Success)
		require.Len(t, a.SHA256, 64)
		require.Equal(t, [2]int{200, 150}, [2]int{a.Width, a.Height})
		require.Equal(t, crawl.ImagePNG, a.Format)
		require.Equal(t, "image/png", a.ContentType)
		require.NotNil(t, a.PHash)
		require.NotNil(t, a.DHash)
		require.Equal(t, "A pattern", a.Alt)
		require.Equal(t, "Fig. 1", a.Caption)
		require.Equal(t, crawl.DiscoveryImg, a.Discovery)
		require.Equal(t, b.page("/"), a.Source)
		require.Zero(t, a.StoredAt)
		require.Equal(t, crawl.ImageJPEG, rows["/b.jpg"].Format)
		require.Equal(t, crawl.DiscoverySrcset, rows["/b.jpg"].Discovery)
		require.Nil(t, rows["/icon.png"].Success, "icons are kept apart")

		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		totals := dom.Runs[0].Totals
		require.EqualValues(t, 3, totals.ImagesFound)
		require.EqualValues(t, 2, totals.ImageRequests)
		require.EqualValues(t, 2, totals.ImagesStored)
		require.EqualValues(t, 1, totals.Success, "images are counted apart")
		require.EqualValues(t, 1, dom.Runs[0].Started)
		counts := b.report(t, "/").Images
		require.Equal(t, &crawl.ImageCounts{Named: 3, Data: 1, SVG: 1}, counts)
	})

	t.Run("AreOnePerURLWhateverNamesThem", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{settings: imageSettings(settings.ImagesMetadata), sites: []web.Site{imagesOf(
			`<img src="/a.png"><a href="/two">two</a>`, map[string]web.Behaviour{
				"/a.png": pngOf(t, 200, 150, 1), "/same.png": pngOf(t, 200, 150, 1),
				"/two": htmlOf(`<img src="/a.png" alt="again"><img src="/same.png">`),
			})}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 50)
		rows := b.imageRows(t)
		require.Len(t, rows, 2)
		require.EqualValues(t, 2, rows["/a.png"].Pages)
		require.Equal(t, rows["/a.png"].SHA256, rows["/same.png"].SHA256)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM image_contents"))
		require.Len(t, slices.DeleteFunc(b.pages(), func(p string) bool { return p != "/a.png" }), 1, "once")
	})
}

func TestImagesThatAreNotRecorded(t *testing.T) {
	t.Parallel()
	big := pngOf(t, 300, 200, 1)
	cases := map[string]struct {
		answer  web.Behaviour
		problem crawl.ImageProblem
		says    string
	}{
		"TooSmall":  {pngOf(t, 99, 300, 1), crawl.ImageTooSmall, "99"},
		"Missing":   {web.Status{Code: http.StatusNotFound}, crawl.ImageUnanswered, ""},
		"Page":      {htmlOf("no such image"), crawl.ImageNotAnImage, "text/html"},
		"Nothing":   {web.Content{Type: "image/png"}, crawl.ImageNotAnImage, "empty"},
		"Drawing":   {web.Content{Type: "image/svg+xml", Body: "<svg/>"}, crawl.ImageSVG, "SVG"},
		"Disguised": {web.Content{Type: "image/png", Body: "<svg xmlns='http://www.w3.org/2000/svg'/>"}, crawl.ImageSVG, "svg"},
		"Mismatch":  {web.Content{Type: "image/jpeg", Body: big.Body}, crawl.ImageMismatch, "png"},
		"Truncated": {web.Content{Type: "image/png", Body: big.Body[:len(big.Body)/2]}, crawl.ImageMalformed, "malformed"},
		"Forbidden": {headed{big, map[string]string{"X-Robots-Tag": "noimageindex"}}, crawl.ImageForbidden, "noimageindex"},
		"TooLong":   {tooLong{}, crawl.ImageTooLarge, "20000000"},
	}
	var page strings.Builder
	paths := map[string]web.Behaviour{"/good.png": headed{big, map[string]string{"Content-Type": "application/octet-stream"}}}
	for name, c := range cases {
		page.WriteString(`<img src="/` + name + `">`)
		paths["/"+name] = c.answer
	}
	b := setup(t, options{settings: imageSettings(settings.ImagesMetadata), sites: []web.Site{imagesOf(page.String()+`<img src="/good.png">`, paths)}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.crawlAll(t, 50)
	rows := b.imageRows(t)
	require.True(t, *rows["/good.png"].Success, "a server that does not know what it serves")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rows["/"+name]
			require.NotNil(t, r.Success)
			require.False(t, *r.Success)
			require.Equal(t, c.problem, r.Problem)
			require.Empty(t, r.SHA256)
			require.Contains(t, b.report(t, "/"+name).Crawls[0].Error, c.says)
		})
	}
}

// inRun is the bundle with another run, or with other settings of its own.
func (b *testBundle) inRun(t *testing.T, name string, set settings.Settings) *testBundle {
	t.Helper()
	set.Delay, set.IPDelay, set.LatencyFactor = new(settings.Duration), new(settings.Duration), new(float64)
	withoutLists(&set)
	run, err := b.store.EnsureRun(t.Context(), name, "test", set)
	require.NoError(t, err)
	other := *b
	other.run = run
	return &other
}

// asked counts requests for a path.
func (b *testBundle) asked(path string) (n int) {
	for _, p := range b.pages() {
		if p == path {
			n++
		}
	}
	return n
}

func TestImagesAgain(t *testing.T) {
	t.Parallel()
	site := func(t *testing.T) web.Site {
		t.Helper()
		return imagesOf(`<img src="/a.png">`, map[string]web.Behaviour{
			"/a.png": headed{pngOf(t, 200, 150, 1), map[string]string{"ETag": `"1"`}},
		})
	}

	t.Run("APageThatWasReadWithoutThemIsReadAgain", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{site(t)}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		require.Equal(t, []string{"/"}, b.pages())
		next := b.inRun(t, "images", imageSettings(settings.ImagesMetadata))
		next.seed(t, "/")
		next.crawlAll(t, 10)
		require.Equal(t, []string{"/", "/", "/a.png"}, b.pages(), "at once, whatever min_refetch says")
		require.True(t, *b.imageRows(t)["/a.png"].Success)
	})

	t.Run("WhatIsKnownIsPartOfALaterRun", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{site(t)}, settings: imageSettings(settings.ImagesMetadata)})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		b.exec(t, "UPDATE pages SET fetched_at = fetched_at - interval '2 days' WHERE kind = 'image'")
		next := b.inRun(t, "later", imageSettings(settings.ImagesMetadata))
		next.seed(t, "/")
		next.crawlAll(t, 10)
		require.Equal(t, []string{"/", "/a.png", "/a.png"}, b.pages(), "the page is as it was, and its image is asked for again")
		crawls := b.report(t, "/a.png").Crawls
		require.NotEmpty(t, crawls[0].Unchanged, "with its ETag")
		require.True(t, *b.imageRows(t)["/a.png"].Success)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM provenance"))
	})

	t.Run("ItIsFetchedAgainForItsBytes", func(t *testing.T) {
		t.Parallel()
		images, err := imagestore.Open(t.Context(), t.TempDir())
		require.NoError(t, err)
		b := setup(t, options{sites: []web.Site{site(t)}, settings: imageSettings(settings.ImagesMetadata), images: images})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		next := b.inRun(t, "store", imageSettings(settings.ImagesStore))
		next.seed(t, "/")
		next.crawlAll(t, 10)
		require.Equal(t, 2, b.asked("/a.png"))
		row := b.imageRows(t)["/a.png"]
		require.NotZero(t, row.StoredAt)
		body, size, err := images.Get(t.Context(), row.SHA256)
		require.NoError(t, err)
		require.NoError(t, body.Close())
		require.Equal(t, row.Bytes, size)
		third := b.inRun(t, "third", imageSettings(settings.ImagesStore))
		third.seed(t, "/")
		third.crawlAll(t, 10)
		require.Equal(t, 2, b.asked("/a.png"), "it is there")
	})

	t.Run("ItsBytesAreNotStoredIfItMayOnlyBeReferred", func(t *testing.T) {
		t.Parallel()
		images, err := imagestore.Open(t.Context(), t.TempDir())
		require.NoError(t, err)
		picture := headed{pngOf(t, 200, 150, 1), map[string]string{"Content-Signal": "search=yes, use=reference"}}
		set := imageSettings(settings.ImagesStore)
		set.Thumbnails = new(true)
		b := setup(t, options{settings: set, images: images, sites: []web.Site{
			imagesOf(`one <img src="/a.png">`, map[string]web.Behaviour{"/a.png": picture}),
		}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		row := b.imageRows(t)["/a.png"]
		require.True(t, *row.Success)
		require.Zero(t, row.StoredAt)
		_, _, err = images.Get(t.Context(), row.SHA256)
		require.ErrorIs(t, err, crawl.ErrNotFound)
		require.Equal(t, "storing copies is forbidden by use=reference (the header Content-Signal)", b.report(t, "/a.png").Crawls[0].Error)
		next := b.inRun(t, "again", set)
		next.seed(t, "/")
		next.crawlAll(t, 10)
		require.Equal(t, 1, b.asked("/a.png"), "it lacks nothing")
	})

	t.Run("AnImageThatAPageHasNoMoreIsGoneFromIt", func(t *testing.T) {
		t.Parallel()
		turn := func(body string) func(*web.Visit) { return func(v *web.Visit) { htmlOf(body).Serve(v) } }
		b := setup(t, options{settings: imageSettings(settings.ImagesMetadata), sites: []web.Site{imagesOf("", map[string]web.Behaviour{
			"/a.png": pngOf(t, 200, 150, 1), "/b.png": pngOf(t, 200, 150, 2),
			"/p": turns{answers: []func(*web.Visit){turn(`one <img src="/a.png">`), turn(`two <img src="/b.png"><img src="http://">`)}},
		})}})
		b.seed(t, "/p")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		next := b.inRun(t, "later", settings.Settings{Images: new(settings.ImagesMetadata), MinRefetch: new(settings.Duration)})
		next.seed(t, "/p")
		next.crawlAll(t, 10)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM provenance WHERE gone_at IS NOT NULL"))
		rows := b.imageRows(t)
		require.Zero(t, rows["/a.png"].Pages)
		require.EqualValues(t, 1, rows["/b.png"].Pages)
	})
}

func TestImagesOfOtherHosts(t *testing.T) {
	t.Parallel()
	crawled := func(t *testing.T, scope settings.ImageScope) (b, cdn *testBundle) {
		t.Helper()
		set := imageSettings(settings.ImagesMetadata)
		set.ImageScope = &scope
		page := func(v *web.Visit) {
			htmlOf(`<img src="` + b.web.URL("cdn.test", "/a.png") + `"><a href="` + b.web.URL("cdn.test", "/") + `">there</a>`).Serve(v)
		}
		b = setup(t, options{settings: set, sites: []web.Site{
			{Host: "pages.test", Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/": turns{answers: []func(*web.Visit){page}}}},
			{Host: "cdn.test", Pages: 3, Plain: true, Unseeded: true, Paths: map[string]web.Behaviour{"/a.png": pngOf(t, 200, 150, 1)}},
		}})
		b.site = "pages.test"
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		other := *b
		other.site = "cdn.test"
		return b, &other
	}

	t.Run("NothingElseIsAskedOfThem", func(t *testing.T) {
		t.Parallel()
		b, cdn := crawled(t, settings.ImageScopeAny)
		_, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		cdn.readRobots(t)
		cdn.crawlAll(t, 10)
		require.Equal(t, []string{"/a.png"}, cdn.pages())
		require.True(t, *b.imageRows(t)["/a.png"].Success)
		dom, err := b.store.Domain(t.Context(), "cdn.test")
		require.NoError(t, err)
		require.False(t, dom.Runs[0].Seed)
		require.EqualValues(t, 1, dom.Runs[0].ImagesStored)
	})

	t.Run("NothingIsUnlessTheyAreSeeds", func(t *testing.T) {
		t.Parallel()
		b, _ := crawled(t, settings.ImageScopeSeeds)
		require.Zero(t, b.count(t, "SELECT count(*) FROM run_domains WHERE domain = 'cdn.test'"))
		require.Nil(t, b.imageRows(t)["/a.png"].Success, "it is known, and pending")
	})
}

func TestImageBudgets(t *testing.T) {
	t.Parallel()
	gallery := func(t *testing.T, set settings.Settings) *testBundle {
		t.Helper()
		set.Images = new(settings.ImagesMetadata)
		paths := map[string]web.Behaviour{}
		var page strings.Builder
		page.WriteString(`<a href="/next">next</a>`)
		for i, name := range []string{"/a.png", "/b.png", "/c.png", "/d.png"} {
			paths[name] = pngOf(t, 200, 150, i)
			page.WriteString(`<img src="` + name + `">`)
		}
		paths["/next"] = htmlOf("<p>nothing</p>")
		b := setup(t, options{settings: set, sites: []web.Site{imagesOf(page.String(), paths)}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 20)
		return b
	}

	t.Run("BoundTheRequestsToADomain", func(t *testing.T) {
		t.Parallel()
		b := gallery(t, settings.Settings{MaxImagesPerDomain: new(int64(2))})
		require.Equal(t, []string{"/", "/a.png", "/b.png", "/next"}, b.pages())
		require.Equal(t, reasons.ImageBudget, b.report(t, "/c.png").Crawls[0].Skipped)
		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.EqualValues(t, 2, dom.Runs[0].Skips[reasons.ImageBudget])

		wider := b.inRun(t, runName, settings.Settings{MaxImagesPerDomain: new(int64(3))})
		_, err = b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		wider.crawlAll(t, 20)
		require.Len(t, b.pages(), 5, "a larger one decides again")
	})

	t.Run("OfPagesDoNotBearOnImages", func(t *testing.T) {
		t.Parallel()
		b := gallery(t, settings.Settings{MaxPages: new(int64(1)), MaxPagesPerDomain: new(int64(1))})
		require.Equal(t, []string{"/", "/a.png", "/b.png", "/c.png", "/d.png"}, b.pages())
	})

	t.Run("BoundWhatOnePageNames", func(t *testing.T) {
		t.Parallel()
		b := gallery(t, settings.Settings{MaxImagesPerPage: new(1)})
		require.Equal(t, []string{"/", "/a.png", "/next"}, b.pages())
		require.Equal(t, 3, b.report(t, "/").Images.Dropped)
	})

	t.Run("ExcludeHoldsForImages", func(t *testing.T) {
		t.Parallel()
		b := gallery(t, settings.Settings{Exclude: &[]string{"/b.png", "/c.png"}})
		require.Equal(t, []string{"/", "/a.png", "/d.png", "/next"}, b.pages())
	})
}

func TestImagesThatMove(t *testing.T) {
	t.Parallel()
	b := setup(t, options{settings: imageSettings(settings.ImagesMetadata), sites: []web.Site{imagesOf(
		`<img src="/old.png" alt="moved"><img src="/loop.png">`, map[string]web.Behaviour{
			"/old.png": web.Redirect{To: "/new.png"}, "/new.png": pngOf(t, 200, 150, 1), "/loop.png": web.Redirect{To: "/loop.png"},
		})}})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.crawlAll(t, 10)
	rows := b.imageRows(t)
	moved := rows["/new.png"]
	require.True(t, *moved.Success)
	require.Equal(t, "moved", moved.Alt)
	require.Equal(t, b.page("/"), moved.Source)
	require.Nil(t, rows["/old.png"].Success, "it is a redirect, which is a link")
	require.Equal(t, crawl.ImageUnanswered, rows["/loop.png"].Problem)
}
