package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Attempts of pages begin together as each would alone.
func TestBeginInGroups(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	starts := map[string]crawl.Start{}
	for _, name := range []string{"free", "paused", "busy", "stale", "dead", "given-up"} {
		domain := name + ".example"
		b.seed(t, "https://"+domain+"/1", "https://"+domain+"/2")
		starts[name] = startOf(b.next(t, domain), domain, "")
	}
	require.NoError(t, b.SetControl(t.Context(), "paused.example", crawl.Control{Type: crawl.ControlPause, SetBy: "ann"}))
	b.begin(t, "busy.example")
	stale := b.begin(t, "stale.example")
	b.finish(t, attempted(stale, "stale.example"))
	dead := b.begin(t, "dead.example")
	b.expire(t, "domain:dead.example")
	other := starts["dead"]
	other.CrawlID = one[int64](t, b, "SELECT max(id) FROM page_crawls WHERE domain = 'dead.example'")
	starts["dead"] = other
	b.exec(t, "UPDATE domains SET status = 'blocked' WHERE domain = 'given-up.example'")

	names := []string{"free", "paused", "busy", "stale", "dead", "given-up"}
	ordered := make([]crawl.Start, len(names))
	for i, name := range names {
		ordered[i] = starts[name]
	}
	leases, errs := b.BeginTogether(t.Context(), ordered...)
	told := make([]string, len(names))
	for i, l := range leases {
		require.NoError(t, errs[i])
		require.Equal(t, l.Granted, l.CrawlID == ordered[i].CrawlID)
		told[i] = fmt.Sprintf("%s %t %s %t", names[i], l.Granted, l.Reason, l.Wait > longHold/2)
	}
	require.Equal(t, []string{
		"free true  false", "paused false pause false", "busy false in flight true", "stale false stale false",
		"dead true  false", "given-up false stale false",
	}, told)
	require.Equal(t, []string{"busy.example", "dead.example", "free.example"},
		column[string](t, b, "SELECT domain FROM page_crawls WHERE locked_at IS NOT NULL ORDER BY 1"))
	require.Equal(t, []string{"domain:busy.example", "domain:dead.example", "domain:free.example"},
		column[string](t, b, "SELECT key FROM politeness_slots WHERE holder IS NOT NULL ORDER BY 1"),
		"what was not begun leaves its slot free")
	require.Equal(t, workerDied, one[string](t, b, "SELECT error_message FROM page_crawls WHERE id = $1", dead.CrawlID))
	require.Equal(t, []string{"busy.example 1", "dead.example 2", "free.example 1", "given-up.example 0", "paused.example 0", "stale.example 1"},
		column[string](t, b, "SELECT domain || ' ' || pages_started FROM run_domains ORDER BY 1"))
	require.Equal(t, 1, one[int](t, b,
		"SELECT count(DISTINCT xmin::text) FROM page_crawls WHERE domain IN ('free.example', 'dead.example') AND locked_at IS NOT NULL"))
}

// A budget that a run has got since its facts were read binds attempts that know of none.
func TestBeginAfterABudgetWasSet(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/1", "https://b.example/1")
	alone, together := startOf(b.next(t, "a.example"), "a.example", "192.0.2.1"), startOf(b.next(t, "b.example"), "b.example", "")
	require.Nil(t, alone.RunBudget)
	require.NotEmpty(t, alone.Shared, "so that it begins alone")
	b.exec(t, `UPDATE crawl_runs SET settings = settings || '{"max_pages": 0}'`)
	lease, err := b.Begin(t.Context(), alone)
	require.NoError(t, err)
	require.Equal(t, crawl.Lease{Reason: "stale"}, lease)
	leases, errs := b.BeginTogether(t.Context(), together)
	require.NoError(t, errs[0])
	require.Equal(t, crawl.Lease{Reason: "stale"}, leases[0])
	require.Zero(t, one[int](t, b, "SELECT sum(pages_started) FROM run_domains"))
}
