package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// control sets a control of a domain until it is lifted; nil is no value.
func (b *bundle) control(t *testing.T, domain string, kind crawl.ControlType, value any) {
	t.Helper()
	b.controlUntil(t, domain, kind, value, time.Time{})
}

func (b *bundle) controlUntil(t *testing.T, domain string, kind crawl.ControlType, value any, until time.Time) {
	t.Helper()
	c := crawl.Control{Type: kind, Reason: "because", SetBy: "tester", Until: until}
	if value != nil {
		var err error
		c.Value, err = json.Marshal(value)
		require.NoError(t, err)
	}
	require.NoError(t, b.SetControl(t.Context(), domain, c))
}

func (b *bundle) stop(t *testing.T, domain, reason string) {
	t.Helper()
	require.NoError(t, b.SetControl(t.Context(), domain, crawl.Control{
		Type: crawl.ControlStop, Reason: reason, SetBy: "tester",
	}))
}

// pass makes it as if the end of a domain's controls had come.
func (b *bundle) pass(t *testing.T, domain string) {
	t.Helper()
	b.exec(t, `UPDATE domain_controls SET until = clock_timestamp() - interval '1 second'
		WHERE domain = $1 AND until IS NOT NULL AND lifted_at IS NULL`, domain)
	b.exec(t, "SELECT due_update(ARRAY[$1])", domain)
}

func TestForbiddingControls(t *testing.T) {
	t.Parallel()
	for kind, reason := range map[crawl.ControlType]reasons.Reason{
		crawl.ControlPause: reasons.Paused, crawl.ControlStop: reasons.Stopped, crawl.ControlBlock: reasons.Blocked,
	} {
		t.Run(string(kind)+" HoldsFromTheNextRequestOn", func(t *testing.T) {
			t.Parallel()
			domain := string(kind) + ".example"
			b := setupRun(t, string(kind), settings.Settings{})
			b.seed(t, "https://"+domain+"/")
			n := b.next(t, domain)
			require.NotZero(t, n.AttemptID)
			b.control(t, domain, kind, nil)
			for _, s := range []crawl.Start{startOf(n, domain, address), b.prerequisite(domain, address, time.Second, 0)} {
				l, err := b.Begin(t.Context(), s)
				require.NoError(t, err)
				require.Equal(t, crawl.Lease{Reason: reasons.Reason(kind)}, l)
			}
			require.Empty(t, column[string](t, b, "SELECT key FROM politeness_slots WHERE key = $1", "domain:"+domain))

			n = b.next(t, domain)
			require.Zero(t, n.AttemptID)
			d := decide.Decide(decide.Facts{Facts: n.Facts}, n.Now)
			require.Equal(t, decide.Finish, d.Action)
			require.Equal(t, reason, d.Reason)
			require.Equal(t, crawl.Controls{{
				Type: kind, Reason: "because", SetBy: "tester", SetAt: n.Domain.Controls[0].SetAt,
			}}, n.Domain.Controls)
			require.Equal(t, n.Domain.Controls, b.domain(t, domain).Controls)
			require.WithinDuration(t, n.Now, n.Domain.Controls[0].SetAt, time.Minute)
			require.Empty(t, b.claim(t, 10))

			require.NoError(t, b.LiftControls(t.Context(), domain, "another", kind))
			require.Equal(t, crawl.DomainPending, b.domain(t, domain).Status)
			require.Equal(t, []string{domain}, b.claim(t, 10))
			b.begin(t, domain)
			require.ErrorIs(t, b.LiftControls(t.Context(), domain, "another", kind), crawl.ErrNotFound)
		})

		t.Run(string(kind)+" EndsByItself", func(t *testing.T) {
			t.Parallel()
			domain := "until-" + string(kind) + ".example"
			b := setupRun(t, "until-"+string(kind), settings.Settings{})
			b.seed(t, "https://"+domain+"/")
			until := time.Now().Add(time.Hour).Truncate(time.Microsecond)
			b.controlUntil(t, domain, kind, nil, until)
			n := b.next(t, domain)
			require.Zero(t, n.AttemptID)
			require.True(t, until.Equal(n.Domain.Controls[0].Until))
			require.Empty(t, b.claim(t, 10))
			require.True(t, until.Equal(b.nextDue(t)), "then it is looked at again")
			b.pass(t, domain)
			require.Empty(t, b.next(t, domain).Domain.Controls)
			require.Equal(t, []string{domain}, b.claim(t, 10))
			b.begin(t, domain)
		})
	}

	t.Run("TheStrictestIsTheReason", func(t *testing.T) {
		t.Parallel()
		const domain = "strictest.example"
		b := setupRun(t, "strictest", settings.Settings{})
		b.seed(t, "https://strictest.example/")
		n := b.next(t, domain)
		for _, kind := range []crawl.ControlType{crawl.ControlPause, crawl.ControlBlock} {
			b.control(t, domain, kind, nil)
			l, err := b.Begin(t.Context(), startOf(n, domain, ""))
			require.NoError(t, err)
			require.Equal(t, reasons.Reason(kind), l.Reason)
		}
		require.NoError(t, b.LiftControls(t.Context(), domain, "another", crawl.ControlBlock))
		l, err := b.Begin(t.Context(), startOf(n, domain, ""))
		require.NoError(t, err)
		require.Equal(t, crawl.Lease{Reason: reasons.Reason(crawl.ControlPause)}, l, "one decision lifted leaves the other")
		require.Empty(t, b.claim(t, 10))
	})
}

