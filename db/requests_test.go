package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// logged is a request as the history has it.
type logged struct {
	Domain, IP, Kind, URL, Reason    string
	AttemptID, DelayMs, RetryAfterMs int64
	Lost                             bool
	Took, SinceEnd                   time.Duration
	Origin                           string
	RobotsVersion, IPDelayMs, Count  int64
}

func (b *bundle) logged(t *testing.T, domain string) logged {
	t.Helper()
	var r logged
	var took, since float64
	err := b.Pool().QueryRow(t.Context(), `
		SELECT a.domain, coalesce(host(a.ip), ''), a.kind, c.url, a.delay_reason, a.id, a.delay_ms,
			coalesce(a.retry_after_ms, 0), a.lost, extract(EPOCH FROM a.ended_at - a.started_at)::float8,
			extract(EPOCH FROM clock_timestamp() - a.ended_at)::float8, p.origin,
			coalesce(c.robots_version, 0), coalesce(a.ip_delay_ms, 0), count(*) OVER ()
		FROM audit_requests a JOIN page_crawls c USING (id) JOIN pages p ON p.id = c.page_id WHERE a.domain = $1`, domain).
		Scan(&r.Domain, &r.IP, &r.Kind, &r.URL, &r.Reason, &r.AttemptID, &r.DelayMs, &r.RetryAfterMs, &r.Lost,
			&took, &since, &r.Origin, &r.RobotsVersion, &r.IPDelayMs, &r.Count)
	require.NoError(t, err)
	r.Took = time.Duration(took * float64(time.Second)).Round(time.Millisecond)
	r.SinceEnd = time.Duration(since * float64(time.Second))
	require.EqualValues(t, 1, r.Count, "one row a request")
	return r
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})

	t.Run("WithWhatHadToPassAfterThem", func(t *testing.T) {
		t.Parallel()
		const domain = "page.example"
		b.seed(t, "https://page.example/")
		n := b.beginAt(t, domain, "192.0.2.20")
		a := attempted(n, domain)
		a.IP, a.Duration, a.EndedAt = "192.0.2.20", crawl.ElapsedMillis(1500*time.Millisecond), time.Now().Add(-time.Minute)
		a.Delay, a.IPDelay, a.RetryAfter = crawl.Millis(time.Hour), crawl.Millis(time.Second), crawl.Millis(time.Hour)
		a.Reason, a.RobotsVersion = reasons.RetryAfter, 17
		b.finish(t, a)
		r := b.logged(t, domain)
		require.GreaterOrEqual(t, r.SinceEnd, time.Minute)
		r.SinceEnd = 0
		require.Equal(t, logged{
			Domain: domain, IP: "192.0.2.20", Kind: "page", URL: "https://page.example/", Reason: "retry-after", AttemptID: n.AttemptID,
			DelayMs: time.Hour.Milliseconds(), RetryAfterMs: time.Hour.Milliseconds(), IPDelayMs: 1000,
			Took: 1500 * time.Millisecond, Origin: "https://page.example", RobotsVersion: 17, Count: 1,
		}, r)
	})

	t.Run("ForRobotsToo", func(t *testing.T) {
		t.Parallel()
		require.True(t, b.take(t, "robots.example", "", "robots:1", 0).Granted)
		require.NoError(t, b.release(t.Context(), "robots.example", "", "robots:1", time.Now(),
			time.Second, 0, reasons.Delay))
		r := b.logged(t, "robots.example")
		require.Equal(t, "robots", r.Kind)
		require.Equal(t, "http://robots.example/robots.txt", r.URL)
	})

	t.Run("AsLostWhenTheirWorkerDied", func(t *testing.T) {
		t.Parallel()
		const domain = "lost.example"
		b.seed(t, "https://lost.example/")
		n := b.begin(t, domain)
		b.expire(t, "domain:"+domain)
		require.True(t, b.take(t, domain, "", "robots:2", 0).Granted)
		r := b.logged(t, domain)
		require.True(t, r.Lost)
		require.Equal(t, n.AttemptID, r.AttemptID)
	})

	t.Run("AsLostThoughNobodyAsksAgain", func(t *testing.T) {
		t.Parallel()
		const domain = "final.example"
		b := b.in(t, "final", settings.Settings{MaxAttempts: new(1)})
		b.seed(t, "https://final.example/")
		n := b.begin(t, domain)
		b.expire(t, "domain:"+domain)
		require.Zero(t, b.next(t, domain).AttemptID)
		r := b.logged(t, domain)
		require.True(t, r.Lost)
		require.Equal(t, n.AttemptID, r.AttemptID)
		require.True(t, b.take(t, domain, "", "robots:5", 0).Granted)
		b.logged(t, domain)
	})

	t.Run("AsLostByWhoLooksForWork", func(t *testing.T) {
		t.Parallel()
		const domain = "looks.example"
		require.True(t, b.take(t, domain, "", "robots:8", 0).Granted)
		b.next(t, domain)
		require.Zero(t, one[int](t, b, "SELECT count(*) FROM audit_requests WHERE domain = $1", domain), "still in flight")
		b.expire(t, "domain:"+domain)
		b.next(t, domain)
		r := b.logged(t, domain)
		require.True(t, r.Lost)
		require.Equal(t, "robots", r.Kind)
	})

	t.Run("OnceThoughTheLostOneComesBack", func(t *testing.T) {
		t.Parallel()
		const domain, first, second = "late.example", "192.0.2.31", "192.0.2.32"
		require.True(t, b.take(t, domain, first, "robots:6", time.Second).Granted)
		b.expire(t, "domain:"+domain)
		// by now the name has another address
		require.True(t, b.take(t, domain, second, "robots:7", time.Second).Granted)
		require.NoError(t, b.release(t.Context(), domain, first, "robots:6", time.Now(), time.Second, time.Second, reasons.Delay))
		require.True(t, b.logged(t, domain).Lost)
	})

	t.Run("NotWhenNoneWasMade", func(t *testing.T) {
		t.Parallel()
		const domain = "none.example"
		b.seed(t, "https://none.example/")
		n := b.begin(t, domain)
		require.NoError(t, b.Abandon(t.Context(), startOf(n, domain, ""), n.AttemptID, 0, false, "no route"))
		require.True(t, b.take(t, domain, "", "robots:3", 0).Granted)
		b.giveBack(t, domain, "", "robots:3")
		require.True(t, b.take(t, domain, "", "robots:4", 0).Granted, "the slot is free at once")
		var count int
		require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT count(*) FROM audit_requests WHERE domain = $1", domain).Scan(&count))
		require.Zero(t, count)
	})

	t.Run("ForEver", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{}) // TRUNCATE and the other subtests would wait for each other
		require.True(t, b.take(t, "ever.example", "", "robots:9", 0).Granted)
		require.NoError(t, b.release(t.Context(), "ever.example", "", "robots:9", time.Now(), time.Second, 0, reasons.Delay))
		for _, sql := range []string{
			"DELETE FROM page_crawls", "TRUNCATE page_crawls", "DELETE FROM crawl_runs", "TRUNCATE crawl_runs CASCADE",
			"DELETE FROM robots_history", "UPDATE robots_history SET agent = ''", "TRUNCATE robots_history",
			"TRUNCATE robots_contents CASCADE",
		} {
			_, err := b.Pool().Exec(t.Context(), sql)
			require.ErrorContains(t, err, "append-only", sql)
		}
		_, err := b.Pool().Exec(t.Context(), "UPDATE page_crawls SET delay_ms = 0 WHERE domain = 'ever.example'")
		require.ErrorContains(t, err, "neither a closed attempt")
	})
}
