package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

func TestCloseRestored(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.exec(t, `UPDATE crawl_runs SET settings = settings || '{"delay": "1m0s", "ip_delay": "1.5s"}'`)
	b.exec(t, `INSERT INTO domains (domain) VALUES ('new.example'), ('set.example'), ('long.example')`)
	b.exec(t, `INSERT INTO domain_controls (domain, kind, value, set_by) VALUES ('set.example', 'delay', '7200000', 'test')`)
	b.exec(t, `INSERT INTO politeness_slots (key, free_at, holder, reason) VALUES ('domain:unknown.example', 'epoch', NULL, ''),
		('ip:192.0.2.1', 'epoch', NULL, ''), ('domain:long.example', now() + interval '1 day', 'crawl:1', 'in flight')`)
	closed, err := b.CloseRestored(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, one[int64](t, b, "SELECT count(*) FROM politeness_slots"), closed)
	b.exec(t, `INSERT INTO politeness_slots (key) VALUES ('domain:found-anew.example')`)
	for key, seconds := range map[string]float64{
		"domain:new.example":        60,   // it had no slot
		"domain:set.example":        7200, // a person's delay is longer
		"domain:unknown.example":    60,   // of no run: the strictest of all
		"domain:found-anew.example": 60,   // the state did not know it
		"ip:192.0.2.1":              1.5,
		"domain:long.example":       86400, // holds anyway
	} {
		left := one[float64](t, b, "SELECT extract(EPOCH FROM free_at - clock_timestamp())::double precision FROM politeness_slots WHERE key = $1", key)
		require.InDelta(t, seconds, left, 10, key)
	}
	require.Equal(t, "in flight", one[string](t, b, "SELECT reason FROM politeness_slots WHERE holder IS NOT NULL"), "its crawl is still to be closed")
}

// A wait that a server asked for long ago counts for as long as the state is old, at the most.
func TestCloseRestoredForgetsLongWaits(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.exec(t, `INSERT INTO domains (domain) VALUES ('asked.example')`)
	b.exec(t, `INSERT INTO page_crawls (page_id, domain, run_id, url, completed_at, outcome, delay_ms, retry_after_ms)
		SELECT 1, 'asked.example', min(id), 'https://asked.example/', now() - interval '2 days', 'failed', 86400000, 86400000 FROM crawl_runs`)
	for _, c := range []struct{ age, want time.Duration }{{5 * time.Minute, 5 * time.Minute}, {72 * time.Hour, 24 * time.Hour}} {
		_, err := b.CloseRestored(t.Context(), c.age)
		require.NoError(t, err)
		left := one[float64](t, b, "SELECT extract(EPOCH FROM free_at - clock_timestamp())::double precision FROM politeness_slots WHERE key = 'domain:asked.example'")
		require.InDelta(t, c.want.Seconds(), left, 10)
	}
}

// A delay that follows each request may have begun just now, by a request that the state does not
// know.
func TestCloseRestoredKeepsWholeDelays(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.exec(t, `INSERT INTO domains (domain) VALUES ('slow.example')`)
	b.exec(t, `INSERT INTO page_crawls (page_id, domain, run_id, url, completed_at, outcome, delay_ms)
		SELECT 1, 'slow.example', min(id), 'https://slow.example/', now() - interval '2 days', 'success', 300000 FROM crawl_runs`)
	_, err := b.CloseRestored(t.Context(), time.Minute)
	require.NoError(t, err)
	left := one[float64](t, b, "SELECT extract(EPOCH FROM free_at - clock_timestamp())::double precision FROM politeness_slots WHERE key = 'domain:slow.example'")
	require.InDelta(t, 300, left, 10)
}

func TestReadTables(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	var read []string
	require.NoError(t, b.ReadTables(t.Context(), func(table string) { read = append(read, table) }))
	require.EqualValues(t, len(read), one[int64](t, b, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"))
	require.Contains(t, read, "page_crawls")
}
