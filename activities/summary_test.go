package activities_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/manners/web"
)

// What a result has for people: the last request and how the domain is, also where a site's
// failure has ended the activity. A hostile URL leaves the payload small (call checks that).
func TestResultsTellWhatWasAsked(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("&", 700)
	b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true, Paths: map[string]web.Behaviour{
		"/": web.Redirect{To: long}, long: web.Status{Code: http.StatusServiceUnavailable},
	}}}})
	b.seed(t, "/")
	ask := func() (res activities.FetchPagesResult, err error) {
		return callWhole[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, activities.FetchPagesInput{Domain: b.site, MaxPages: 1})
	}
	robots, err := callWhole[activities.FetchRobotsResult](t, b.acts, b.acts.FetchRobots,
		activities.FetchRobotsInput{Domain: b.site, Origin: originOf(t, b.page("/"))})
	require.NoError(t, err)
	require.Equal(t, activities.RequestSummary{
		URL: b.page("/robots.txt"), Kind: kinds.Robots, Outcome: crawl.OutcomeSuccess, Status: http.StatusOK,
	}, robots.Request)
	b.exec(t, "UPDATE politeness_slots SET free_at = now()")

	res, err := ask()
	require.NoError(t, err)
	require.Nil(t, res.Pending)
	require.Equal(t, activities.RequestSummary{URL: b.page("/"), Outcome: crawl.OutcomeSuccess, Status: http.StatusMovedPermanently}, res.LastRequest)
	require.Equal(t, map[crawl.Outcome]int{crawl.OutcomeSuccess: 1}, res.Outcomes)
	require.Equal(t, reasons.Delay, res.Summary.Reason)
	require.Equal(t, crawl.RobotsRules, res.Summary.Robots)
	require.Contains(t, res.Summary.Health, "0 of 1 recent responses failed")
	b.exec(t, "UPDATE politeness_slots SET free_at = now()")

	res, err = ask()
	requireSiteFailure(t, err)
	require.ErrorContains(t, err, "503 Service Unavailable; next request in ")
	require.Equal(t, http.StatusServiceUnavailable, res.LastRequest.Status)
	require.Less(t, len(res.LastRequest.URL), 100, "as JSON it is six times as long")
	require.Contains(t, res.Summary.Health, "1 of 2 recent responses failed")
}

// What is pending is counted where that is asked for, up to a hundred, in runs that run.
func TestResultsCountWhatIsPending(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: []web.Site{{Pages: 2, Plain: true}}})
	b.seed(t, "/", "/p/1", "/p/2")
	b.allowAll(t, b.page("/"))
	count := func() *activities.Pending {
		b.exec(t, "UPDATE politeness_slots SET free_at = now()")
		res, err := callWhole[activities.FetchPagesResult](t, b.acts, b.acts.FetchPages, activities.FetchPagesInput{Domain: b.site, MaxPages: 1, CountPending: true})
		require.NoError(t, err)
		return res.Pending
	}
	require.Equal(t, &activities.Pending{Requests: 2}, count())
	var many []string
	for i := range 120 {
		many = append(many, fmt.Sprintf("/p/%d", i+10))
	}
	b.seed(t, many...)
	require.Equal(t, &activities.Pending{Requests: 100, HasMore: true}, count())
	b.exec(t, "UPDATE crawl_runs SET status = 'paused'")
	require.Nil(t, count(), "nothing is asked")
}
