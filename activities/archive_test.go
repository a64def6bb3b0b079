package activities_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/ruling"
	"github.com/mosey-web/mosey/manners/web"
)

func openArchive(t *testing.T) (a *archive.Archive, dir string) {
	t.Helper()
	dir = t.TempDir()
	a, _, err := archive.Open(archive.Config{Dir: dir, Software: "Mosey", UserAgent: agent})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close(t.Context())) })
	return a, dir
}

// archived returns the archived responses of the site, by path, the oldest first.
func (b *testBundle) archived(t *testing.T) map[string][]crawl.Archived {
	t.Helper()
	all := map[string][]crawl.Archived{}
	require.NoError(t, archive.Each(t.Context(), b.store, nil, func(r archive.Response) error {
		path := strings.TrimPrefix(r.URL, originOf(t, b.page("/")))
		all[path] = append(all[path], r.Archived)
		return nil
	}))
	return all
}

func (b *testBundle) requireSound(t *testing.T, dir string) {
	t.Helper()
	v, err := archive.Verify(t.Context(), archive.Directory(dir), b.store, nil, func(r archive.Response, err error) {
		t.Errorf("%s: %v", r.URL, err)
	}, func(archive.Verification) {})
	require.NoError(t, err)
	require.Positive(t, v.Responses)
}

// requestAgain has pages requested once more.
func (b *testBundle) requestAgain(t *testing.T, targets ...string) {
	t.Helper()
	var pages []urls.URL
	for _, target := range targets {
		u, err := urls.Parse(b.page(target))
		require.NoError(t, err)
		pages = append(pages, u)
	}
	_, err := b.store.RecrawlNow(t.Context(), b.run, pages)
	require.NoError(t, err)
	_, err = b.store.ClaimDomains(t.Context(), b.run.ID, 100)
	require.NoError(t, err)
	b.follow(t)
}

// All responses that publishers permit are archived, and nothing of the others.
func TestArchive(t *testing.T) {
	t.Parallel()
	a, dir := openArchive(t)
	b := setup(t, options{
		archive: a, settings: settings.Settings{Images: new(settings.ImagesMetadata)},
		sites: serving(map[string]web.Behaviour{
			"/robots.txt":   turns{answers: []func(*web.Visit){says("User-agent: *\nDisallow: /secret\n")}},
			"/":             page{body: lighthouse + `<img src="/a.png">`},
			"/missing":      turns{answers: []func(*web.Visit){answers(404)}},
			"/moved":        turns{answers: []func(*web.Visit){answers(302, "Location", "/")}},
			"/video":        turns{answers: []func(*web.Visit){answers(200, "Content-Type", "video/mp4", "Content-Length", "5")}},
			"/noarchive":    page{head: `<meta name="robots" content="noarchive">`, body: lighthouse},
			"/header":       page{header: []string{"X-Robots-Tag", "noarchive"}, body: lighthouse},
			"/reserved":     page{header: []string{"Content-Signal", "search=no"}, body: lighthouse},
			"/wall":         anubis,
			"/a.png":        pngOf(t, 200, 150, 1),
			"/secret":       page{body: lighthouse},
			"/noindex":      page{head: `<meta name="robots" content="noindex">`, body: lighthouse},
			"/login-failed": turns{answers: []func(*web.Visit){answers(503)}},
		}),
	})
	b.seed(t, "/", "/missing", "/moved", "/video", "/noarchive", "/header", "/reserved", "/wall", "/secret", "/noindex")
	b.follow(t)
	all := b.archived(t)
	var paths []string
	for path, list := range all {
		require.Len(t, list, 1)
		paths = append(paths, path)
	}
	require.ElementsMatch(t, []string{"/robots.txt", "/", "/missing", "/moved", "/video", "/a.png", "/noindex"}, paths)
	require.True(t, all["/video"][0].Truncated, "its body is not read")
	b.requireSound(t, dir)
	require.NoError(t, archive.Read(t.Context(), archive.Directory(dir), all["/"][0], func(_ string, r io.Reader) error {
		resp, err := fetch.Replay(r, fetch.MaxBodyBytesDefault)
		require.NoError(t, err)
		defer resp.Release()
		require.Contains(t, string(resp.Body), lighthouse)
		return nil
	}))
	b.requireNothingInFlight(t)
}

// A page that was read before is archived as a whole; then an unchanged response is a revisit.
func TestArchiveOfUnchangedPages(t *testing.T) {
	t.Parallel()
	tagged := &document{mediaType: "text/html", body: "<title>T</title><body>" + lighthouse, header: []string{"ETag", `"1"`}}
	b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": tagged, "/same": page{body: lighthouse}})})
	b.seed(t, "/", "/same")
	b.follow(t)
	require.Empty(t, b.archived(t))

	a, dir := openArchive(t)
	b.acts = b.worker(t, options{archive: a})
	b.requestAgain(t, "/", "/same")
	require.Equal(t, 0, tagged.conditions)
	b.requestAgain(t, "/", "/same")
	require.Equal(t, 1, tagged.conditions)
	all := b.archived(t)
	for _, path := range []string{"/", "/same"} {
		require.Len(t, all[path], 2)
		require.False(t, all[path][0].Revisit)
		require.True(t, all[path][1].Revisit)
		require.Equal(t, all[path][0].Digest, all[path][1].Digest)
	}
	b.requireSound(t, dir)
}

