package activities_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// always304 answers every request as if it had been a conditional one.
type always304 struct{ web.Healthy }

func (always304) Serve(v *web.Visit) { v.W.WriteHeader(http.StatusNotModified) }

// again makes a further run of the root, as old as it says, and fetches it.
func (b *testBundle) again(t *testing.T, run string, age time.Duration, set settings.Settings) activities.FetchPagesResult {
	t.Helper()
	b.exec(t, `UPDATE pages SET fetched_at = fetched_at - $1::interval, fresh_until = fresh_until - $1::interval
		WHERE domain = $2`, age, b.site)
	set.Delay, set.IPDelay = new(settings.Duration), new(settings.Duration)
	withoutLists(&set)
	stored, err := b.store.EnsureRun(t.Context(), run, "test", set)
	require.NoError(t, err)
	next := *b
	next.run = stored
	next.seed(t, "/")
	res, err := next.fetchPages(t, 100)
	require.NoError(t, err)
	require.Equal(t, activities.StepFinish, res.Next)
	return res
}

// newest is the newest attempt for the site's root.
func (b *testBundle) newest(t *testing.T) report.Attempt {
	t.Helper()
	return b.report(t, "/").Crawls[0]
}

func TestFetchesAsLittleAsPossible(t *testing.T) {
	t.Parallel()
	const long = 25 * time.Hour
	modified := time.Now().Add(-30 * 24 * time.Hour)
	cached := func(c web.Cached) func(*testing.T) *testBundle {
		return func(t *testing.T) *testBundle {
			t.Helper()
			b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, Paths: map[string]web.Behaviour{"/": c}}}})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			_, err := b.fetchPages(t, 100)
			require.NoError(t, err)
			require.Len(t, b.pages(), 3)
			return b
		}
	}

	t.Run("NotWithinTheMinimumRefetchTime", func(t *testing.T) {
		t.Parallel()
		b := cached(web.Cached{})(t)
		res := b.again(t, "second", 23*time.Hour, settings.Settings{})
		require.Equal(t, 3, res.Closed, "the root, and what it linked to at the last visit")
		require.Len(t, b.pages(), 3, "without a request")
		require.Equal(t, reasons.MinRefetch, b.newest(t).Skipped)
		require.Equal(t, crawl.OutcomeSkipped, b.newest(t).Outcome)
		dom, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.EqualValues(t, 3, dom.Runs[1].Skipped)
		require.Zero(t, dom.Runs[1].Success)
		b.again(t, "third", 0, settings.Settings{MinRefetch: new(settings.Duration)})
		require.Len(t, b.pages(), 6, "a run may do without")
	})

	t.Run("NotWhileItsServerSaysItIsFresh", func(t *testing.T) {
		t.Parallel()
		b := cached(web.Cached{CacheControl: "max-age=172800"})(t)
		b.again(t, "second", long, settings.Settings{})
		require.Equal(t, reasons.Fresh, b.newest(t).Skipped)
		require.Len(t, b.pages(), 5, "the two other pages are not fresh")
		b.again(t, "third", long, settings.Settings{})
		require.Empty(t, b.newest(t).Skipped)
	})

	for name, c := range map[string]struct {
		site web.Cached
		says string
		code int
		read bool
	}{
		"AsksByEntityTag":            {web.Cached{ETag: `"v1"`}, "answered 304", 304, false},
		"AsksByTheTagBeneathApaches": {web.Cached{ETag: `"v1"`, Deflate: true}, "answered 304", 304, false},
		"AsksByDate":                 {web.Cached{LastModified: modified}, "answered 304", 304, false},
		"KnowsTheSameDate":           {web.Cached{LastModified: modified, IgnoreConditions: true}, "last modified on", 200, false},
		"KnowsTheSameTag":            {web.Cached{ETag: `"v1"`, IgnoreConditions: true}, "same entity tag", 200, false},
		"KnowsTheSameContent":        {web.Cached{IgnoreConditions: true}, "same content", 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := cached(c.site)(t)
			title := b.report(t, "/").Title
			require.NotEmpty(t, title)
			b.exec(t, `UPDATE pages SET signals = '{"title":"before"}' WHERE domain = $1`, b.site)
			res := b.again(t, "second", long, settings.Settings{})
			require.Equal(t, 3, res.Closed, "its links are followed")
			got := b.newest(t)
			require.Equal(t, crawl.OutcomeSuccess, got.Outcome)
			require.Equal(t, c.code, got.StatusCode)
			require.Contains(t, got.Unchanged, c.says)
			if !c.read {
				title = "before" // what is known of it stays
			}
			require.Equal(t, title, b.report(t, "/").Title)
			require.WithinDuration(t, time.Now(), b.report(t, "/").FetchedAt, time.Minute)
			// and so it is the next time
			b.again(t, "third", long, settings.Settings{})
			require.Contains(t, b.newest(t).Unchanged, c.says)
		})
	}

	// A file that is replaced keeps its own date: rsync -a, tar, a package.
	t.Run("ReadsAnotherFileOfAnOlderDate", func(t *testing.T) {
		t.Parallel()
		file := func(tag string, at time.Time, title string) func(*web.Visit) {
			return says("<title>"+title+"</title>", "ETag", tag, "Last-Modified", at.UTC().Format(http.TimeFormat), "Content-Type", "text/html")
		}
		b := setup(t, options{sites: serving(map[string]web.Behaviour{"/": turns{answers: []func(*web.Visit){
			file(`"1"`, modified, "first"), file(`"2"`, modified.Add(-time.Hour), "second"), file(`"2"`, modified.Add(-time.Hour), "second"),
		}}})})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		b.again(t, "second", long, settings.Settings{})
		require.Equal(t, "second", b.report(t, "/").Title)
		require.Empty(t, b.newest(t).Unchanged)
		b.again(t, "third", long, settings.Settings{})
		require.Contains(t, b.newest(t).Unchanged, "same entity tag")
	})

	// Its bytes change with each request; what changes for a reader is the link.
	t.Run("KnowsTheSameTextOfADynamicPage", func(t *testing.T) {
		t.Parallel()
		text := strings.Repeat("These are some words that stay as they are. ", 5)
		wiki := func(nonce, link string) func(*web.Visit) {
			return says(fmt.Sprintf(`<title>T</title><!-- %s --><script>n=%q</script><p><a href=%s>Next</a> %s`, nonce, nonce, link, text),
				"Content-Type", "text/html")
		}
		b := setup(t, options{sites: serving(map[string]web.Behaviour{
			"/": turns{answers: []func(*web.Visit){wiki("a", "/one"), wiki("b", "/two")}}, "/one": page{}, "/two": page{},
		})})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 100)
		require.NoError(t, err)
		b.again(t, "second", long, settings.Settings{})
		require.Equal(t, "same content", b.newest(t).Unchanged)
		require.Equal(t, []string{"/", "/one", "/", "/two"}, b.pages(), "its links are read all the same")
	})

	t.Run("DoesNotTakeA304ItDidNotAskFor", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: -1, Plain: true, Behaviour: always304{}}}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, crawl.OutcomeFailed, b.newest(t).Outcome)
		require.Contains(t, b.newest(t).Error, "without conditions")
	})
}

