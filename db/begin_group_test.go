package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
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
	other.AttemptID = one[int64](t, b, "SELECT max(id) FROM page_crawls WHERE domain = 'dead.example'")
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
		require.Equal(t, l.Granted, l.AttemptID == ordered[i].AttemptID)
		told[i] = fmt.Sprintf("%s %t %s %t", names[i], l.Granted, l.Reason, l.Wait > longHold/2)
	}
	require.Equal(t, []string{
		"free true  false", "paused false pause false", "busy false in flight true", "stale false not pending false",
		"dead true  false", "given-up false not pending false",
	}, told)
	require.Equal(t, []string{"busy.example", "dead.example", "free.example"},
		column[string](t, b, "SELECT domain FROM page_crawls WHERE locked_at IS NOT NULL ORDER BY 1"))
	require.Equal(t, []string{"domain:busy.example", "domain:dead.example", "domain:free.example"},
		column[string](t, b, "SELECT key FROM politeness_slots WHERE holder IS NOT NULL ORDER BY 1"),
		"what was not begun leaves its slot free")
	require.Equal(t, workerDied, one[string](t, b, "SELECT error_message FROM page_crawls WHERE id = $1", dead.AttemptID))
	require.Equal(t, []string{"busy.example 1", "dead.example 2", "free.example 1", "given-up.example 0", "paused.example 0", "stale.example 1"},
		column[string](t, b, "SELECT domain || ' ' || pages_started FROM run_domains ORDER BY 1"))
	require.Equal(t, 1, one[int](t, b,
		"SELECT count(DISTINCT xmin::text) FROM page_crawls WHERE domain IN ('free.example', 'dead.example') AND locked_at IS NOT NULL"))
}

// Requests for robots.txt begin together with pages.
func TestPrerequisitesBeginInGroups(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	for _, name := range []string{"page", "first", "busy", "paused", "last"} {
		b.seed(t, "https://"+name+".example/1")
	}
	require.NoError(t, b.SetControl(t.Context(), "paused.example", crawl.Control{Type: crawl.ControlPause, SetBy: "ann"}))
	b.begin(t, "busy.example")
	page := startOf(b.next(t, "page.example"), "page.example", "")
	robots := func(domain string) crawl.Start { return b.prerequisite(domain, "", 0, 0) }
	leases, errs := b.BeginTogether(t.Context(),
		robots("last.example"), page, robots("busy.example"), robots("first.example"), robots("paused.example"))
	var told []string
	for i, l := range leases {
		require.NoError(t, errs[i])
		told = append(told, fmt.Sprintf("%t %s", l.Granted, l.Reason))
	}
	require.Equal(t, []string{"true ", "true ", "false in flight", "true ", "false pause"}, told)
	require.Equal(t, page.AttemptID, leases[1].AttemptID)
	require.Equal(t, []string{"http://first.example/robots.txt robots", "http://last.example/robots.txt robots"},
		column[string](t, b, `SELECT p.url || ' ' || c.kind FROM page_crawls c JOIN pages p ON p.id = c.page_id
			WHERE c.prerequisite AND c.locked_at IS NOT NULL AND p.url = c.url AND c.run_id = $1 ORDER BY 1`, b.run.ID))
	require.Equal(t, leases[3].AttemptID, one[int64](t, b, "SELECT id FROM page_crawls WHERE prerequisite AND domain = 'first.example'"))
	require.Equal(t, []string{"domain:busy.example", "domain:first.example", "domain:last.example", "domain:page.example"},
		column[string](t, b, "SELECT key FROM politeness_slots WHERE holder IS NOT NULL ORDER BY 1"))
	require.Equal(t, []string{"busy.example 1", "first.example 0", "last.example 0", "page.example 1", "paused.example 0"},
		column[string](t, b, "SELECT domain || ' ' || pages_started FROM run_domains ORDER BY 1"))
	require.Equal(t, 1, one[int](t, b,
		"SELECT count(DISTINCT xmin::text) FROM page_crawls WHERE locked_at IS NOT NULL AND domain <> 'busy.example'"))
}

// A budget that a run has got since its facts were read binds attempts that know of none.
func TestBeginAfterABudgetWasSet(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/1", "https://b.example/1")
	alone, together := startOf(b.next(t, "a.example"), "a.example", ""), startOf(b.next(t, "b.example"), "b.example", "")
	require.Nil(t, alone.RunBudget)
	alone.DomainBudget = new(int64(1000)) // so that it begins alone
	b.exec(t, `UPDATE crawl_runs SET settings = settings || '{"max_pages": 0}'`)
	lease, err := b.Begin(t.Context(), alone)
	require.NoError(t, err)
	require.Equal(t, crawl.Lease{Reason: "not pending"}, lease)
	leases, errs := b.BeginTogether(t.Context(), together)
	require.NoError(t, errs[0])
	require.Equal(t, crawl.Lease{Reason: "not pending"}, leases[0])
	require.Zero(t, one[int](t, b, "SELECT sum(pages_started) FROM run_domains"))
}

// Attempts that share slots begin in a group as each would after the other.
func TestBeginInGroupsOnSharedAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	var starts []crawl.Start
	for _, d := range []struct{ name, address string }{{"a", "192.0.2.1"}, {"b", "192.0.2.1"}, {"c", "192.0.2.1"}, {"d", "192.0.2.2"}} {
		domain := d.name + ".example"
		b.seed(t, "https://"+domain+"/1")
		starts = append(starts, startOf(b.next(t, domain), domain, d.address))
	}
	starts[3].AttemptID = 0 // is not pending
	leases, errs := b.BeginTogether(t.Context(), starts...)
	for i := range leases {
		require.NoError(t, errs[i])
	}
	require.Equal(t, crawl.Lease{Granted: true, AttemptID: starts[0].AttemptID}, leases[0])
	delay := time.Duration(starts[0].Shared[0].Delay)
	for i, l := range leases[1:3] {
		require.False(t, l.Granted)
		require.Equal(t, reasons.IP, l.Reason)
		require.Equal(t, delay+time.Duration(i)*apart(delay), l.Wait, "a place each")
	}
	require.Equal(t, crawl.Lease{Reason: "not pending"}, leases[3])
	require.Equal(t, []string{"domain:a.example", "ip:192.0.2.1"},
		column[string](t, b, "SELECT key FROM politeness_slots WHERE holder IS NOT NULL ORDER BY 1"),
		"what was not begun leaves its slots free")
}

// Domains that queue for an address find it free at their places, although requests take time and
// some are late: their places are a delay, a little of it, and the duration of a request apart.
func TestPlacesAllowForTheTimeOfRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const address, delay, took = "192.0.2.20", 10 * time.Second, 2 * time.Second
	for i := range 20 { // until the average is that of these requests
		domain := fmt.Sprintf("took%d.example", i)
		if i > 0 {
			b.expire(t, "ip:"+address)
		}
		require.True(t, b.takeQueued(t, domain, address, "x", delay).Granted)
		b.exec(t, "UPDATE politeness_slots SET updated_at = clock_timestamp() - $1::interval WHERE key = $2", took, "ip:"+address)
		require.NoError(t, b.release(t.Context(), domain, address, "x", time.Now(), 0, delay, reasons.Delay))
	}
	first := b.take(t, "first.example", address, "w", delay).Wait
	second := b.take(t, "second.example", address, "w", delay).Wait
	require.InDelta(t, apart(delay)+took, second-first, float64(200*time.Millisecond))
}