// fullArchive cannot be written.
type fullArchive struct {
	request.Archive

	isKnown bool
}

func (a fullArchive) Ready() error {
	if a.isKnown {
		return errors.New("no space left")
	}
	return nil
}

func (fullArchive) Write(archive.Exchange) (crawl.Archived, error) {
	return crawl.Archived{}, errors.New("no space left")
}

// If the archive cannot be written, nothing is recorded and, once that is known, nothing is requested.
func TestAFullArchive(t *testing.T) {
	t.Parallel()
	for _, isKnown := range []bool{false, true} {
		b := setup(t, options{archive: fullArchive{isKnown: isKnown}, sites: serving(map[string]web.Behaviour{"/": page{body: lighthouse}})})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 1)
		require.ErrorContains(t, err, "no space left")
		require.Len(t, b.pages(), map[bool]int{false: 1, true: 0}[isKnown])
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL"), "it is requested later")
		require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome <> 'skipped'"))
		b.requireNothingInFlight(t)
	}
}

// Pages are read again from the archive as they were first read, without a request.
func TestReprocess(t *testing.T) {
	t.Parallel()
	a, dir := openArchive(t)
	links := `<a href="/1">one</a><a href="/2" rel="ugc">two</a><link rel="canonical" href="/canonical">`
	tagged := &document{mediaType: "text/html", body: "<title>Tagged</title><p>Windmills grind the corn of the village.", header: []string{"ETag", `"1"`}}
	b := setup(t, options{
		archive: a, settings: settings.Settings{Images: new(settings.ImagesMetadata), Include: new([]string{"/never"})},
		sites: serving(map[string]web.Behaviour{
			"/": page{body: lighthouse + links + `<img src="/a.png" alt="A">`}, "/tagged": tagged, "/a.png": pngOf(t, 200, 150, 1),
			"/moved": turns{answers: []func(*web.Visit){answers(302, "Location", "/")}}, "/later": page{body: "<p>Another text."},
		}),
	})
	b.seed(t, "/", "/tagged", "/moved", "/later")
	b.follow(t)
	b.requestAgain(t, "/tagged") // the stored version is now the one of a revisit
	b.acts = b.worker(t, options{})
	b.requestAgain(t, "/later") // it is not archived
	b.acts = b.worker(t, options{archive: a})

	state := func() string {
		var all string
		require.NoError(t, b.store.Pool().QueryRow(t.Context(), `SELECT jsonb_pretty(jsonb_build_object(
			'pages', (SELECT jsonb_agg(to_jsonb(p) - 'updated_at' ORDER BY p.id) FROM pages p),
			'links', (SELECT jsonb_agg(to_jsonb(l) - 'first_seen' - 'last_seen' ORDER BY l.from_page_id, l.to_page_id) FROM page_links l),
			'images', (SELECT jsonb_agg(to_jsonb(o) - 'id' - 'last_seen' ORDER BY o.page_id, o.image_id) FROM provenance o),
			'attempts', (SELECT count(*) FROM page_crawls)
		))`).Scan(&all))
		return all
	}
	before, requests, found := state(), len(b.log()), b.found(t, "lighthouse")
	require.NotEmpty(t, found)
	b.exec(t, "UPDATE pages SET extractor = 0, signals = '{}', language = 'xx', simhash = 1 WHERE url IN ($1, $2)", b.page("/"), b.page("/tagged"))
	b.exec(t, "UPDATE page_links SET anchor = 'changed' WHERE kind = 'link'")

	rulings, err := ruling.New(b.store)
	require.NoError(t, err)
	p := read.Reprocessor{
		Store: b.store, Rulings: rulings, Archive: archive.Directory(dir),
		Reader: read.New(read.Config{Store: b.store, Rules: rulings, Languages: language.Detector{}}),
	}
	steps := 0
	totals, err := p.Run(t.Context(), b.site, false, func(read.Reprocessed) { steps++ })
	require.NoError(t, err)
	require.Equal(t, read.Reprocessed{Read: 2}, totals)
	require.Equal(t, 1, steps)
	require.Equal(t, before, state())
	require.Equal(t, found, b.found(t, "lighthouse"))
	require.Len(t, b.log(), requests)

	totals, err = p.Run(t.Context(), "", false, func(read.Reprocessed) {})
	require.NoError(t, err)
	require.Zero(t, totals, "all pages were read by this version")
	totals, err = p.Run(t.Context(), "", true, func(read.Reprocessed) {})
	require.NoError(t, err)
	require.EqualValues(t, 2, totals.Read)

	p.Archive = archive.Directory(t.TempDir())
	totals, err = p.Run(t.Context(), "", true, func(read.Reprocessed) {})
	require.NoError(t, err)
	require.EqualValues(t, 2, totals.Failed)
	require.ErrorContains(t, totals.Failure, "is missing in")
	require.Equal(t, before, state())
}
