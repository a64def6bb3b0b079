package activities_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
)

// round has all pages due, dispatches and fetches what there is, and returns how many
// pages were asked for.
func (b *testBundle) round(t *testing.T) int {
	t.Helper()
	before := len(b.pages())
	res, err := activityCall[activities.DispatchResult](t, b.acts, b.acts.Dispatch, activities.DispatchInput{Run: runName})
	require.NoError(t, err)
	if res.Active == 0 {
		return 0
	}
	fetched, err := b.fetchPages(t, 100)
	require.NoError(t, err)
	require.Equal(t, activities.StepFinish, fetched.Next)
	finished, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain, activities.FinishDomainInput{Domain: b.site})
	require.NoError(t, err)
	require.True(t, finished.Finished)
	return len(b.pages()) - before
}

// passes makes it as if a time had passed.
func (b *testBundle) passes(t *testing.T, span time.Duration) {
	t.Helper()
	b.exec(t, `UPDATE pages SET fetched_at = fetched_at - $1::interval, fresh_until = fresh_until - $1::interval,
		failed_at = failed_at - $1::interval WHERE domain = $2`, span, b.site)
	b.exec(t, "UPDATE revisits SET due_at = due_at - $1::interval", span)
}

// dueIn is in how many days a page is due again; 0 is that it is not.
func (b *testBundle) dueIn(t *testing.T, path string) (days float64) {
	t.Helper()
	err := b.store.Pool().QueryRow(t.Context(), `SELECT coalesce((
		SELECT extract(EPOCH FROM v.due_at - now()) / 86400 FROM revisits v INNER JOIN pages p ON p.id = v.page_id
		WHERE p.url = $1 AND v.run_id = $2), 0)::float8`, b.page(path), b.run.ID).Scan(&days)
	require.NoError(t, err)
	return days
}

