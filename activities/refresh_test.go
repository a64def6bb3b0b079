package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/manners/web"
)

// refresh runs Recrawl of the run into another.
func (b *testBundle) refresh(t *testing.T, only settings.RefreshKind, own *settings.Settings) (activities.RecrawlResult, error) {
	t.Helper()
	in := activities.RecrawlInput{Run: runName, OlderThan: settings.Duration(time.Nanosecond), Into: "weekly", RefreshKind: only, Settings: own}
	require.NoError(t, in.Validate())
	return activityCall[activities.RecrawlResult](t, b.acts, b.acts.Recrawl, in)
}

func TestRefreshIntoARunOfItsOwn(t *testing.T) {
	t.Parallel()
	set := imageSettings(settings.ImagesMetadata)
	set.MaxPages = new(int64(50))
	site := imagesOf(`<img src="/a.png"><a href="/next">next</a>`, map[string]web.Behaviour{
		"/next": htmlOf(`<img src="/a.png"><a href="/new">new</a>`), "/a.png": pngOf(t, 200, 150, 1), "/new": htmlOf("new"),
	})
	for name, c := range map[string]struct {
		only settings.RefreshKind
		own  *settings.Settings
		// pending is the expected number of pending URLs. asked lists the expected requests: those
		// URLs, and the pages that they link to.
		pending int
		asked   []string
	}{
		"All":       {"", nil, 3, []string{"/", "/next", "/a.png"}},
		"Pages":     {settings.RefreshPages, nil, 2, []string{"/", "/next"}},
		"Images":    {settings.RefreshImages, nil, 1, []string{"/a.png"}},
		"WithLinks": {settings.RefreshPages, &settings.Settings{MaxDepth: new(1)}, 2, []string{"/", "/next", "/new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := set
			set.MaxDepth = new(1)
			b := setup(t, options{settings: set, sites: []web.Site{site}})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			require.Equal(t, 3, b.round(t))
			res, err := b.refresh(t, c.only, c.own)
			require.NoError(t, err)
			require.Equal(t, c.pending, res.Pending)
			run, err := b.store.Run(t.Context(), "weekly")
			require.NoError(t, err)
			require.EqualValues(t, -1, *run.Settings.MaxPages)
			changes, err := b.store.RunChanges(t.Context(), run.ID, 5)
			require.NoError(t, err)
			require.Len(t, changes, 1)
			require.Contains(t, changes[0].Reason, "refresh of run "+runName)

			again := b.inRun(t, "weekly", settings.Settings{})
			again.crawlAll(t, 10)
			require.ElementsMatch(t, c.asked, b.pages()[3:])
			require.Equal(t, len(c.asked), b.count(t, "SELECT count(*) FROM page_crawls WHERE run_id = $1 AND outcome = 'success' AND NOT prerequisite", run.ID))

			// the next time it is the same run, whose own settings stay
			_, err = b.store.EnsureRun(t.Context(), "weekly", "test", settings.Settings{IPDelay: new(settings.Duration(time.Millisecond))})
			require.NoError(t, err)
			res, err = b.refresh(t, c.only, nil)
			require.NoError(t, err)
			run, err = b.store.Run(t.Context(), "weekly")
			require.NoError(t, err)
			require.Equal(t, time.Millisecond, time.Duration(*run.Settings.IPDelay))
			again.crawlAll(t, 10)
			require.Len(t, b.pages(), 3+len(c.asked)+res.Pending)
			require.Positive(t, res.Pending)
		})
	}
}

