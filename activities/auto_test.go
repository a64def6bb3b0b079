package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// fetchAuto runs FetchPages for the site, which decides itself how many pages it
// fetches.
func (b *testBundle) fetchAuto(t *testing.T, with ...envOption) (activities.FetchPagesResult, error) {
	t.Helper()
	in := activities.FetchPagesInput{Domain: b.site, MaxPages: 1, Auto: true}
	res, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, in, with...)
	res.Runs = nil // see TestRunsOfADomain
	return res, err
}

func TestFetchPagesAuto(t *testing.T) {
	t.Parallel()

	t.Run("FetchesOnePageWhileTemporalIsAtEase", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: 8, Plain: true}},
			settings: settings.Settings{Delay: new(settings.Duration(2 * time.Second))}, // longer than a busy machine needs for a page
		})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		for i := range 3 {
			res, err := b.fetchAuto(t)
			require.NoError(t, err)
			require.Equal(t, 1, res.Closed)
			require.Equal(t, activities.StepFetch, res.Next)
			require.Len(t, b.pages(), i+1)
			time.Sleep(time.Duration(res.Wait)) // as its workflow does
		}
		b.requireNothingInFlight(t)
	})

	t.Run("GoesOnWhereThereIsNoWaitToShow", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 8, Plain: true}}})
		b.seed(t, "/")
		b.allowAll(t, b.page("/"))
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 9}, res, "without a delay")
		require.Len(t, b.pages(), 9)
	})

	t.Run("LeavesRobotsToTheWorkflowWhileTemporalIsAtEase", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{})
		b.seed(t, "/")
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: originOf(t, b.page("/"))}}, res)
		require.Empty(t, b.web.Log())
	})

	t.Run("GoesOnInTheProcessWhereTemporalIsNotAtEase", func(t *testing.T) {
		t.Parallel()
		const delay = 900 * time.Millisecond // longer than a batch of one page waits
		b := setup(t, options{
			sites:    []web.Site{{Pages: 2, Plain: true}},
			settings: settings.Settings{Delay: new(settings.Duration(delay))},
		})
		activities.SpendEase(b.acts)
		b.seed(t, "/")
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}, Closed: 3}, res, "all in one activity")
		require.Len(t, b.pages(), 3)
		report := web.Judge(b.web.Log(), web.Expectations{Plan: b.web.Plan, Delay: delay, Partial: true})
		require.Empty(t, report.Violations())
		require.Equal(t, 4, report.Answered, "robots.txt and three pages")
		b.requireNothingInFlight(t)
	})

	t.Run("EndsOnceTemporalIsAtEaseAgain", func(t *testing.T) {
		t.Parallel()
		b, during := gated(t)
		during(func() error {
			activities.RestoreEase(b.acts)
			return nil
		})
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Equal(t, 1, res.Closed)
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("HeedsAPersonBeforeEachPage", func(t *testing.T) {
		t.Parallel()
		b, during := gated(t)
		during(func() error { return b.control(b.site, crawl.ControlPause, nil) })
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish, Reason: reasons.Paused}, Closed: 1}, res)
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("EndsWithItsWorker", func(t *testing.T) {
		t.Parallel()
		b, during := gated(t)
		stop := make(chan struct{})
		during(func() error {
			close(stop)
			return nil
		})
		res, err := b.fetchAuto(t, stoppedBy(stop))
		require.NoError(t, err)
		require.Equal(t, activities.StepFetch, res.Next)
		require.Equal(t, 1, res.Closed)
		require.Equal(t, []string{"/"}, b.pages())
	})

	t.Run("LeavesALongWaitToTheWorkflow", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{
			sites:    []web.Site{{Pages: 2, Plain: true, Robots: web.RobotsChain}},
			settings: settings.Settings{Delay: new(settings.Duration(time.Minute))},
		})
		activities.SpendEase(b.acts)
		b.seed(t, "/")
		origin := originOf(t, b.page("/"))
		res, err := b.fetchAuto(t)
		require.NoError(t, err)
		require.Equal(t, activities.StepRobots, res.Next)
		require.Equal(t, origin, res.Origin)
		require.Equal(t, reasons.Delay, res.Reason)
		require.InDelta(t, time.Minute, time.Duration(res.Wait), float64(20*time.Second))
		require.Equal(t, 1, res.Hops)
		require.NotEmpty(t, res.URL, "the redirect goes on from where it has led")
		require.Len(t, b.web.Log(), 1)
	})

	t.Run("ReportsFailuresOfRobotsAsTheirOwnActivityDoes", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, Robots: web.RobotsUnavailable}}})
		activities.SpendEase(b.acts)
		b.seed(t, "/")
		_, err := b.fetchAuto(t)
		requireSiteFailure(t, err)
		require.Len(t, b.web.Log(), 1)
		require.Empty(t, b.pages())
		b.requireNothingInFlight(t)
	})
}

// gated has Temporal not at ease, and two pages of which each waits for the function
// that is given.
func gated(t *testing.T) (b *testBundle, during func(do func() error)) {
	t.Helper()
	g := newGate()
	b = setup(t, options{sites: one(g), settings: settings.Settings{Delay: new(settings.Duration(time.Second))}})
	activities.SpendEase(b.acts)
	b.seed(t, "/", "/p/1")
	b.allowAll(t, b.page("/"))
	return b, func(do func() error) {
		failed := make(chan error, 1)
		go func() {
			<-g.arrived
			failed <- do()
			close(g.open)
		}()
		t.Cleanup(func() { require.NoError(t, <-failed) })
	}
}
