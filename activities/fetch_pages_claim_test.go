package activities_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/manners/web"
)

// anotherWorker begins the site's next crawl, as another worker does that
// then dies.
func (b *testBundle) anotherWorker(t *testing.T, hold time.Duration) crawl.Lease {
	t.Helper()
	f, err := b.store.Next(t.Context(), b.site)
	require.NoError(t, err)
	run := decide.Pick(f, f.Now)
	require.NotNil(t, run)
	return b.begin(t, crawl.Start{
		AttemptID: run.Attempt.ID, RunID: run.ID, Domain: b.site, Origin: run.Attempt.Origin, URL: run.Attempt.URL,
		Kind: run.Attempt.Kind, RetryPriority: new(decide.RetryPriority(*run.Attempt)),
		SlotHold: crawl.Millis(hold), MaxDuration: crawl.Millis(hold), ClaimDuration: crawl.Millis(crawl.ClaimRenewed),
	})
}

// begin takes a lease, which must be free.
func (b *testBundle) begin(t *testing.T, s crawl.Start) crawl.Lease {
	t.Helper()
	s.Shared = []crawl.SharedSlot{}
	lease, err := b.store.Begin(t.Context(), s)
	require.NoError(t, err)
	require.True(t, lease.Granted, lease)
	return lease
}

