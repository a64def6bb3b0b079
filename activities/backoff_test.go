package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/manners/web"
)

// After a site's failure Temporal makes another attempt, which requests the page that the activity
// is named after.
func TestASitesFailure(t *testing.T) {
	t.Parallel()
	failing := func(t *testing.T, site web.Behaviour, set settings.Settings) *testBundle {
		t.Helper()
		b := setup(t, options{settings: set, sites: []web.Site{{
			Pages: 5, Plain: true, Paths: map[string]web.Behaviour{"/p/1": site},
		}}})
		b.seed(t, "/p/1", "/p/2", "/p/3")
		b.allowAll(t, b.page("/"))
		return b
	}
	fetch := func(t *testing.T, b *testBundle, earlier *activities.FetchPagesResult) (activities.FetchPagesResult, error) {
		t.Helper()
		b.exec(t, "UPDATE politeness_slots SET free_at = now()")
		in := activities.FetchPagesInput{Domain: b.site, MaxPages: 1}
		if earlier == nil {
			return callWhole[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in)
		}
		return callWhole[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in, after(*earlier))
	}

	t.Run("IsRetriedWithItsPage", func(t *testing.T) {
		t.Parallel()
		b := failing(t, web.Flaky{First: 2, Code: 503}, settings.Settings{})
		first, err := fetch(t, b, nil)
		require.Equal(t, 2*time.Second, requireSiteFailure(t, err))
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.Zero(t, app.NextRetryDelay(), "the retry policy has this wait")
		require.Equal(t, b.page("/p/1"), first.URL)

		second, err := fetch(t, b, &first)
		require.Equal(t, 4*time.Second, requireSiteFailure(t, err))
		res, err := fetch(t, b, &second)
		require.NoError(t, err)
		require.Equal(t, []string{"/p/1", "/p/1", "/p/1"}, b.pages())
		require.Equal(t, 3, res.Closed)
		require.Equal(t, map[crawl.Outcome]int{crawl.OutcomeBlocked5xx: 2, crawl.OutcomeSuccess: 1}, res.Outcomes)
		require.Equal(t, settings.Duration(4*time.Second), res.Backoff, "half of the last wait counts on")
		require.Equal(t, b.page("/p/2"), res.URL)
	})

	t.Run("LeavesAnotherPageToAnotherActivity", func(t *testing.T) {
		t.Parallel()
		b := failing(t, web.Flaky{First: 1, Code: 429}, settings.Settings{})
		first, err := fetch(t, b, nil)
		requireSiteFailure(t, err)
		u, err := urls.Parse(b.page("/p/3"))
		require.NoError(t, err)
		_, err = b.store.RecrawlNow(t.Context(), b.run, []urls.URL{u})
		require.NoError(t, err)
		res, err := fetch(t, b, &first)
		require.NoError(t, err)
		require.Equal(t, []string{"/p/1"}, b.pages(), "a person wants another page first")
		require.Equal(t, activities.StepFetch, res.Next)
		require.Equal(t, b.page("/p/3"), res.URL)
		require.Zero(t, res.Wait)
		require.Equal(t, 1, res.Closed)
	})

	t.Run("DoesNotEndTheTurnOfItsRun", func(t *testing.T) {
		t.Parallel()
		b := failing(t, web.Flaky{First: 1, Code: 503}, settings.Settings{})
		other := b.inRun(t, "other", settings.Settings{})
		other.seed(t, "/p/4")
		first, err := fetch(t, b, nil)
		requireSiteFailure(t, err)
		_, err = fetch(t, b, &first)
		require.NoError(t, err)
		_, err = fetch(t, b, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"/p/1", "/p/1", "/p/4"}, b.pages())
	})

	t.Run("IsWaitedForByATimerIfTheWaitIsLong", func(t *testing.T) {
		t.Parallel()
		const long = 20 * time.Minute
		b := failing(t, web.Flaky{First: 1, Code: 503, RetryAfter: long}, settings.Settings{})
		res, err := fetch(t, b, nil)
		require.NoError(t, err)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Equal(t, reasons.RetryAfter, res.Reason)
		require.Equal(t, b.page("/p/1"), res.URL)
		require.InDelta(t, long.Seconds(), time.Duration(res.Wait).Seconds(), 1)
	})

	t.Run("IsNoMoreThanMaxAttempts", func(t *testing.T) {
		t.Parallel()
		b := failing(t, web.Status{Code: 503}, settings.Settings{MaxAttempts: new(3), Graylist: new(settings.Duration(0))})
		first, err := fetch(t, b, nil)
		requireSiteFailure(t, err)
		res, err := fetch(t, b, &first)
		require.NoError(t, err)
		require.Equal(t, b.page("/p/2"), res.URL)
		require.Equal(t, []string{"/p/1", "/p/1"}, b.pages())
	})
}
