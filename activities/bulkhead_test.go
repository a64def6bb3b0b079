package activities_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/manners/web"
)

var errNotClosed = errors.New("the page was not fetched")

// TestSlowHostsLeavePlaces has two places for requests and two hosts that are
// known to be slow: they must not take both.
func TestSlowHostsLeavePlaces(t *testing.T) {
	t.Parallel()
	g := newGate()
	hangs := map[string]web.Behaviour{"/": g}
	b := setup(t, options{maxFetches: 2, sites: []web.Site{
		{Host: "healthy.test", Pages: -1, Plain: true},
		{Host: "slow-1.test", Pages: -1, Plain: true, Paths: hangs},
		{Host: "slow-2.test", Pages: -1, Plain: true, Paths: hangs},
	}})
	b.site = "healthy.test"
	slow := []string{"slow-1.test", "slow-2.test"}
	for _, host := range append([]string{b.site}, slow...) {
		b.seedURLs(t, b.web.URL(host, "/"))
		b.allowAll(t, b.web.URL(host, "/"))
	}
	b.exec(t, `INSERT INTO domain_health (domain, health)
		SELECT d, '{"samples":[{"duration":"3s"}]}' FROM unnest($1::text[]) d`, slow)
	done := make(chan error, len(slow))
	for _, host := range slow {
		go func() {
			res, err := activityCall[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages,
				activities.FetchPagesInput{Domain: host, MaxPages: 1})
			if err == nil && res.Closed != 1 {
				err = errNotClosed
			}
			done <- err
		}()
	}
	<-g.arrived
	_, err := b.fetchPages(t, 1) // would wait for ever
	require.NoError(t, err)
	require.Equal(t, crawl.OutcomeSuccess, b.report(t, "/").Crawls[0].Outcome)
	require.Empty(t, g.arrived, "the other slow host waits for the first")
	close(g.open)
	for range slow {
		require.NoError(t, <-done)
	}
}
