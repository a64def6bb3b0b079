package decide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

func TestFallsBack(t *testing.T) {
	t.Parallel()
	bare, out := crawl.DomainFacts{Bare: true}, crawl.RobotsFacts{Verdict: crawl.RobotsUnreachable}
	require.True(t, decide.FallsBack(bare, "https://example.org", out))
	require.False(t, decide.FallsBack(crawl.DomainFacts{}, "https://example.org", out), "https was meant")
	require.False(t, decide.FallsBack(bare, "http://example.org", out))
	require.False(t, decide.FallsBack(bare, "https://example.org", crawl.RobotsFacts{Verdict: crawl.RobotsAllowAll}))
	answered, read := out, out
	answered.Answered, read.Read = true, true
	require.False(t, decide.FallsBack(bare, "https://example.org", answered), "a 503 of https")
	require.False(t, decide.FallsBack(bare, "https://example.org", read), "it was there before")
}

func TestSeedsThatFallBackAreSkipped(t *testing.T) {
	t.Parallel()
	f := facts(func(f *decide.Facts) {
		f.Domain.Bare, page(f).Depth = true, 0
		robots(f).Verdict, robots(f).Reason = crawl.RobotsUnreachable, "no TLS"
	})
	d := decide.Decide(f, now)
	require.Equal(t, decide.Skip, d.Do)
	require.Equal(t, crawl.ReasonScheme, d.Reason)
	require.Contains(t, d.Why, "(no TLS): http is asked instead")
	page(&f).Depth = 1
	require.Equal(t, decide.DeferOrigin, decide.Decide(f, now).Do, "what is linked to is meant as it stands")
}