func TestPacingControls(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://a.example/")

	b.control(t, domainA, crawl.ControlDelay, 42_000)
	b.control(t, domainA, crawl.ControlBudget, 7)
	d := b.domain(t, domainA)
	require.Equal(t, 42*time.Second, d.Controls.Delay())
	most, set := d.Controls.Budget()
	require.True(t, set)
	require.EqualValues(t, 7, most)
	require.EqualValues(t, 7, d.Runs[0].Budget)
	require.Equal(t, 42*time.Second, b.next(t, domainA).Waits.Domain)

	b.control(t, domainA, crawl.ControlDelay, 43_000)
	require.Equal(t, 43*time.Second, b.next(t, domainA).Waits.Domain, "in place of the earlier one")
	require.NoError(t, b.LiftControls(t.Context(), domainA, "tester", crawl.ControlDelay))
	require.Zero(t, b.next(t, domainA).Waits.Domain)
	_, set = b.domain(t, domainA).Controls.Budget()
	require.True(t, set, "the others stay")

	b.stop(t, domainA, "its owner asked")
	d = b.domain(t, domainA)
	require.Equal(t, crawl.DomainBlocked, d.Status)
	require.Equal(t, "its owner asked", d.Reason)
	require.ErrorIs(t, b.LiftControls(t.Context(), "unknown.example", "tester", crawl.ControlDelay), crawl.ErrNotFound)
}

func TestControlsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.control(t, domainA, crawl.ControlDelay, 1000)
	b.control(t, domainA, crawl.ControlDelay, 2000)
	require.NoError(t, b.LiftControls(t.Context(), domainA, "another", crawl.ControlDelay))
	b.control(t, domainA, crawl.ControlPause, nil)
	require.Equal(t, []string{"delay 1000 lifted by tester", "delay 2000 lifted by another", "pause"}, column[string](t, b,
		`SELECT concat_ws(' ', kind, value, 'lifted by ' || lifted_by) FROM domain_controls ORDER BY id`))
	for _, sql := range []string{
		"DELETE FROM domain_controls", "TRUNCATE domain_controls", "UPDATE domain_controls SET reason = '' WHERE lifted_at IS NOT NULL",
	} {
		requireRefused(t, b, restrictViolation, sql)
	}
	for _, sql := range []string{
		"INSERT INTO domain_controls (domain, kind, set_by) VALUES ('b.example', 'nap', 'me')",
		"INSERT INTO domain_controls (domain, kind, set_by) VALUES ('b.example', 'delay', 'me')",
		"INSERT INTO domain_controls (domain, kind, value, set_by) VALUES ('b.example', 'pause', '1', 'me')",
	} {
		requireRefused(t, b, checkViolation, sql)
	}
	requireRefused(t, b, "23505", "INSERT INTO domain_controls (domain, kind, set_by) VALUES ('a.example', 'pause', 'me')")
}

func TestSeedingAndControls(t *testing.T) {
	t.Parallel()

	t.Run("BlocksHoldOverSeeding", func(t *testing.T) {
		t.Parallel()
		const domain = "ban.example"
		b := setupRun(t, "ban", settings.Settings{})
		b.seed(t, "https://ban.example/")
		b.control(t, domain, crawl.ControlBlock, nil)
		b.seed(t, "https://ban.example/", "https://ban.example/2")
		require.Zero(t, b.next(t, domain).AttemptID)
		require.Equal(t, crawl.DomainBlocked, b.domain(t, domain).Status)
		require.Equal(t, "because", b.domain(t, domain).Reason)
		require.Empty(t, b.claim(t, 10))

		require.NoError(t, b.LiftControls(t.Context(), domain, "tester", crawl.ControlBlock))
		require.NotZero(t, b.next(t, domain).AttemptID)
		require.ErrorIs(t, b.LiftControls(t.Context(), domain, "tester", crawl.ControlBlock), crawl.ErrNotFound)
	})

	t.Run("PausesHoldOverSeeding", func(t *testing.T) {
		t.Parallel()
		const domain = "nap.example"
		b := setupRun(t, "nap", settings.Settings{})
		b.control(t, domain, crawl.ControlPause, nil)
		b.seed(t, "https://nap.example/")
		require.Zero(t, b.next(t, domain).AttemptID)
		require.Empty(t, b.claim(t, 10))
	})

	t.Run("StopsDoNot", func(t *testing.T) {
		t.Parallel()
		for name, until := range map[string]time.Time{"forever": {}, "fortoday": time.Now().Add(time.Hour)} {
			domain := name + ".example"
			b := setupRun(t, name, settings.Settings{})
			b.seed(t, "https://"+domain+"/")
			b.controlUntil(t, domain, crawl.ControlStop, nil, until)
			require.Zero(t, b.next(t, domain).AttemptID)
			require.Empty(t, b.claim(t, 10))
			b.seed(t, "https://"+domain+"/")
			require.Empty(t, b.domain(t, domain).Controls)
			require.Equal(t, []string{domain}, b.claim(t, 10))
			b.begin(t, domain)
			require.Equal(t, "seed", one[string](t, b, "SELECT lifted_by FROM domain_controls WHERE domain = $1", domain))
		}
	})

	t.Run("MayComeBeforeTheDomainIsKnown", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []crawl.ControlType{crawl.ControlPause, crawl.ControlBlock} {
			domain := string(kind) + ".unknown.example"
			b := setupRun(t, "unknown-"+string(kind), settings.Settings{})
			b.control(t, domain, kind, nil)
			b.seed(t, "https://"+domain+"/")
			require.Zero(t, b.next(t, domain).AttemptID)
			require.Empty(t, b.claim(t, 10))
			require.NoError(t, b.LiftControls(t.Context(), domain, "tester", kind))
			require.NotZero(t, b.next(t, domain).AttemptID)
			require.Equal(t, []string{domain}, b.claim(t, 10))
		}
	})
}
