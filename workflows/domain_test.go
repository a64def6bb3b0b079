package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestDomainWorkflow(t *testing.T) {
	t.Parallel()

	t.Run("SleepsTheWaitBetweenFetches", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(fetched(10*time.Second, reasons.Delay)),
			says(fetched(2500*time.Millisecond, reasons.CrawlDelay)),
		}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, []time.Duration{10 * time.Second, 2500 * time.Millisecond}, s.timers)
		require.GreaterOrEqual(t, s.gap(1), 10*time.Second)
		require.GreaterOrEqual(t, s.gap(2), 2500*time.Millisecond)
		require.Equal(t, activities.FetchPagesInput{Domain: host, MaxPages: 1, Auto: true}, s.calls[0].in)
		require.Equal(t, activities.FinishDomainInput{Domain: host}, s.calls[3].in)
	})

	t.Run("SetsNoTimerWhereThereIsNothingToWaitFor", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(fetched(0, ""))}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchPages", "FinishDomain"}, s.names())
		require.Empty(t, s.timers)
	})

	t.Run("SaysWhenAnAddressQueueWasWaitedFor", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		queued := fetched(time.Second, reasons.IP)
		queued.Queued = true
		s.fetches = []answer[activities.FetchPagesResult]{says(queued), says(fetched(time.Second, reasons.Delay))}
		s.finished()
		require.Equal(t, []activities.FetchPagesInput{
			{Domain: host, MaxPages: 1, Auto: true},
			{Domain: host, MaxPages: 1, Auto: true, Queued: true},
			{Domain: host, MaxPages: 1, Auto: true},
		}, inputs[activities.FetchPagesInput](s))
	})

	t.Run("GoesOnWhenFinishingFindsWork", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.finishes = []answer[activities.FinishDomainResult]{says(activities.FinishDomainResult{Finished: false})}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FinishDomain", "FetchPages", "FinishDomain"}, s.names())
	})

	t.Run("LooksEverMoreSeldomForWorkThatOnlyFinishingFinds", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for range 9 {
			s.finishes = append(s.finishes, says(activities.FinishDomainResult{Finished: false}))
		}
		s.finished()
		const s1 = time.Second
		require.Equal(t, []time.Duration{s1, 2 * s1, 4 * s1, 8 * s1, 16 * s1, 32 * s1, time.Minute, time.Minute}, s.timers)
	})

	t.Run("LooksAtOnceAgainAfterWorkWasFound", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		found := activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFetch}}
		nothing := activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFinish}}
		s.fetches = []answer[activities.FetchPagesResult]{says(nothing), says(found), says(nothing)}
		for range 2 {
			s.finishes = append(s.finishes, says(activities.FinishDomainResult{Finished: false}))
		}
		s.finished()
		require.Empty(t, s.timers)
	})

	t.Run("CountsAttemptsForPeople", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			says(activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepFetch}, Closed: 2}),
			says(activities.FetchPagesResult{
				NextStep: activities.NextStep{Next: activities.StepFetch, URL: page, Wait: settings.Duration(time.Minute), Reason: reasons.Delay},
				Closed:   3,
			}),
		}
		s.after(30*time.Second, func() {
			require.Equal(t, workflows.DomainState{
				NextStep: activities.NextStep{Next: activities.StepFetch, URL: page, Wait: settings.Duration(time.Minute), Reason: reasons.Delay},
				Closed:   5, Status: workflows.StatusCrawling,
			}, s.state())
		})
		s.finished()
	})
}

func TestDomainWorkflowDefers(t *testing.T) {
	t.Parallel()

	away := activities.FetchPagesResult{
		NextStep: activities.NextStep{Next: activities.StepFinish, URL: page, Wait: settings.Duration(2 * time.Hour), Reason: reasons.RetryAfter, Defer: true},
	}

	t.Run("ForTheWaitWithoutSleepingIt", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(away)}
		s.finished()
		require.Empty(t, s.timers)
		require.Equal(t, []activities.FinishDomainInput{
			{Domain: host, Defer: true, Wait: settings.Duration(2 * time.Hour), Reason: "retry-after"},
		}, inputs[activities.FinishDomainInput](s))
	})

	t.Run("OnlyOnce", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(away)}
		s.finishes = []answer[activities.FinishDomainResult]{says(activities.FinishDomainResult{Finished: false})}
		s.finished()
		require.Equal(t, activities.FinishDomainInput{Domain: host}, inputs[activities.FinishDomainInput](s)[1])
	})
}

