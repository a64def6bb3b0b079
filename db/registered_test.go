package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

// TestSubdomains is about how many domains of one registered domain a run takes up.
func TestSubdomains(t *testing.T) {
	t.Parallel()
	web := settings.Settings{Scope: new(settings.ScopeWeb), MaxSubdomains: new(2)}
	taken := func(t *testing.T, b *bundle) []string {
		t.Helper()
		return column[string](t, b, "SELECT domain FROM run_domains WHERE run_id = $1 ORDER BY domain", b.run.ID)
	}

	t.Run("AreBoundedButForSeeds", func(t *testing.T) {
		t.Parallel()
		b := setup(t, web)
		b.seed(t, "https://first.example/", "https://z.farm.example/")
		b.fetch(t, "first.example", "https://a.farm.example/1", "https://b.farm.example/", "https://c.farm.example/",
			"https://a.farm.example/2", "https://farm.example/", "https://sub.other.example/", "https://www.farm.example/x")
		require.Equal(t, []string{"a.farm.example", "farm.example", "first.example", "sub.other.example", "z.farm.example"}, taken(t, b))
		require.Equal(t, []string{"https://a.farm.example/1", "https://a.farm.example/2"},
			column[string](t, b, "SELECT url FROM page_crawls WHERE domain = 'a.farm.example' ORDER BY url"))
		b.seed(t, "https://d.farm.example/")
		require.Contains(t, taken(t, b), "d.farm.example", "a person wants it")

		rep, err := b.RunReport(t.Context(), b.run, 5)
		require.NoError(t, err)
		require.Equal(t, []report.RunSubdomains{{Registered: "farm.example", Domains: 3}}, rep.Subdomains)

		f := b.page(t, "https://b.farm.example/").Finders
		require.Len(t, f, 1)
		require.Contains(t, decide.NotFollowed(f[0]), "already has 3 domains of the registered domain (max_subdomains)")
		f = b.page(t, "https://a.farm.example/1").Finders
		require.Empty(t, decide.NotFollowed(f[0]))
	})

	t.Run("AreFollowedLaterWhenMoreMayBe", func(t *testing.T) {
		t.Parallel()
		b := setup(t, web)
		b.seed(t, "https://first.example/")
		b.fetch(t, "first.example", "https://a.farm.example/", "https://b.farm.example/", "https://c.farm.example/")
		require.Equal(t, []string{"a.farm.example", "b.farm.example", "first.example"}, taken(t, b))
		b.ensureRun(t, b.run.Name, settings.Settings{MaxSubdomains: new(settings.Unlimited)})
		run, err := b.Run(t.Context(), b.run.Name)
		require.NoError(t, err)
		require.True(t, run.Widening)
		_, _, err = b.WidenRun(t.Context(), run.ID, func(c crawl.AttemptFacts) *crawl.KnownLinks {
			return decide.FollowSkipped(crawl.RunFacts{Settings: run.Settings}, c)
		})
		require.NoError(t, err)
		require.Equal(t, []string{"a.farm.example", "b.farm.example", "c.farm.example", "first.example"}, taken(t, b))
	})
}

