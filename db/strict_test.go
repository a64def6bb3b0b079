package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Two runs with different delays for one address keep to the stricter, no matter which of them asks
// first.
func TestTheStricterDelayHoldsForAnAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const strict, lax = time.Minute, time.Second
	request := func(t *testing.T, domain, address string, ended time.Time, delay time.Duration) {
		t.Helper()
		require.True(t, b.takeQueued(t, domain, address, "x", delay).Granted)
		require.NoError(t, b.release(t.Context(), domain, address, "x", ended, 0, delay, reasons.Delay))
	}
	requireClosed := func(t *testing.T, domain, address string, delay, left time.Duration) {
		t.Helper()
		p := b.takeQueued(t, domain, address, "y", delay)
		require.False(t, p.Granted)
		require.Equal(t, reasons.IP, p.Reason)
		require.Greater(t, p.Wait, left-15*time.Second)
		require.LessOrEqual(t, p.Wait, left)
	}

	t.Run("BeforeTheStrictersRequest", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.30"
		request(t, "lax.before.example", address, time.Now().Add(-20*time.Second), lax)
		requireClosed(t, "strict.before.example", address, strict, 40*time.Second)
	})

	t.Run("AfterIt", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.31"
		request(t, "strict.after.example", address, time.Now().Add(-20*time.Second), strict)
		requireClosed(t, "lax.after.example", address, lax, 40*time.Second)
	})

	t.Run("AndBetweenTwoOthers", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.32"
		request(t, "strict.between.example", address, time.Now().Add(-2*strict), strict)
		request(t, "lax.between.example", address, time.Now().Add(-20*time.Second), lax)
		requireClosed(t, "other.between.example", address, lax, 40*time.Second)
	})

	t.Run("AsSoonAsItHasAsked", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.33"
		request(t, "lax.asked.example", address, time.Now(), lax)
		require.False(t, b.take(t, "strict.asked.example", address, "y", strict).Granted)
		b.exec(t, "UPDATE politeness_slots SET ended_at = ended_at - interval '10 seconds', free_at = now() WHERE key = $1", "ip:"+address)
		requireClosed(t, "lax.asked.example", address, lax, 50*time.Second)
	})

	t.Run("ForAnHour", func(t *testing.T) {
		t.Parallel()
		const address = "192.0.2.34"
		const until = "SELECT strictest_delay_until FROM politeness_slots WHERE key = 'ip:192.0.2.34'"
		request(t, "strict.hour.example", address, time.Now().Add(-2*strict), strict)
		ends := one[time.Time](t, b, until)
		require.WithinDuration(t, b.clock(t).Add(time.Hour), ends, time.Minute)
		request(t, "lax.hour.example", address, time.Now().Add(-2*strict), lax)
		require.True(t, ends.Equal(one[time.Time](t, b, until)), "the lax ones do not prolong it")
		b.exec(t, "UPDATE politeness_slots SET strictest_delay_until = now() WHERE key = $1", "ip:"+address)
		request(t, "lax.hour.example", address, time.Now().Add(-2*lax), lax)
		request(t, "other.hour.example", address, time.Now(), lax)
	})
}

func TestADecisionIsStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	const domain = "once.example"
	pause := crawl.Control{Type: crawl.ControlPause, Reason: "maintenance", SetBy: "tester", Decision: "run/7"}
	rows := func() int {
		return one[int](t, b, "SELECT count(*)::int FROM domain_controls WHERE domain = $1", domain)
	}
	require.NoError(t, b.SetControl(t.Context(), domain, pause))
	require.NoError(t, b.SetControl(t.Context(), domain, pause))
	require.Equal(t, 1, rows())
	require.NoError(t, b.LiftControls(t.Context(), domain, "another", crawl.ControlPause))
	require.NoError(t, b.SetControl(t.Context(), domain, pause))
	f, err := b.Facts(t.Context(), domain)
	require.NoError(t, err)
	require.Empty(t, f.Domain.Controls, "what was decided since stands")
	pause.Decision = "run/8"
	require.NoError(t, b.SetControl(t.Context(), domain, pause))
	pause.Decision = ""
	require.NoError(t, b.SetControl(t.Context(), domain, pause))
	require.NoError(t, b.SetControl(t.Context(), domain, pause))
	require.Equal(t, 4, rows(), "one without a name is another each time")
}