func TestDomainWorkflowRobots(t *testing.T) {
	t.Parallel()

	const origin = "https://example.org"
	ask := activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: origin, Kind: kinds.Robots}}

	t.Run("AreFetchedForTheOriginHandedOver", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(ask)}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchRobots", "FetchPages", "FinishDomain"}, s.names())
		require.Equal(t, activities.FetchRobotsInput{Domain: host, Origin: origin, Kind: kinds.Robots}, s.calls[1].in)
		require.Empty(t, s.timers)
	})

	t.Run("AreFollowedThroughRedirectsOneWaitedRequestAtATime", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const first, second = "https://example.org/r", "https://example.com/robots.txt"
		s.fetches = []answer[activities.FetchPagesResult]{says(ask)}
		s.robots = []answer[activities.FetchRobotsResult]{
			says(activities.FetchRobotsResult{URL: first, Hops: 1}),
			says(activities.FetchRobotsResult{URL: first, Hops: 1, Queued: true, Wait: settings.Duration(4 * time.Second), Reason: reasons.IP}),
			says(activities.FetchRobotsResult{URL: second, Hops: 2}),
		}
		s.finished()
		require.Equal(t, []activities.FetchRobotsInput{
			{Domain: host, Origin: origin, Kind: kinds.Robots},
			{Domain: host, Origin: origin, Kind: kinds.Robots, URL: first, Hops: 1},
			{Domain: host, Origin: origin, Kind: kinds.Robots, URL: first, Hops: 1, Queued: true},
			{Domain: host, Origin: origin, Kind: kinds.Robots, URL: second, Hops: 2},
		}, inputs[activities.FetchRobotsInput](s))
		require.Equal(t, []time.Duration{4 * time.Second}, s.timers)
		require.GreaterOrEqual(t, s.gap(3), 4*time.Second)
		require.Equal(t, activities.FetchPagesInput{Domain: host, MaxPages: 1, Auto: true}, s.calls[5].in)
	})

	t.Run("DeferADomainThatAsksToBeLeftAloneForLong", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(ask)}
		s.robots = []answer[activities.FetchRobotsResult]{
			says(activities.FetchRobotsResult{Defer: true, Wait: settings.Duration(2 * time.Hour), Reason: reasons.RetryAfter}),
		}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchRobots", "FinishDomain"}, s.names())
		require.Empty(t, s.timers)
		require.Equal(t, []activities.FinishDomainInput{
			{Domain: host, Defer: true, Wait: settings.Duration(2 * time.Hour), Reason: "retry-after"},
		}, inputs[activities.FinishDomainInput](s))
	})

	t.Run("AreFollowedByTDMRepWhereThatMatters", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{says(ask)}
		s.robots = []answer[activities.FetchRobotsResult]{
			says(activities.FetchRobotsResult{Kind: kinds.TDM}),
			says(activities.FetchRobotsResult{Kind: kinds.TDM, Wait: settings.Duration(time.Minute), Reason: reasons.Delay}),
			says(activities.FetchRobotsResult{URL: page, Hops: 1}), // names no kind: the same
		}
		s.fetches = append(s.fetches, says(fetched(time.Minute, reasons.Delay)))
		s.after(30*time.Second, func() { require.Equal(t, kinds.TDM, s.state().Kind) })
		s.after(90*time.Second, func() { require.Empty(t, s.state().Kind) })
		s.finished()
		tdm := activities.FetchRobotsInput{Domain: host, Origin: origin, Kind: kinds.TDM}
		hop := tdm
		hop.URL, hop.Hops = page, 1
		require.Equal(t, []activities.FetchRobotsInput{
			{Domain: host, Origin: origin, Kind: kinds.Robots}, tdm, tdm, hop,
		}, inputs[activities.FetchRobotsInput](s))
		require.GreaterOrEqual(t, s.gap(3), time.Minute)
	})

	t.Run("AreAskedForInTheKindThatIsMissing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		missing := ask
		missing.Kind = kinds.TDM
		s.fetches = []answer[activities.FetchPagesResult]{says(missing), says(ask)}
		s.finished()
		require.Equal(t, []activities.FetchRobotsInput{
			{Domain: host, Origin: origin, Kind: kinds.TDM}, {Domain: host, Origin: origin, Kind: kinds.Robots},
		}, inputs[activities.FetchRobotsInput](s))
	})

	t.Run("OfASecondOriginStartFromItsOwnAddress", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const other = "http://example.org"
		s.fetches = []answer[activities.FetchPagesResult]{
			says(ask), says(activities.FetchPagesResult{NextStep: activities.NextStep{Next: activities.StepRobots, Origin: other, Kind: kinds.Robots}}),
		}
		s.robots = []answer[activities.FetchRobotsResult]{says(activities.FetchRobotsResult{URL: page, Hops: 1})}
		s.finished()
		in := inputs[activities.FetchRobotsInput](s)
		require.Equal(t, activities.FetchRobotsInput{Domain: host, Origin: other, Kind: kinds.Robots}, in[len(in)-1])
	})
}

