package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
)

func TestFallsBack(t *testing.T) {
	t.Parallel()
	out := crawl.RobotsFacts{Verdict: crawl.RobotsUnreachable, UnansweredCount: decide.RobotsAttempts}
	require.True(t, decide.FallsBackToHTTP("https://example.org", out))
	require.False(t, decide.FallsBackToHTTP("http://example.org", out))
	require.False(t, decide.FallsBackToHTTP("https://example.org", crawl.RobotsFacts{Verdict: crawl.RobotsAllowAll}))
	tried, read := out, out
	tried.UnansweredCount, read.WasRead = decide.RobotsAttempts-1, true
	require.False(t, decide.FallsBackToHTTP("https://example.org", tried), "it has tries left")
	require.False(t, decide.FallsBackToHTTP("https://example.org", read), "it was there before")
}

func TestSeedsThatFallBackAreSkipped(t *testing.T) {
	t.Parallel()
	f := facts(func(f *decide.Facts) {
		page(f).Depth, page(f).Schemeless = 0, true
		decideRobots(f).Verdict, decideRobots(f).Reason, decideRobots(f).UnansweredCount = crawl.RobotsUnreachable, "no TLS", decide.RobotsAttempts
	})
	d := decide.Decide(f, now)
	require.Equal(t, decide.Skip, d.Action)
	require.Equal(t, reasons.Scheme, d.Reason)
	require.Contains(t, d.Explanation, "(no TLS): http is requested instead")

	decideRobots(&f).UnansweredCount = 1
	require.Equal(t, decide.DeferOrigin, decide.Decide(f, now).Action, "one failure decides nothing")
	decideRobots(&f).UnansweredCount = decide.RobotsAttempts
	decideRobots(&f).ExpiresAt = now.Add(-time.Second)
	require.Equal(t, decide.FetchPrerequisite, decide.Decide(f, now).Action, "https is asked again in time")
	decideRobots(&f).ExpiresAt = now.Add(time.Minute)
	page(&f).Schemeless = false
	require.Equal(t, decide.DeferOrigin, decide.Decide(f, now).Action, "what is named with its scheme is meant as it stands")
}
