package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", ":9464": "127.0.0.1:9464", "0.0.0.0:9464": "0.0.0.0:9464", "[::1]:9464": "[::1]:9464",
	} {
		got, err := WatchFlags{Metrics: in}.Address()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := WatchFlags{Metrics: "9464"}.Address()
	require.EqualError(t, err, `--metrics "9464": want an address such as :9464 or 10.0.0.1:9464`)
	_, err = WatchFlags{Debug: true}.Address()
	require.ErrorContains(t, err, "--metrics")
}

// answer requests a path and returns the response's status and body.
func answer(t *testing.T, s *Server, path, host string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address+path, nil)
	require.NoError(t, err)
	if host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

func TestServe(t *testing.T) {
	t.Parallel()
	broken := errors.New("it is away")
	for name, c := range map[string]struct {
		debug  bool
		checks []Check
		path   string
		host   string
		status int
		says   string
	}{
		"Metrics":       {path: "/metrics", status: 200, says: "mosey_frontier_pending 0"},
		"Process":       {path: "/metrics", status: 200, says: "go_goroutines"},
		"Health":        {path: "/healthz", status: 200, says: "ok"},
		"Ready":         {path: "/readyz", status: 200, says: "postgres: ok", checks: []Check{{"postgres", func(context.Context) error { return nil }}}},
		"NotReady":      {path: "/readyz", status: 503, says: "temporal: it is away", checks: []Check{{"temporal", func(context.Context) error { return broken }}}},
		"Profiles":      {path: "/debug/pprof/cmdline", status: 200, debug: true, says: "telemetry"},
		"NoProfiles":    {path: "/debug/pprof/cmdline", status: 404},
		"NothingElse":   {path: "/", status: 404},
		"LocalName":     {path: "/healthz", host: "localhost:1", status: 200},
		"AnotherName":   {path: "/metrics", host: "evil.example:9464", status: 421, says: "evil.example"},
		"AnotherNumber": {path: "/metrics", host: "203.0.113.1", status: 421},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Serve(t.Context(), "127.0.0.1:0", c.debug, NewMetrics(), c.checks, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			status, body := answer(t, s, c.path, c.host)
			require.Equal(t, c.status, status, body)
			require.Contains(t, body, c.says)
			require.NoError(t, s.Close())
		})
	}

	t.Run("TakenPort", func(t *testing.T) {
		t.Parallel()
		s, err := Serve(t.Context(), "127.0.0.1:0", false, NewMetrics(), nil, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		_, err = Serve(t.Context(), s.Address, false, NewMetrics(), nil, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "--metrics: listen tcp "+s.Address)
		require.NoError(t, s.Close())
	})

	t.Run("IsAskedForItsHealth", func(t *testing.T) {
		t.Parallel()
		var away atomic.Bool
		check := Check{"temporal", func(context.Context) error {
			if away.Load() {
				return broken
			}
			return nil
		}}
		s, err := Serve(t.Context(), "0.0.0.0:0", false, NewMetrics(), []Check{check}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(s.Address)
		require.NoError(t, err)
		for _, address := range []string{":" + port, "0.0.0.0:" + port, "127.0.0.1:" + port} {
			var out strings.Builder
			require.NoError(t, WatchFlags{Metrics: address}.PrintReadiness(t.Context(), &out))
			require.Equal(t, "temporal: ok\n", out.String())
		}
		away.Store(true)
		err = WatchFlags{Metrics: ":" + port}.PrintReadiness(t.Context(), io.Discard)
		require.ErrorContains(t, err, "the worker at 127.0.0.1:"+port+" is not ready: temporal: it is away")
		require.NoError(t, s.Close())
		err = WatchFlags{Metrics: ":" + port}.PrintReadiness(t.Context(), io.Discard)
		require.ErrorContains(t, err, "no worker responds at 127.0.0.1:"+port)
	})

	t.Run("HangingCheck", func(t *testing.T) {
		t.Parallel()
		hang := Check{"postgres", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		s, err := Serve(t.Context(), "127.0.0.1:0", false, NewMetrics(), []Check{hang}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		status, body := answer(t, s, "/readyz", "")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.True(t, strings.HasPrefix(body, "postgres: "), body)
		require.NoError(t, s.Close())
	})
}

// The Temporal SDK's metrics come with buckets that fit.
func TestSDK(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	h, err := m.SDK()
	require.NoError(t, err)
	tagged := h.WithTags(map[string]string{"operation": "StartWorkflowExecution"})
	tagged.Counter("temporal_request").Inc(2)
	tagged.Timer("temporal_request_latency").Record(30_000_000)
	h.Gauge("temporal_sticky_cache_size").Update(7)
	s, err := Serve(t.Context(), "127.0.0.1:0", false, m, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, body := answer(t, s, "/metrics", "")
	for _, line := range []string{
		`temporal_request{operation="StartWorkflowExecution"} 2`,
		`temporal_request_latency_seconds_bucket{operation="StartWorkflowExecution",le="0.025"} 0`,
		`temporal_request_latency_seconds_bucket{operation="StartWorkflowExecution",le="0.05"} 1`,
		"temporal_sticky_cache_size 7",
	} {
		require.Contains(t, body, line+"\n")
	}
	require.NoError(t, s.Close())
	require.NoError(t, m.Close(t.Context()))
}