// siteFailure is how an attempt ends at a site that fails; next is 0 if the retry policy says
// when the next attempt is made.
func siteFailure(next time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("answered 503", activities.TypeSiteFailure, temporal.ApplicationErrorOptions{
		Category: temporal.ApplicationErrorCategoryBenign, NextRetryDelay: next,
	})
}

func TestDomainWorkflowFailures(t *testing.T) {
	t.Parallel()
	requireGaps := func(t *testing.T, s *script, from int, seconds ...float64) {
		t.Helper()
		for n, want := range seconds {
			require.InDelta(t, want+5, s.gap(from+n).Seconds(), 5, "%d", n) // not sooner, hardly later
			require.EqualValues(t, n+2, s.calls[from+n].info.Attempt)
		}
		require.Empty(t, s.timers)
	}

	t.Run("OfTheSiteIsWaitedForByTheRetryPolicy", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		asked := fetched(0, "")
		asked.Backoff = settings.Duration(20 * time.Second)
		s.fetches = []answer[activities.FetchPagesResult]{says(asked)}
		for range 6 {
			s.fetches = append(s.fetches, fails[activities.FetchPagesResult](siteFailure(0)))
		}
		s.finished()
		require.Equal(t, "FinishDomain", s.names()[8])
		requireGaps(t, s, 2, 20, 40, 80, 160, 300, 300)
		require.Equal(t, asked.Backoff, inputs[activities.FetchPagesInput](s)[1].Backoff)
		var res workflows.DomainResult
		require.NoError(t, s.env.GetWorkflowResult(&res))
		require.Equal(t, "no page is due", res.Reason)
	})

	t.Run("OfASiteThatNothingIsKnownOfIsWaitedForFromTwoSeconds", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			fails[activities.FetchPagesResult](siteFailure(0)), fails[activities.FetchPagesResult](siteFailure(0)),
		}
		s.finished()
		requireGaps(t, s, 1, 2, 4)
	})

	t.Run("OfTheSiteIsWaitedForAsItAsks", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{fails[activities.FetchPagesResult](siteFailure(4 * time.Minute))}
		s.finished()
		requireGaps(t, s, 1, 240)
	})

	t.Run("OfRobotsIsRetried", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const origin = "https://example.org"
		s.fetches = []answer[activities.FetchPagesResult]{says(activities.FetchPagesResult{
			NextStep: activities.NextStep{Next: activities.StepRobots, Origin: origin}, Backoff: settings.Duration(time.Minute),
		})}
		s.robots = []answer[activities.FetchRobotsResult]{fails[activities.FetchRobotsResult](siteFailure(0))}
		s.finished()
		require.Equal(t, []string{"FetchPages", "FetchRobots", "FetchRobots", "FetchPages", "FinishDomain"}, s.names())
		requireGaps(t, s, 2, 60)
		in := inputs[activities.FetchRobotsInput](s)
		require.Equal(t, activities.FetchRobotsInput{Domain: host, Origin: origin, Backoff: settings.Duration(time.Minute)}, in[1])
	})

	t.Run("OfOurOwnIsRetried", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{
			fails[activities.FetchPagesResult](errors.New("the worker was killed")),
		}
		s.finished()
		requireGaps(t, s, 1, 2)
	})

	t.Run("WithTheInputFailsTheWorkflowForGood", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.fetches = []answer[activities.FetchPagesResult]{fails[activities.FetchPagesResult](
			temporal.NewNonRetryableApplicationError("no such thing", activities.TypeBadInput, nil))}
		s.run(workflows.DomainInput{})
		var failure *temporal.ApplicationError
		require.ErrorAs(t, s.env.GetWorkflowError(), &failure)
		require.Equal(t, activities.TypeBadInput, failure.Type())
		require.Equal(t, []string{"FetchPages"}, s.names())
	})
}