func TestRecrawlNow(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 4, Plain: true}}})
	b.seed(t, "/", "/p/1", "/p/2")
	b.allowAll(t, b.page("/"))
	_, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
	require.NoError(t, err)
	now := func(t *testing.T, targets ...string) int {
		t.Helper()
		var pages []urls.URL
		for _, target := range targets {
			u, err := urls.Parse(b.page(target))
			require.NoError(t, err)
			pages = append(pages, u)
		}
		run, err := b.store.Run(t.Context(), runName)
		require.NoError(t, err)
		n, err := b.store.RecrawlNow(t.Context(), run, pages)
		require.NoError(t, err)
		return n
	}
	_, err = b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"/"}, b.pages())
	b.exec(t, "UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE url = $1 AND outcome IS NULL", b.page("/p/2"))
	require.Equal(t, 3, now(t, "/", "/p/2", "/p/1000"), "one that was fetched, one that waits, and one that nobody knows")
	require.Equal(t, 3, now(t, "/", "/p/2", "/p/1000"), "it changes nothing to ask twice")
	_, err = b.fetchPages(t, 3)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"/", "/p/2", "/p/1000"}, b.pages()[1:], "before what was due already")
	b.crawlAll(t, 10)
	require.Len(t, b.pages(), 7, "the others once each")

	// what people have decided holds
	require.NoError(t, b.control(b.site, crawl.ControlStop, nil))
	require.Equal(t, 1, now(t, "/"))
	res, err := b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, reasons.Stopped, res.Reason)
	require.Len(t, b.pages(), 7)

	// a run that is done goes on, and one that is stopped does not
	b.exec(t, "UPDATE crawl_runs SET status = 'done', finished_at = now() WHERE id = $1", b.run.ID)
	require.Equal(t, 1, now(t, "/"))
	run, err := b.store.Run(t.Context(), runName)
	require.NoError(t, err)
	require.Equal(t, crawl.RunRunning, run.Status)
	run.Status = crawl.RunStopped
	_, err = b.store.RecrawlNow(t.Context(), run, nil)
	require.ErrorIs(t, err, crawl.ErrInvalid)
}

// Runs share a domain: each has its turn, however many pages another has. Pages that are read again
// come after those that were never read, unless a person has asked for them.
func TestRunsTakeTurns(t *testing.T) {
	t.Parallel()

	t.Run("OneBesideAnother", func(t *testing.T) {
		t.Parallel()
		for name, budget := range map[string]*int64{"WithoutABudget": nil, "WithABudget": new(int64(100))} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, options{sites: []web.Site{{Pages: 20, Plain: true}}, settings: settings.Settings{MaxDepth: new(0), MaxPages: budget}})
				small := b.inRun(t, "small", settings.Settings{MaxDepth: new(0), MaxPages: budget})
				var many []string
				for i := range 8 {
					many = append(many, fmt.Sprintf("/p/%d", i+1))
				}
				b.seed(t, many...)
				b.allowAll(t, b.page("/"))
				_, err := b.fetchPages(t, 3)
				require.NoError(t, err)
				small.seed(t, "/p/11", "/p/12")
				_, err = b.fetchPages(t, 4)
				require.NoError(t, err)
				require.Equal(t, []string{"/p/11", "/p/4", "/p/12", "/p/5"}, b.pages()[3:])
			})
		}
	})

	t.Run("WhatIsReadAgainComesAfter", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 9, Plain: true}}, settings: settings.Settings{MaxDepth: new(0)}})
		b.seed(t, "/p/1", "/p/2", "/p/3")
		b.allowAll(t, b.page("/"))
		b.crawlAll(t, 10)
		res, err := b.refresh(t, "", nil)
		require.NoError(t, err)
		require.Equal(t, 3, res.Pending)
		b.seed(t, "/p/4", "/p/5")
		weekly, err := b.store.Run(t.Context(), "weekly")
		require.NoError(t, err)
		u, err := urls.Parse(b.page("/p/3"))
		require.NoError(t, err)
		_, err = b.store.RecrawlNow(t.Context(), weekly, []urls.URL{u})
		require.NoError(t, err)
		b.crawlAll(t, 10)
		require.Equal(t, []string{"/p/3", "/p/4", "/p/5"}, b.pages()[3:6])
		require.ElementsMatch(t, []string{"/p/1", "/p/2"}, b.pages()[6:])
	})
}
