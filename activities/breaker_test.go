package activities_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
)

// refusing is a site of which every page answers with a status, and its pages.
func refusing(status, pages int) ([]web.Site, []string) {
	paths := map[string]web.Behaviour{}
	var targets []string
	for i := range pages {
		target := "/" + strconv.Itoa(i)
		paths[target] = web.Status{Code: status}
		targets = append(targets, target)
	}
	return []web.Site{{Pages: -1, Plain: true, Paths: paths}}, targets
}

func TestBreaker(t *testing.T) {
	t.Parallel()

	t.Run("RestsProbesAndGivesUp", func(t *testing.T) {
		t.Parallel()
		sites, targets := refusing(403, 12)
		b := setup(t, options{sites: sites, settings: crawl.Settings{MaxGraylistings: new(3)}})
		b.seed(t, targets[1:]...)
		b.allowAll(t, b.page("/1"))
		res, err := b.fetchPages(t, 50)
		require.NoError(t, err)
		require.Equal(t, 5, res.Closed, "five answers are enough")
		requireGraylisted(t, res, 5*time.Minute)

		b.rested(t)
		res, err = b.fetchPages(t, 50)
		require.NoError(t, err)
		require.Equal(t, 1, res.Closed, "one probe")
		requireGraylisted(t, res, 10*time.Minute)

		b.rested(t)
		res, err = b.fetchPages(t, 50)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		require.False(t, res.Defer)
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainBlocked, d.Status)
		require.Equal(t, "the probe failed", d.Reason)
		require.Len(t, b.pages(), 7)

		// a person may insist: then one probe decides
		b.seed(t, targets[0])
		b.rested(t)
		_, err = b.fetchPages(t, 50)
		require.NoError(t, err)
		require.Len(t, b.pages(), 8)
	})

	t.Run("TakesErrorsForADomainOutOfReach", func(t *testing.T) {
		t.Parallel()
		sites, targets := refusing(500, 12)
		b := setup(t, options{
			sites: sites, settings: crawl.Settings{MaxGraylistings: new(1), MaxAttempts: new(1), MaxPages: new(int64(9))},
		})
		b.seed(t, targets...)
		b.allowAll(t, b.page("/0"))
		for range 5 {
			b.rested(t)
			_, err := b.fetchPages(t, 1)
			require.NoError(t, err)
		}
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainUnreachable, d.Status)
		require.Equal(t, "more than half of the last answers were errors", d.Reason)
		require.Len(t, b.pages(), 5)
	})

	t.Run("IsNotMovedByPagesThatAreGone", func(t *testing.T) {
		t.Parallel()
		sites, targets := refusing(404, 12)
		b := setup(t, options{sites: sites})
		b.seed(t, targets...)
		b.allowAll(t, b.page("/0"))
		res, err := b.fetchPages(t, 50)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{Next: activities.StepFinish, Closed: 12}, res)
	})
}

func requireGraylisted(t *testing.T, res activities.FetchPagesResult, rest time.Duration) {
	t.Helper()
	require.Equal(t, activities.StepFetch, res.Next)
	require.Equal(t, crawl.ReasonGraylist, res.Reason)
	require.LessOrEqual(t, time.Duration(res.Wait), rest)
	require.Greater(t, time.Duration(res.Wait), rest-10*time.Second)
}

// rested opens the domain's slot, as the end of its wait does.
func (b *testBundle) rested(t *testing.T) {
	t.Helper()
	b.exec(t, "UPDATE politeness_slots SET free_at = 'epoch' WHERE $1 <> ''", b.site)
}

func TestLatency(t *testing.T) {
	t.Parallel()
	b := setup(t, options{
		sites:    []web.Site{{Pages: -1, Plain: true, Paths: map[string]web.Behaviour{"/": web.Slow{Latency: 300 * time.Millisecond}}}},
		settings: crawl.Settings{LatencyFactor: new(20.0)},
	})
	b.seed(t, "/", "/x")
	b.allowAll(t, b.page("/"))
	res, err := b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, crawl.ReasonLatency, res.Reason)
	require.Greater(t, time.Duration(res.Wait), 4*time.Second)
}
