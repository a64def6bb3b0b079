package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
)

// A host without a scheme is asked by https, and by http where that cannot be reached.
func TestSeedWithoutAScheme(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 3, Plain: true}}})
	plain := b.page("/")
	host := strings.TrimSuffix(strings.TrimPrefix(plain, "http://"), "/")
	store := func(run string) activities.StoreSeedsResult {
		res, err := call[activities.StoreSeedsResult](t, b.acts, b.acts.StoreSeeds,
			activities.StoreSeedsInput{Run: run, URLs: []string{host}})
		require.NoError(t, err)
		return res
	}
	require.Equal(t, 1, store(runName).Added)
	_, err := b.store.ClaimDomains(t.Context(), b.run.ID, 100)
	require.NoError(t, err)
	for range 10 {
		res, err := b.fetchPages(t, 50)
		require.NoError(t, err)
		if res.Next == activities.StepFinish {
			break
		}
		b.exec(t, "UPDATE politeness_slots SET free_at = now() WHERE holder IS NULL")
		if res.Next == activities.StepRobots {
			robots, err := b.fetchRobots(t, activities.FetchRobotsInput{Domain: b.site, Origin: res.URL})
			require.NoError(t, err)
			require.True(t, robots.Done, "https is tried once")
			b.exec(t, "UPDATE politeness_slots SET free_at = now() WHERE holder IS NULL")
		}
	}
	require.Len(t, b.pages(), 4)
	for _, target := range b.pages() {
		require.Equal(t, crawl.OutcomeSuccess, b.report(t, target).Crawls[0].Outcome)
	}
	page, err := b.store.Page(t.Context(), b.site, "https://"+host+"/")
	require.NoError(t, err)
	require.Len(t, page.Crawls, 1)
	require.Equal(t, crawl.ReasonScheme, page.Crawls[0].Skipped)
	require.Contains(t, page.Crawls[0].Error, "http is asked instead")

	_, err = b.store.EnsureRun(t.Context(), "second", "test", crawl.Settings{})
	require.NoError(t, err)
	require.Equal(t, 1, store("second").Added)
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls c JOIN crawl_runs r ON r.id = c.run_id WHERE r.name = 'second'"))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls c JOIN crawl_runs r ON r.id = c.run_id WHERE r.name = 'second' AND c.url = $1",
		plain), "what was found out is kept")
}

// One that says https:// is not asked by http.
func TestSeedWithAScheme(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 3, Plain: true}}})
	secure := strings.Replace(b.page("/"), "http://", "https://", 1)
	b.seedURLs(t, secure)
	res, err := b.fetchPages(t, 50)
	require.NoError(t, err)
	require.Equal(t, activities.StepRobots, res.Next)
	_, err = b.fetchRobots(t, activities.FetchRobotsInput{Domain: b.site, Origin: res.URL})
	requireTrouble(t, err)
	require.Empty(t, b.pages())
}
