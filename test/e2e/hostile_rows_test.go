package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

// hostileRows is what the first attempt for a page of each hostile host comes to.
var hostileRows = []struct {
	outcome crawl.Outcome
	status  int
	says    string // in the error
	hosts   []string
}{
	{crawl.OutcomeBlocked4xx, 401, "", []string{
		"login-401",
	}},
	{crawl.OutcomeBlocked4xx, 403, "", []string{
		"login-403",
	}},
	{crawl.OutcomeBlocked4xx, 429, "", []string{
		"retry-429-date", "retry-429-none", "retry-429-seconds",
	}},
	{crawl.OutcomeBlocked4xx, 451, "", []string{
		"always-451",
	}},
	{crawl.OutcomeBlocked5xx, 500, "", []string{
		"always-500",
	}},
	{crawl.OutcomeBlocked5xx, 503, "", []string{
		"retry-503-date", "retry-503-far", "retry-503-garbage", "retry-503-huge", "retry-503-long", "retry-503-negative",
		"retry-503-none", "retry-503-past", "retry-503-seconds", "retry-503-zero",
	}},
	{crawl.OutcomeFailed, 0, "fetch: protocol", []string{
		"header-1mb-line", "header-1mb", "headers-endless", "http-0.9", "http-garbage", "http-invalid",
		"interim-endless", "length-twice",
	}},
	{crawl.OutcomeFailed, 0, "fetch: reset", []string{
		"reset", "silent-close",
	}},
	{crawl.OutcomeFailed, 200, "fetch: bomb", []string{
		"bomb-brotli", "bomb-gzip", "bomb-mixed", "bomb-nested", "bomb-zstd",
	}},
	{crawl.OutcomeFailed, 200, "fetch: decode", []string{
		"bomb-tenfold", "half-gzip",
	}},
	{crawl.OutcomeFailed, 200, "fetch: protocol", []string{
		"chunk-endless",
	}},
	{crawl.OutcomeFailed, 200, "fetch: reset", []string{
		"length-long",
	}},
	{crawl.OutcomeSuccess, 200, "", []string{
		"address-1", "address-2", "address-3", "away", "binary", "body-50mb",
		"body-endless", "deep", "dns-mixed", "dns-rebind", "landing", "length-short",
		"links", "login-200", "rising", "robots-turns", "subnet-1", "subnet-2",
		"subnet-3", "tls-valid", "trap-calendar", "trap-links", "trap-paths", "trap-query",
		"trap-redirects", "trap-session-path", "trap-session",
	}},
	{crawl.OutcomeSuccess, 302, "", []string{
		"redirect-away", "redirect-chain", "redirect-domain", "redirect-forbidden", "redirect-loop", "redirect-loopback",
	}},
	{crawl.OutcomeSuccess, 302, "redirect to itself", []string{
		"cookies", "redirect-self",
	}},
	{crawl.OutcomeSuccess, 302, "scheme is not http or https", []string{
		"redirect-file", "redirect-gopher",
	}},
	{crawl.OutcomeTimeout, 0, "fetch: timeout", []string{
		"hang", "headers-slow",
	}},
	{crawl.OutcomeTimeout, 200, "fetch: timeout", []string{
		"body-stall", "drip",
	}},
}

// closedHosts are the hosts without a request for a page, with the verdict on
// their robots.txt.
var closedHosts = map[string]string{
	"tarpit-001":      "fetch: timeout",
	"tls-expired":     "certificate has expired",
	"tls-self-signed": "certificate signed by unknown authority",
	"tls-wrong-host":  "certificate is valid for",
}

// The bounds of every attempt.
const (
	// attemptBytes is the largest body and header.
	attemptBytes = 10<<20 + 256<<10
	// attemptSpan is --timeout, and what closing a connection takes.
	attemptSpan = 31 * time.Second
)

// awaitHostileRows waits until every hostile host had its turn, and a trap was found.
func awaitHostileRows(t *testing.T, c cluster) {
	t.Helper()
	var asked []string
	for _, want := range hostileRows {
		for _, host := range want.hosts {
			asked = append(asked, host+".hostile.test")
		}
	}
	var closed []string
	for host := range closedHosts {
		closed = append(closed, host+".hostile.test")
	}
	for deadline := time.Now().Add(crawlLimit); ; <-time.After(200 * time.Millisecond) {
		var left string
		require.NoError(t, c.pool.QueryRow(t.Context(), `
			SELECT concat_ws(' ',
				(SELECT string_agg(d, ' ') FROM unnest($1::text[]) AS d WHERE NOT EXISTS (
					SELECT FROM page_crawls p WHERE p.domain = d AND p.kind = 'page' AND p.outcome IS NOT NULL)),
				(SELECT string_agg(d, ' ') FROM unnest($2::text[]) AS d WHERE NOT EXISTS (SELECT FROM robots r WHERE r.domain = d)),
				(SELECT domain FROM domains WHERE domain = 'dns-forbidden.hostile.test' AND next_crawl_after IS NULL),
				(SELECT 'a trap' WHERE NOT EXISTS (SELECT FROM pages WHERE trap IS NOT NULL)))`, asked, closed).Scan(&left))
		if left == "" {
			return
		}
		require.True(t, time.Now().Before(deadline), "hosts without a turn: %s", left)
	}
}

// requireHostileRows checks what was recorded of the hostile hosts.
func requireHostileRows(t *testing.T, c cluster) {
	t.Helper()
	for _, want := range hostileRows {
		for _, host := range want.hosts {
			domain := host + ".hostile.test"
			var outcome, says string
			var status int
			require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT outcome, coalesce(status_code, 0), coalesce(error_message, '')
				FROM page_crawls WHERE domain = $1 AND outcome IS NOT NULL AND kind = 'page' ORDER BY completed_at LIMIT 1`, domain).
				Scan(&outcome, &status, &says), domain)
			require.Equal(t, want.outcome, crawl.Outcome(outcome), "%s: %s", domain, says)
			require.Equal(t, want.status, status, domain)
			require.Contains(t, says, want.says, domain)
		}
	}
	for host, why := range closedHosts {
		var verdict, reason string
		require.NoError(t, c.pool.QueryRow(t.Context(), "SELECT verdict, reason FROM robots WHERE domain = $1",
			host+".hostile.test").Scan(&verdict, &reason), host)
		require.Equal(t, crawl.RobotsUnreachable, crawl.RobotsVerdict(verdict), host)
		require.Contains(t, reason, why, host)
		require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM audit_requests WHERE kind = 'page' AND domain = $1", host+".hostile.test"))
	}
	// what our own rule refuses is nothing about the host
	require.Equal(t, 1, queryInt(t, c.pool, `SELECT count(*) FROM domains WHERE domain = 'dns-forbidden.hostile.test'
		AND refused_ip IS NOT NULL AND next_crawl_after > now() AND status_reason LIKE '%which is not public%'`))
	require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM audit_requests WHERE domain = 'dns-forbidden.hostile.test'"))
	require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE bytes > $1", attemptBytes))
	require.Zero(t, queryInt(t, c.pool, "SELECT count(*) FROM page_crawls WHERE duration_ms > $1", attemptSpan.Milliseconds()))
	traps := queryInt(t, c.pool, "SELECT count(*) FROM pages WHERE trap IS NOT NULL AND trap_evidence IS NOT NULL")
	require.Positive(t, traps)
	t.Logf("%d pages are taken for traps", traps)
}
