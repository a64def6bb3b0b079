package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// A page that is gone, or not for us, is so for the next run, too.
func TestFinalAnswersHoldForTheNextRun(t *testing.T) {
	t.Parallel()
	cases := map[string]int{"A404": 404, "A410": 410, "A403": 403, "A401": 401}
	bundles := setupCases(t, options{}, cases, func(code int) web.Site { return one(web.Status{Code: code})[0] })
	next := func(t *testing.T, b *testBundle, name string, set settings.Settings) {
		t.Helper()
		set.Delay, set.IPDelay = new(settings.Duration), new(settings.Duration)
		var err error
		b.run, err = b.store.EnsureRun(t.Context(), name, "test", set)
		require.NoError(t, err)
		b.seed(t, "/")
		res, err := b.fetchPages(t, 5)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 1}, res)
	}
	for name := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundles[name]
			b.allowAll(t, b.page("/"))
			next(t, b, "first-"+name, settings.Settings{})
			require.Len(t, b.pages(), 1)
			next(t, b, "second-"+name, settings.Settings{})
			require.Len(t, b.pages(), 1, "it is not asked for again")
			skipped := b.report(t, "/").Crawls[0]
			require.Equal(t, crawl.OutcomeSkipped, skipped.Outcome)
			require.Equal(t, reasons.MinRefetch, skipped.Skipped)
			require.Contains(t, skipped.Error, "less than 24h0m0s ago")
			next(t, b, "third-"+name, settings.Settings{})
			require.Len(t, b.pages(), 1, "though the last thing that became of it is a skip")
			next(t, b, "fourth-"+name, settings.Settings{MinRefetch: new(settings.Duration)})
			require.Len(t, b.pages(), 2, "unless a person says so")
		})
	}
}
