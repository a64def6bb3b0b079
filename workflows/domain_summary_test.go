package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

func TestDetails(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 23, 59, 30, 5, time.FixedZone("somewhere", 3600))
	minute := settings.Duration(time.Minute)
	for _, c := range []struct {
		name, first, timer string
		step               activities.NextStep
	}{
		{"Begins", "The workflow of **example.org** requests the pages that are due.", "", activities.NextStep{Next: activities.StepFetch}},
		{"Asks", "The workflow of **example.org** requests `https://example.org/a`.", "", activities.NextStep{Next: activities.StepFetch, URL: page}},
		{
			"Waits", "The workflow of **example.org** waits until 2026-11-25 23:00:30 UTC (retry-after: the server sent Retry-After (RFC 9110 §10.2.3)), " +
				"then requests `https://example.org/a`.", "retry-after, then https://example.org/a",
			activities.NextStep{Next: activities.StepFetch, URL: page, Wait: minute, Reason: reasons.RetryAfter},
		},
		{
			"WaitsForWork", "The workflow of **example.org** waits until 2026-11-25 23:00:30 UTC (scheduled: no page is due yet).", "scheduled: no page is due yet",
			activities.NextStep{Next: activities.StepFetch, Wait: minute, Reason: reasons.Scheduled},
		},
		{
			"WaitsForRobots", "The workflow of **example.org** waits until 2026-11-25 23:00:30 UTC (delay: the run's delay is not over), " +
				"then requests robots.txt of https://example.org.", "delay, then robots.txt of https://example.org",
			activities.NextStep{Next: activities.StepRobots, Origin: "https://example.org", Wait: minute, Reason: reasons.Delay},
		},
		{"AsksForRobots", "The workflow of **example.org** requests robots.txt of https://example.org.", "", activities.NextStep{Next: activities.StepRobots, Origin: "https://example.org"}},
		{"Ends", "The workflow of **example.org** ends: no page is due.", "", activities.NextStep{Next: activities.StepFinish}},
		{
			"IsDeferred", "The workflow of **example.org** ends until 2026-11-25 23:00:30 UTC: retry-after.", "",
			activities.NextStep{Next: activities.StepFinish, Defer: true, Wait: minute, Reason: reasons.RetryAfter},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.first+"\n", workflows.Details(host, workflows.DomainState{NextStep: c.step}, now))
			if c.timer != "" {
				require.Equal(t, c.timer, workflows.WaitSummary(workflows.DomainState{NextStep: c.step}))
			}
		})
	}

	t.Run("OfAllThatIsKnown", func(t *testing.T) {
		t.Parallel()
		s := workflows.DomainState{
			Closed: 4, Outcomes: map[crawl.Outcome]int64{crawl.OutcomeBlocked5xx: 1, crawl.OutcomeSuccess: 3}, Runs: []string{"a", "b"},
			LastRequest: activities.RequestSummary{URL: page + "`<b>`", Outcome: crawl.OutcomeFailed, Error: "no such `host`"},
			Summary:     activities.DomainSummary{Delay: minute + 123456789, Reason: reasons.Backoff, Robots: crawl.RobotsAllowAll, Health: "good"},
			Pending:     &activities.Pending{Requests: 100, HasMore: true}, CountedAt: now,
		}
		require.Equal(t, `The workflow of **example.org** requests the pages that are due.

- Last request: `+"`https://example.org/a%60<b>%60`, `failed: no such %60host%60`"+`
- Delay after a page: 1m0.1s (back-off: the last requests failed)
- robots.txt: allows all
- Health: good
- Attempts: 3 ok, 1 server error (since this workflow began)
- Pending: more than 100 requests at 2026-11-25 22:59:30 UTC
- Runs: a, b`, workflows.Details(host, s, now))
		s.LastRequest = activities.RequestSummary{URL: page, Outcome: crawl.OutcomeBlocked4xx, Status: 404}
		require.Contains(t, workflows.Details(host, s, now), "- Last request: `https://example.org/a`, `404 Not Found`\n")
	})
}

// A request for robots.txt is shown, too, and leaves what is known of the domain.
func TestDetailsAfterRobots(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := fetched(0, "")
	first.Next, first.Origin = activities.StepRobots, "https://example.org"
	first.LastRequest = activities.RequestSummary{URL: page, Outcome: crawl.OutcomeSuccess, Status: 200}
	first.Summary = activities.DomainSummary{Delay: settings.Duration(time.Minute), Reason: reasons.Delay, Health: "good"}
	robots := activities.RequestSummary{URL: "https://example.org/robots.txt", Kind: kinds.Robots, Outcome: crawl.OutcomeSuccess, Status: 200}
	s.fetches = []answer[activities.FetchPagesResult]{says(first), says(fetched(time.Hour, reasons.Delay))}
	s.robots = []answer[activities.FetchRobotsResult]{says(activities.FetchRobotsResult{Done: true, Request: robots})}
	s.after(time.Minute, func() {
		require.Equal(t, robots, s.state().LastRequest)
		require.Equal(t, first.Summary, s.state().Summary)
	})
	s.finished()
}

// What is pending is counted at most once a minute.
func TestPendingIsCounted(t *testing.T) {
	t.Parallel()
	s := setup(t)
	counted := fetched(50*time.Second, reasons.Delay)
	counted.Pending = &activities.Pending{Requests: 7}
	other := fetched(50*time.Second, reasons.Delay)
	s.fetches = []answer[activities.FetchPagesResult]{says(counted), says(other), says(counted), says(other)}
	s.finished()
	require.Equal(t, []bool{true, false, true, false, true}, s.counted)
	require.Equal(t, &activities.Pending{Requests: 7}, s.state().Pending)
	require.WithinDuration(t, s.start.Add(100*time.Second), s.state().CountedAt, 5*time.Second)
}

// A workflow that ends says why, until when, and what it has done.
func TestDomainResult(t *testing.T) {
	t.Parallel()
	s := setup(t)
	put := fetched(time.Hour, reasons.RetryAfter)
	put.Next, put.Defer, put.Outcomes = activities.StepFinish, true, map[crawl.Outcome]int{crawl.OutcomeBlocked5xx: 1}
	first := fetched(0, "")
	first.Outcomes = map[crawl.Outcome]int{crawl.OutcomeSuccess: 1}
	s.fetches = []answer[activities.FetchPagesResult]{says(first), says(put)}
	s.finished()
	var res workflows.DomainResult
	require.NoError(t, s.env.GetWorkflowResult(&res))
	require.NotNil(t, res.Until)
	require.WithinDuration(t, s.start.Add(time.Hour), *res.Until, time.Minute)
	res.Until = nil
	require.Equal(t, workflows.DomainResult{
		Reason: "retry-after", Attempts: 2, Outcomes: map[crawl.Outcome]int64{crawl.OutcomeSuccess: 1, crawl.OutcomeBlocked5xx: 1},
	}, res)
}
