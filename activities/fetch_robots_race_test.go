package activities_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
)

// pausing holds look-ups up.
type pausing struct {
	activities.Resolver

	arrived, goOn chan struct{}
}

func (r pausing) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	close(r.arrived)
	<-r.goOn
	return r.Resolver.Lookup(ctx, host)
}

// A seeding and a domain's workflow can want the same robots.txt at once: who comes
// second takes what the first has found.
func TestFetchRobotsOnceForTwo(t *testing.T) {
	t.Parallel()
	b := setup(t, options{})
	b.seed(t, "/")
	second := *b
	arrived, goOn := make(chan struct{}), make(chan struct{})
	second.acts = b.worker(t, options{resolve: func(r activities.Resolver) activities.Resolver {
		return pausing{r, arrived, goOn}
	}})
	done := make(chan activities.FetchRobotsResult, 1)
	go func() {
		res, err := activityCall[activities.FetchRobotsResult](t, second.acts, second.acts.FetchRobots, b.robotsInput(t))
		if err == nil {
			done <- res
		}
		close(done)
	}()
	<-arrived
	first := b.readRobots(t)
	close(goOn)
	require.Equal(t, first, <-done)
	require.Len(t, b.web.Log(), 1)
	b.requireNothingInFlight(t)
	require.Zero(t, b.count(t, "SELECT count(*) FROM page_crawls WHERE lost"))
}