func TestFetchPagesNextToAnotherWorker(t *testing.T) {
	t.Parallel()

	t.Run("LeavesItsAttemptAlone", func(t *testing.T) {
		t.Parallel()
		for name, targets := range map[string][]string{"its page": {"/"}, "and another": {"/", "/p/1"}} {
			b := setup(t, options{})
			b.seed(t, targets...)
			b.allowAll(t, b.page("/"))
			b.anotherWorker(t, time.Minute)
			res, err := b.fetchPages(t, 5)
			require.NoError(t, err, name)
			require.Equal(t, activities.StepFetch, res.Next, name)
			require.InDelta(t, time.Minute, time.Duration(res.Wait), float64(20*time.Second), name)
			require.Zero(t, res.Closed)
			require.Empty(t, b.web.Log(), name)
		}
	})

	t.Run("HoldsTheSlotForTheLongestRequestAndTheDelay", func(t *testing.T) {
		t.Parallel()
		const delay = time.Minute
		held := make(chan time.Duration, 2)
		var b *testBundle
		look := serve(func(v *web.Visit) {
			wait, why := b.slot(t)
			if why == reasons.InFlight {
				held <- wait
			}
			web.Status{Code: 404}.Serve(v)
		})
		b = setup(t, options{
			sites:    []web.Site{{Pages: -1, Plain: true, Behaviour: look, Paths: map[string]web.Behaviour{"/robots.txt": look}}},
			settings: settings.Settings{Delay: new(settings.Duration(delay))},
		})
		b.seed(t, "/")
		b.readRobots(t)
		b.exec(t, "UPDATE politeness_slots SET free_at = now()")
		_, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Len(t, held, 2)
		for range 2 {
			// whatever becomes of this process, nobody asks before it is all over
			require.Greater(t, <-held, delay+fetch.TotalTimeoutDefault)
		}
	})

	t.Run("WaitsForItEvenWhenThatTakesLong", func(t *testing.T) {
		t.Parallel()
		const hold = 2 * time.Hour // as long as a Crawl-delay makes it
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		b.anotherWorker(t, hold)
		res, err := b.fetchPages(t, 5)
		require.NoError(t, err)
		// FinishDomain refuses while an attempt is open: the workflow would spin
		require.Equal(t, activities.StepFetch, res.Next)
		require.Greater(t, time.Duration(res.Wait), hold-time.Minute)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM domains WHERE claim_expires_at > now() + interval '2 hours'"),
			"the claim is kept over the wait")
	})

	t.Run("ClosesItsAttemptOnceItIsDead", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		dead := b.anotherWorker(t, 100*time.Millisecond)
		res, err := b.fetchPages(t, 1)
		for err == nil && res.Next == activities.StepFetch { // as the workflow does
			time.Sleep(time.Duration(res.Wait))
			res, err = b.fetchPages(t, 1)
		}
		require.NoError(t, err)
		crawls := b.report(t, "/").Crawls
		require.Len(t, crawls, 2)
		require.Equal(t, dead.AttemptID, crawls[1].ID)
		require.Equal(t, crawl.OutcomeFailed, crawls[1].Outcome)
		require.Contains(t, crawls[1].Error, "the worker died")
		require.Equal(t, crawl.OutcomeSuccess, crawls[0].Outcome)
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("RecordsNothingWhenItWasTakenForDead", func(t *testing.T) {
		t.Parallel()
		var b *testBundle
		slow := serve(func(v *web.Visit) {
			// what happens when this worker's machine was suspended
			b.exec(t, "UPDATE politeness_slots SET free_at = now() - interval '1 second'")
			if _, err := b.store.Next(context.Background(), b.site); err != nil {
				t.Error(err)
			}
			web.Content{Type: "text/html", Body: `<title>late</title><a href="/found">`}.Serve(v)
		})
		b = setup(t, options{sites: one(slow), settings: settings.Settings{MaxAttempts: new(1)}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}}, res)
		rep := b.report(t, "/")
		require.Len(t, rep.Crawls, 1, "a row is closed once")
		require.Contains(t, rep.Crawls[0].Error, "the worker died")
		require.Empty(t, rep.Title)
		require.Zero(t, b.count(t, "SELECT count(*) FROM pages WHERE url LIKE '%/found'"))
	})

	t.Run("StaysForARobotsRequestWhoseWorkerMayHaveDied", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.begin(t, crawl.Start{
			RunID: b.run.ID, Domain: b.site, Origin: originOf(t, b.page("/")), URL: b.page("/robots.txt"),
			Kind: kinds.Robots, Prerequisite: true,
			SlotHold: crawl.Millis(time.Minute), MaxDuration: crawl.Millis(time.Minute), ClaimDuration: crawl.Millis(time.Minute),
		})
		res, err := b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Equal(t, reasons.InFlight, res.Reason)

		b.exec(t, "UPDATE politeness_slots SET free_at = now() - interval '1 second'")
		res, err = b.fetchPages(t, 1)
		require.NoError(t, err)
		require.Equal(t, activities.StepFinish, res.Next)
		require.Equal(t, 1, b.count(t, "SELECT count(*) FROM page_crawls WHERE lost"))
	})

	t.Run("NeverHasTwoRequestsInFlight", func(t *testing.T) {
		t.Parallel()
		const delay = 100 * time.Millisecond
		b := setup(t, options{
			sites:    []web.Site{{Pages: 6, Plain: true, Behaviour: web.Slow{Latency: 50 * time.Millisecond}}},
			settings: settings.Settings{Delay: new(settings.Duration(delay))},
		})
		b.seed(t, "/", "/p/1", "/p/2", "/p/3", "/p/4", "/p/5", "/p/6")
		b.readRobots(t)
		var wg sync.WaitGroup
		for range 3 {
			acts := b.worker(t, options{})
			wg.Go(func() {
				in := activities.FetchPagesInput{Domain: b.site, MaxPages: 3}
				for {
					// without the wait that a workflow would keep
					res, err := activityCall[activities.FetchPagesResult](t, acts, acts.FetchPages, in)
					if err != nil || res.Next == activities.StepFinish {
						require.NoError(t, err)
						return
					}
				}
			})
		}
		wg.Wait()
		report := web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Delay: delay, Partial: true})
		require.Empty(t, report.Violations())
		require.Equal(t, 7, report.Pages)
		require.Equal(t, 7, b.count(t, "SELECT count(*) FROM page_crawls WHERE outcome = 'success' AND kind = 'page'"))
	})
}
