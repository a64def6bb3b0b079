package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/workflows"
)

func TestUp(t *testing.T) {
	t.Parallel()

	t.Run("PrintsTheAddressesOfWhatItStarts", func(t *testing.T) {
		t.Parallel()
		newHarnessWithStack(t)
		out := temporalStack.out.String()
		output.ContainsOnSameLine(t, out, "Temporal ", temporalStack.info.TemporalAddress)
		output.ContainsOnSameLine(t, out, "UI  ", "http://127.0.0.1:")
		output.ContainsOnSameLine(t, out, "Web page ", "http://127.0.0.1:")
		output.ContainsOnSameLine(t, out, "Database ", "postgres://")
		output.ContainsOnSameLine(t, out, "temporal workflow start --address "+temporalStack.info.TemporalAddress)
	})

	t.Run("TellsNobodyThePassword", func(t *testing.T) {
		t.Parallel()
		newHarnessWithStack(t)
		content, err := os.ReadFile(filepath.Join(temporalStack.dir, "postgres", "password"))
		require.NoError(t, err)
		password := strings.TrimSpace(string(content))
		require.NotContains(t, temporalStack.out.String(), password)
		published, err := os.ReadFile(filepath.Join(temporalStack.dir, "stack.json"))
		require.NoError(t, err)
		require.NotContains(t, string(published), password)

		h := newHarness(t)
		h.dir = temporalStack.dir
		r := h.Execute("crawl", aPage)
		require.Equal(t, wiring.ExitFailed, r.Code)
		require.NotContains(t, r.Stderr, password)
		_, rest, found := strings.Cut(r.Stderr, "DATABASE_URL='")
		require.True(t, found, r.Stderr)
		url, _, _ := strings.Cut(rest, "'")
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err, "what is printed is all that a tool needs")
		require.NoError(t, conn.Close(t.Context()))
	})

	t.Run("WarnsWhereNobodyCanBeReached", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		const warning = "Warning: no contact is given, so site owners cannot reach you: " +
			"set --contact (or MOSEY_CONTACT) to a URL or mail address.\n"
		c := h.Start("up")
		c.Await("Ready.")
		require.Contains(t, c.Stop().Stderr, warning)
		require.Contains(t, h.Execute("crawl", aPage, "--for", "1ms", "--dns-server", newSite(t, 1, 1).DNSAddr()).Stderr, warning)
	})

	t.Run("WorksUntilItIsStopped", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		c := h.Start(append([]string{"up"}, s.flags()...)...)
		c.Await("Ready.")
		require.Contains(t, c.stdout.String(), h.environ.Get("TEMPORAL_ADDRESS"))
		require.NotContains(t, c.stdout.String(), "\nUI ", "there is none of its own")
		require.NotContains(t, c.stdout.String(), "postgres://", "a URL that was given may hold a password")
		started, err := h.client().ExecuteWorkflow(t.Context(),
			client.StartWorkflowOptions{ID: "seed/small-web/1", TaskQueue: crawl.TaskQueue}, workflows.SeedWorkflowName,
			workflows.SeedInput{Run: "small-web", URLs: s.Seeds()})
		require.NoError(t, err)
		require.NoError(t, started.Get(t.Context(), nil))
		run, err := store.Run(t.Context(), "small-web")
		require.NoError(t, err)
		require.Equal(t, crawl.RunRunning, run.Status)
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, "Stopping after the requests in flight.\n", r.Stderr)
	})
}
