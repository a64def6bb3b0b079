package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
)

// scrape requests a URL of a process and returns the response's status and body.
func scrape(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := newSite(t, 1, 5)
	c := h.Start(s.crawl(s.Seeds()[0], "--delay", "200ms", "--metrics", "127.0.0.1:0", "--when-done", "wait")...)
	c.Await("Metrics: http://127.0.0.1:")
	_, rest, _ := strings.Cut(c.stdout.String(), "Metrics: ")
	url, _, _ := strings.Cut(rest, "\n")
	status, ready := scrape(t, strings.TrimSuffix(url, "metrics")+"readyz")
	require.Equal(t, http.StatusOK, status, ready)
	require.Equal(t, "postgres: ok\nschema: ok\ntemporal: ok\ndisk: ok\n", ready)
	var body string
	wait.Until(t, func() bool {
		_, body = scrape(t, url)
		return strings.Contains(body, `mosey_requests_total{kind="page",outcome="success"} 6`)
	}, patience, 50*time.Millisecond)
	for _, part := range []string{
		`mosey_requests_total{kind="robots",outcome="success"} 1`,
		`mosey_request_phase_seconds_count{phase="first_byte"} `,
		`mosey_request_phase_seconds_count{phase="record"} `,
		`mosey_wait_seconds_count{reason="delay"} `,
		`mosey_statement_seconds_count{statement="AttemptsRecord"} `,
		`mosey_group_documents_count{operation="record"} `,
		`mosey_cache_lookups_total{cache="dns",result="hit"} `,
		"mosey_sample_timestamp_seconds 1.", // the database was looked at
		`mosey_domains{status="active"} `,
		"mosey_pool_connections ",
		"mosey_frontier_pending ",
		"temporal_request{",
		"temporal_workflow_task_schedule_to_start_latency_seconds_bucket{",
		"go_goroutines ",
	} {
		require.Contains(t, body, part)
	}
	require.NotContains(t, body, s.Hosts()[0], "no label names a domain")
	require.Zero(t, c.Stop().Code)

	h.Refuse([]string{"crawl", s.Seeds()[0], "--metrics", "9464"}, `--metrics "9464"`, "want an address such as :9464")
	h.Refuse([]string{"crawl", s.Seeds()[0], "--detach", "--metrics", ":9464"}, "--metrics :9464", "--detach")
	h.Refuse([]string{"up", "--debug"}, "--debug", "--metrics")
}

// What Mosey's own Temporal measures of itself is served: few series, with labels that are known.
func TestMetricsOfItsOwnTemporal(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithDatabase(t)
	s := newSite(t, 1, 5)
	c := h.Start(s.crawl(s.Seeds()[0], "--delay", "200ms", "--metrics", "127.0.0.1:0", "--when-done", "wait")...)
	url := c.Field("Metrics: ")
	wait.Until(t, func() bool { return len(s.Log().Pages()) == 6 }, patience, 50*time.Millisecond)
	_, all := scrape(t, url)
	var served []string
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "mosey_temporal_") {
			served = append(served, line)
		}
	}
	body := strings.Join(served, "")
	for _, part := range []string{
		`mosey_temporal_requests_total{service="frontend"} `,
		`mosey_temporal_requests_total{service="history"} `,
		`mosey_temporal_requests_total{service="matching"} `,
		`mosey_temporal_errors_total{service="history"} 0`,
		`mosey_temporal_request_seconds_count{service="frontend"} `,
		"mosey_temporal_storage_seconds_count ",
		"mosey_temporal_storage_errors_total 0",
		`mosey_temporal_task_seconds_count{queue="visibility"} `,
		`mosey_temporal_task_seconds_count{queue="transfer"} `,
	} {
		require.Contains(t, body, part)
	}
	require.NotContains(t, body, "default", "no label names a namespace")
	require.Less(t, len(served), 200)
	require.Zero(t, c.Stop().Code)
}