func TestWindows(t *testing.T) {
	t.Parallel()
	// a window that is closed now, and opens in 2 h to 3 h
	opens := time.Now().UTC().Add(3 * time.Hour).Truncate(time.Hour)
	window := fmt.Sprintf("Mon-Sun %02d:00-%02d:00 UTC", opens.Hour(), (opens.Hour()+1)%24)

	// a workflow does not sleep through the night: it ends, and is due when the window opens
	ends := func(t *testing.T, b *testBundle, res activities.FetchPagesResult) {
		t.Helper()
		require.Equal(t, activities.StepFinish, res.Next)
		require.Equal(t, reasons.Window, res.Reason)
		require.False(t, res.Defer)
		finished, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain,
			activities.FinishDomainInput{Domain: b.site, Reason: string(res.Reason)})
		require.NoError(t, err)
		require.True(t, finished.Finished)
		due, _, err := b.store.NextDue(t.Context(), b.run.ID)
		require.NoError(t, err)
		require.WithinDuration(t, opens, due, time.Minute)
		activity, err := b.store.ActivityUpTo(t.Context(), b.run.ID, 0)
		require.NoError(t, err)
		require.Equal(t, crawl.Activity{Suspended: 1}, activity, "the run waits for it")
	}

	t.Run("OfARunHoldForPagesAndRobots", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{settings: settings.Settings{Window: &window}})
		b.seed(t, "/")
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		ends(t, b, res)
		robots, err := b.fetchRobots(t, activities.FetchRobotsInput{Domain: b.site, Origin: originOf(t, b.page("/"))})
		require.NoError(t, err)
		require.True(t, robots.Done, "the next step decides about the window")
		require.Equal(t, "the request window is closed", robots.Detail)
		b.allowAll(t, b.page("/"))
		res, err = b.fetchPages(t, 1)
		require.NoError(t, err)
		ends(t, b, res)
		require.Empty(t, b.web.Log())
	})

	t.Run("OfADomainHoldBesideTheRuns", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		require.NoError(t, b.control(b.site, crawl.ControlWindow, window))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		ends(t, b, res)
		require.NoError(t, b.control(b.site, crawl.ControlWindow, ""))
		claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []string{b.site}, claimed, "it is due again at once")
		res, err = b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed)
	})
}
