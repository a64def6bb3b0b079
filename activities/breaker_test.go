package activities_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
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
	return []web.Site{{Pages: -1, Plain: true, Behaviour: web.Status{Code: status}, Paths: paths}}, targets
}

func TestBreaker(t *testing.T) {
	t.Parallel()

	t.Run("RestsProbesAndGivesUp", func(t *testing.T) {
		t.Parallel()
		sites, targets := refusing(403, 12)
		b := setup(t, options{sites: sites, settings: settings.Settings{MaxGraylistings: new(3)}})
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
		require.WithinDuration(t, time.Now().Add(time.Hour), d.DeferredUntil, time.Minute)
		require.Len(t, b.pages(), 7)
		require.Equal(t, []string{"/", "/"}, b.pages()[5:], "no page has worked: the front page tells")

		// a person may insist: then one probe decides
		b.seed(t, targets[0])
		b.rested(t)
		_, err = b.fetchPages(t, 50)
		require.NoError(t, err)
		require.Len(t, b.pages(), 8)
		d, err = b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(2*time.Hour), d.DeferredUntil, time.Minute, "twice as long")
	})

	t.Run("GoesOnByItselfOnceTheSiteIsBack", func(t *testing.T) {
		t.Parallel()
		var back atomic.Bool
		b := setup(t, options{
			sites: []web.Site{{Pages: 12, Plain: true, Behaviour: serve(func(v *web.Visit) {
				if !back.Load() {
					web.Status{Code: 503}.Serve(v)
					return
				}
				v.Answer()
			})}},
			settings: settings.Settings{MaxGraylistings: new(1)},
		})
		for i := range 6 {
			b.seed(t, "/p/"+strconv.Itoa(i+1))
		}
		b.allowAll(t, b.page("/"))
		for range 5 {
			b.rested(t)
			_, _ = b.fetchPages(t, 1) // the wait is the activity's
		}
		d, err := b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Equal(t, crawl.DomainUnreachable, d.Status)
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		finished, err := activityCall[activities.FinishDomainResult](t, b.acts, b.acts.FinishDomain,
			activities.FinishDomainInput{Domain: b.site})
		require.NoError(t, err)
		require.True(t, finished.Finished)
		list, _, err := b.store.Obstacles(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Len(t, list, 1)

		back.Store(true)
		b.exec(t, "UPDATE domains SET next_crawl_after = now()")
		b.exec(t, "UPDATE run_domains SET next_due_at = now()")
		claimed, err := b.store.ClaimDomains(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		require.Equal(t, []string{b.site}, claimed)
		b.crawlAll(t, 50)
		d, err = b.store.Domain(t.Context(), b.site)
		require.NoError(t, err)
		require.Zero(t, d.Health.AbandonedCount)
		require.Zero(t, d.Health.Graylistings)
		require.Equal(t, 13, b.count(t, "SELECT count(*) FROM pages WHERE status = 'fetched' AND kind = 'page'"))
	})

	t.Run("TakesErrorsForADomainOutOfReach", func(t *testing.T) {
		t.Parallel()
		sites, targets := refusing(500, 12)
		b := setup(t, options{
			sites: sites, settings: settings.Settings{MaxGraylistings: new(1), MaxAttempts: new(1), MaxPages: new(int64(9))},
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
		require.Equal(t, "more than half of the last responses were errors", d.Reason)
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
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 12}, res)
	})
}

func requireGraylisted(t *testing.T, res activities.FetchPagesResult, rest time.Duration) {
	t.Helper()
	require.Equal(t, activities.StepFetch, res.Next)
	require.Equal(t, reasons.Graylist, res.Reason)
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
		settings: settings.Settings{LatencyFactor: new(20.0)},
	})
	b.seed(t, "/", "/x")
	b.allowAll(t, b.page("/"))
	res, err := b.fetchPages(t, 1)
	require.NoError(t, err)
	require.Equal(t, reasons.Latency, res.Reason)
	require.Greater(t, time.Duration(res.Wait), 4*time.Second)
}
