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
	out := crawl.RobotsFacts{Verdict: crawl.RobotsUnreachable, Unreached: decide.RobotsTries}
	require.True(t, decide.FallsBack("https://example.org", out))
	require.False(t, decide.FallsBack("http://example.org", out))
	require.False(t, decide.FallsBack("https://example.org", crawl.RobotsFacts{Verdict: crawl.RobotsAllowAll}))
	tried, read := out, out
	tried.Unreached, read.Read = decide.RobotsTries-1, true
	require.False(t, decide.FallsBack("https://example.org", tried), "it has tries left")
	require.False(t, decide.FallsBack("https://example.org", read), "it was there before")
}

func TestSeedsThatFallBackAreSkipped(t *testing.T) {
	t.Parallel()
	f := facts(func(f *decide.Facts) {
		page(f).Depth, page(f).Bare = 0, true
		robots(f).Verdict, robots(f).Reason, robots(f).Unreached = crawl.RobotsUnreachable, "no TLS", decide.RobotsTries
	})
	d := decide.Decide(f, now)
	require.Equal(t, decide.Skip, d.Do)
	require.Equal(t, reasons.Scheme, d.Reason)
	require.Contains(t, d.Why, "(no TLS): http is requested instead")

	robots(&f).Unreached = 1
	require.Equal(t, decide.DeferOrigin, decide.Decide(f, now).Do, "one failure decides nothing")
	robots(&f).Unreached = decide.RobotsTries
	robots(&f).ExpiresAt = now.Add(-time.Second)
	require.Equal(t, decide.FetchPrerequisite, decide.Decide(f, now).Do, "https is asked again in time")
	robots(&f).ExpiresAt = now.Add(time.Minute)
	page(&f).Bare = false
	require.Equal(t, decide.DeferOrigin, decide.Decide(f, now).Do, "what is named with its scheme is meant as it stands")
}