func TestRecrawl(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	prepare := func(t *testing.T, set settings.Settings, behaviours map[string]web.Behaviour) *testBundle {
		t.Helper()
		set.WhenDone = new(settings.WhenDoneRecrawl)
		b := setup(t, options{settings: set, sites: []web.Site{{Pages: 2, Plain: true, Paths: behaviours}}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		require.Equal(t, 3, b.round(t))
		return b
	}

	t.Run("AsksAgainByHowOftenAPageChanges", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, map[string]web.Behaviour{"/": web.Cached{}})
		for _, path := range []string{"/", "/p/1", "/p/2"} {
			require.InDelta(t, 7, b.dueIn(t, path), 0.01, path)
		}
		require.Zero(t, b.round(t), "nothing is due")
		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainExhausted, dom.Status)

		b.passes(t, week+time.Minute)
		b.exec(t, "UPDATE pages SET content_hash = substr(sha256('another'), 1, octet_length(content_hash)) WHERE url = $1", b.page("/p/1"))
		// no plan, so that the rule decides
		b.exec(t, "UPDATE domains SET recrawl = NULL")
		require.Equal(t, 3, b.round(t), "the domain has come back by itself")
		require.InDelta(t, 10.5, b.dueIn(t, "/"), 0.01, "unchanged")
		require.InDelta(t, 3.5, b.dueIn(t, "/p/1"), 0.01, "changed")
		report := b.report(t, "/")
		require.Len(t, report.Crawls, 2)
		require.Equal(t, crawl.OutcomeSuccess, report.Crawls[0].Outcome)
	})

	t.Run("CountsAttemptsOfEachVisit", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{MaxAttempts: new(2)}, nil)
		for range 4 {
			b.passes(t, 200*24*time.Hour)
			require.Equal(t, 3, b.round(t))
		}
		facts, err := b.store.Facts(t.Context(), b.site)
		require.NoError(t, err)
		require.Empty(t, facts.Runs)
		b.passes(t, 200*24*time.Hour)
		_, err = b.store.RecrawlDue(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		facts, err = b.store.Facts(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, 1, facts.Runs[0].Attempt.Number)
		require.True(t, facts.Runs[0].Attempt.IsRevisit)
	})

	t.Run("LetsWhatIsGoneFadeOut", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, map[string]web.Behaviour{"/p/1": web.Status{Code: http.StatusGone}, "/p/2": web.Status{Code: http.StatusNotFound}})
		rounds := map[string]int{"/p/1": 1, "/p/2": 1}
		for range 8 {
			b.passes(t, 400*24*time.Hour)
			b.round(t)
			for path := range rounds {
				rounds[path] = len(b.report(t, path).Crawls)
			}
		}
		require.Equal(t, map[string]int{"/p/1": 2, "/p/2": 5}, rounds)
		require.Zero(t, b.dueIn(t, "/p/1"))
	})

	t.Run("WaitsWhileAServerSaysThatAPageIsFresh", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, map[string]web.Behaviour{"/": web.Cached{CacheControl: "max-age=1728000"}})
		require.Greater(t, b.dueIn(t, "/"), 10.0)
	})

	t.Run("PlansTheRequestsOfADomain", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{Delay: new(settings.Duration(time.Millisecond))}, nil)
		var plan string
		require.NoError(t, b.store.Pool().QueryRow(t.Context(), "SELECT recrawl #>> '{plan,even_interval}' FROM domains WHERE domain = $1", b.site).Scan(&plan))
		require.NotEmpty(t, plan)
	})

	t.Run("BelievesSitemapsUntilTheyAreWrong", func(t *testing.T) {
		t.Parallel()
		list := urlset(entry("/a"), entry("/b"))
		b := setup(t, options{
			settings: settings.Settings{WhenDone: new(settings.WhenDoneRecrawl), Sitemaps: new(true)},
			sites: []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
				"/": page{}, "/sitemap.xml": list, "/a": page{body: "a"}, "/b": page{body: "b"},
			}}},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.round(t)
		require.Equal(t, []string{"/", "/sitemap.xml", "/a", "/b"}, b.targets())
		says := func() {
			b.exec(t, "UPDATE domains SET recrawl = recrawl - 'plan'") // the rule decides
			b.passes(t, 48*time.Hour)
			list.body = urlset(entry("/a", "<lastmod>"+time.Now().Add(-24*time.Hour).Format(time.RFC3339)+"</lastmod>"), entry("/b")).body
			b.round(t)
		}
		says()
		require.Equal(t, []string{"/sitemap.xml"}, b.targets()[4:])
		require.Negative(t, b.dueIn(t, "/a"), "it has changed, it says")
		require.InDelta(t, 5, b.dueIn(t, "/b"), 0.01)
		b.round(t)
		require.Equal(t, []string{"/a"}, b.targets()[5:])

		says()
		require.Equal(t, []string{"/sitemap.xml"}, b.targets()[6:])
		require.Greater(t, b.dueIn(t, "/a"), 5.0, "that was wrong")
	})

	t.Run("BelievesFeedsAsWell", func(t *testing.T) {
		t.Parallel()
		feed := func(updated time.Time) *document {
			return xmlOf(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/a"/><updated>` + updated.Format(time.RFC3339) +
				`</updated></entry><entry><link href="/b"/></entry></feed>`)
		}
		news := feed(time.Now().Add(-1000 * time.Hour))
		b := setup(t, options{
			settings: settings.Settings{WhenDone: new(settings.WhenDoneRecrawl), Feeds: new(true)},
			sites: []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
				"/":     page{head: `<link rel="alternate" type="application/atom+xml" href="/feed">`},
				"/feed": news, "/a": page{body: "a"}, "/b": page{body: "b"},
			}}},
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.round(t)
		require.Equal(t, []string{"/", "/feed", "/a", "/b"}, b.targets())
		b.exec(t, "UPDATE domains SET recrawl = recrawl - 'plan'")
		b.passes(t, 48*time.Hour)
		news.body = feed(time.Now().Add(-24 * time.Hour)).body
		b.round(t)
		require.Equal(t, []string{"/feed"}, b.targets()[4:])
		require.Negative(t, b.dueIn(t, "/a"), "it has changed, the feed says")
		require.InDelta(t, 5, b.dueIn(t, "/b"), 0.01)
	})

	t.Run("LooksEverMoreRarelyAtWhatItPassesOver", func(t *testing.T) {
		t.Parallel()
		b := prepare(t, settings.Settings{}, nil)
		b.passes(t, week+time.Minute)
		b.exec(t, "UPDATE domains SET recrawl = NULL")
		_, err := b.store.EnsureRun(t.Context(), runName, "test", settings.Settings{Exclude: &[]string{"/p/1"}})
		require.NoError(t, err)
		require.Equal(t, 2, b.round(t))
		require.InDelta(t, 7, b.dueIn(t, "/p/1"), 0.01)
		b.passes(t, week+time.Minute)
		b.round(t)
		require.InDelta(t, 10.5, b.dueIn(t, "/p/1"), 0.01)
	})

	t.Run("IsAPersonsWishToo", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true}}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		require.Equal(t, 3, b.round(t))
		require.Zero(t, b.dueIn(t, "/"), "the run asks for no page again")
		b.exec(t, "UPDATE pages SET fetched_at = fetched_at - interval '2 days' WHERE url <> $1", b.page("/p/1"))
		added := 0
		require.NoError(t, b.store.RecrawlOlder(t.Context(), crawl.RecrawlSelection{RunID: b.run.ID, IntoID: b.run.ID, Before: time.Now().Add(-24 * time.Hour)}, crawl.RecrawlProgress{}, func(p crawl.RecrawlProgress) { added = p.Pending }))
		require.Equal(t, 2, added)
		require.Equal(t, 2, b.round(t))
		require.NoError(t, b.store.RecrawlOlder(t.Context(), crawl.RecrawlSelection{RunID: b.run.ID, IntoID: b.run.ID, Domain: "other.test", Before: time.Now().Add(time.Hour)}, crawl.RecrawlProgress{}, func(p crawl.RecrawlProgress) { added = p.Pending }))
		require.Equal(t, 2, added, "nothing of another domain")
	})
}

// A page whose visit comes while something else of it is pending keeps its next visit.
func TestRecrawlKeepsWhatIsPending(t *testing.T) {
	t.Parallel()
	b := setup(t, options{settings: settings.Settings{WhenDone: new(settings.WhenDoneRecrawl)}})
	b.seed(t, "/")
	b.readRobots(t)
	b.round(t)
	b.exec(t, `INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind, depth)
		SELECT page_id, domain, run_id, id, url, 'feed', depth FROM page_crawls WHERE NOT prerequisite`)
	b.passes(t, 24*time.Hour*400)
	_, err := b.store.RecrawlDue(t.Context(), b.run.ID, 10)
	require.NoError(t, err)
	require.Positive(t, b.dueIn(t, "/"))
	lost := func() []db.Discrepancy {
		found, err := b.store.CheckRevisits(t.Context(), 0, 1000)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, lost())
	b.exec(t, "UPDATE revisits SET due_at = NULL")
	require.Empty(t, lost(), "a visit is pending")
	b.exec(t, "UPDATE page_crawls SET outcome = 'success', completed_at = now() WHERE outcome IS NULL")
	require.Len(t, lost(), 1)
	mended, err := b.store.RepairRevisits(t.Context(), 0, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 1, mended)
	require.Empty(t, lost())
}