// TestRegisteredBudget is about the requests to all domains of one registered domain.
func TestRegisteredBudget(t *testing.T) {
	t.Parallel()
	three := func(name string) []string {
		return []string{"https://" + name + ".example/", "https://a." + name + ".example/", "https://b." + name + ".example/", "https://a." + name + ".example/2"}
	}

	t.Run("IsSharedByItsDomains", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "shared", settings.Settings{MaxPagesPerRegistered: new(int64(2)), MaxPages: new(int64(100))})
		b.seed(t, three("shared")...)
		late := b.next(t, "b.shared.example")
		b.fetch(t, "a.shared.example")
		b.fetch(t, "shared.example")
		for _, d := range []string{"a.shared.example", "b.shared.example", "shared.example"} {
			require.Zero(t, b.next(t, d).AttemptID, "%s: the budget is spent", d)
		}
		p, err := b.Begin(t.Context(), startOf(late, "b.shared.example", ""))
		require.NoError(t, err)
		require.Equal(t, crawl.Lease{Reason: reasons.Stale}, p)
		require.EqualValues(t, 2, one[int64](t, b, "SELECT pages_started FROM crawl_runs WHERE id = $1", b.run.ID))
		b.seed(t, "https://elsewhere.example/")
		require.NotZero(t, b.begin(t, "elsewhere.example").AttemptID, "another registered domain")
	})

	t.Run("SetLateCountsWhatWasDone", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "late", settings.Settings{})
		b.seed(t, three("late")...)
		b.fetch(t, "late.example")
		b.fetch(t, "a.late.example")
		b.ensureRun(t, "late", settings.Settings{MaxPagesPerRegistered: new(int64(2))})
		dom, err := b.Domain(t.Context(), "b.late.example")
		require.NoError(t, err)
		require.True(t, dom.Runs[0].BudgetSpent, "and is shown so, though nothing was begun since")
		b.ensureRun(t, "late", settings.Settings{MaxPagesPerRegistered: new(int64(3))})
		b.fetch(t, "b.late.example")
		require.Zero(t, b.next(t, "a.late.example").AttemptID)
		b.ensureRun(t, "late", settings.Settings{MaxPagesPerRegistered: new(int64(settings.Unlimited))})
		b.fetch(t, "a.late.example")
		b.seed(t, "https://b.late.example/3", "https://b.late.example/4")
		b.ensureRun(t, "late", settings.Settings{MaxPagesPerRegistered: new(int64(5))})
		b.fetch(t, "b.late.example")
		require.Zero(t, b.next(t, "b.late.example").AttemptID, "what was begun without a budget counts too")
	})

	t.Run("IsRefunded", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "refund", settings.Settings{MaxPagesPerRegistered: new(int64(1))})
		b.seed(t, "https://a.refund.example/")
		n := b.begin(t, "a.refund.example")
		require.NoError(t, b.Abandon(t.Context(), startOf(n, "a.refund.example", ""), n.AttemptID, 0, false, "no route"))
		b.fetch(t, "a.refund.example")
		require.EqualValues(t, 1, one[int64](t, b, "SELECT pages_started FROM run_registered_domains WHERE run_id = $1", b.run.ID))
	})
}

// TestRegisteredSlot is about domains that are asked as one.
func TestRegisteredSlot(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{Delay: minutes(1), GroupBy: new(settings.GroupByRegistered)})
	b.seed(t, "https://a.group.example/", "https://b.group.example/")
	n := b.next(t, "a.group.example")
	require.Equal(t, time.Minute, decide.PaceOf(n.Facts).RegisteredDelay)
	slot := []crawl.SharedSlot{{Key: "registered:group.example", Delay: crawl.Millis(time.Minute)}}
	start := startOf(n, "a.group.example", "")
	start.Shared = slot
	lease, err := b.Begin(t.Context(), start)
	require.NoError(t, err)
	require.True(t, lease.Granted)
	second := startOf(b.next(t, "b.group.example"), "b.group.example", "")
	second.Shared = slot
	lease, err = b.Begin(t.Context(), second)
	require.NoError(t, err)
	require.False(t, lease.Granted)
	require.Equal(t, reasons.Registered, lease.Reason)

	a := attempted(n, "a.group.example")
	a.Shared, a.Registered, a.RegisteredDelay = slot, "group.example", crawl.Millis(time.Minute)
	b.finish(t, a)
	audit, err := b.AuditGaps(t.Context(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, audit.Registered.Requests)
	b.exec(t, `INSERT INTO page_crawls (page_id, previous_id, domain, run_id, url, kind, completed_at, outcome, duration_ms, delay_ms, registered, registered_delay_ms)
		SELECT page_id, id, 'b.group.example', run_id, url, kind, completed_at + interval '10 s', outcome, 0, delay_ms, registered, registered_delay_ms
		FROM page_crawls WHERE id = $1`, n.AttemptID)
	audit, err = b.AuditGaps(t.Context(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, audit.Registered.Violations)
	require.False(t, audit.Clean())
}

// TestGroupDomains is about what another list of public suffixes says.
func TestGroupDomains(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.group.example/", "https://group.example/", "https://b.group.example/")
	b.exec(t, "DELETE FROM registered_domains WHERE domain = 'a.group.example'")
	b.exec(t, "INSERT INTO registered_domains VALUES ('group.example', 'example')")
	b.exec(t, "UPDATE run_domains SET registered = CASE domain WHEN 'group.example' THEN 'example' END")
	require.NoError(t, b.GroupDomains(t.Context(), func(int64) {}))
	want := []string{"a.group.example group.example", "b.group.example group.example"}
	require.Equal(t, want, column[string](t, b, "SELECT domain || ' ' || registered FROM registered_domains ORDER BY 1"))
	require.Equal(t, want, column[string](t, b, "SELECT domain || ' ' || registered FROM run_domains WHERE registered IS NOT NULL ORDER BY 1"))
}
