package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestEnsureRun(t *testing.T) {
	t.Parallel()
	shared := setup(t, settings.Settings{})

	t.Run("FillsInDefaults", func(t *testing.T) {
		t.Parallel()
		before := shared.clock(t)
		run := shared.ensureRun(t, "defaults", settings.Settings{})
		require.Equal(t, settings.Settings{}.WithDefaults(), run.Settings)
		require.Equal(t, "defaults", run.Name)
		require.Equal(t, crawl.RunRunning, run.Status)
		require.WithinRange(t, run.StartedAt, before, shared.clock(t))
		require.Zero(t, run.FinishedAt)
	})

	t.Run("ChangesWhatIsSet", func(t *testing.T) {
		t.Parallel()
		want := shared.ensureRun(t, "change", settings.Settings{Delay: minutes(3), MaxDepth: new(4)})
		for why, set := range map[string]settings.Settings{
			"delay":      {Delay: minutes(1)},
			"ip delay":   {IPDelay: minutes(2)},
			"deferring":  {DeferAfter: minutes(4)},
			"attempts":   {MaxAttempts: new(7)},
			"subnets":    {SubnetDelay: minutes(6)},
			"graylist":   {Graylist: minutes(5)},
			"latency":    {LatencyFactor: new(1.5)},
			"rests":      {MaxGraylistings: new(12)},
			"depth":      {MaxDepth: new(0)},
			"domains":    {MaxDomains: new(8)},
			"pages":      {MaxPages: new(int64(9))},
			"per domain": {MaxPagesPerDomain: new(int64(10))},
			"slice":      {PagesPerActivity: new(11)},
			"scope":      {Scope: new(settings.ScopeWeb)},
			"standing":   {WhenDone: new(settings.WhenDoneWait)},
			"nothing":    {},
		} {
			got := shared.ensureRun(t, "change", set)
			require.Equal(t, overlay(t, want.Settings, set), got.Settings, why)
			want = got
		}
	})

	t.Run("KeepsTheOrderOfRuns", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		b.ensureRun(t, "a", settings.Settings{})
		b.ensureRun(t, "test", settings.Settings{})
		runs, err := b.Runs(t.Context())
		require.NoError(t, err)
		require.Len(t, runs, 2)
		require.Equal(t, []string{"test", "a"}, []string{runs[0].Name, runs[1].Name})
	})

	t.Run("CountsSeedings", func(t *testing.T) {
		t.Parallel()
		run := shared.ensureRun(t, "seedings", settings.Settings{})
		for i := range int64(3) {
			n, err := shared.NextSeeding(t.Context(), run.ID)
			require.NoError(t, err)
			require.Equal(t, i+1, n)
		}
	})

	t.Run("IsNotFoundUnderAnotherName", func(t *testing.T) {
		t.Parallel()
		_, err := shared.Run(t.Context(), "no-such-run")
		require.ErrorIs(t, err, crawl.ErrNotFound)
		require.ErrorContains(t, err, "no-such-run")
	})
}

// overlay is s with the fields that are set in o, independently of the database.
func overlay(t *testing.T, s, o settings.Settings) settings.Settings {
	t.Helper()
	given, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(given, &s))
	return s
}

func TestRunStatus(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	status := func(t *testing.T) (crawl.RunStatus, string, time.Time) {
		t.Helper()
		run, err := b.Run(t.Context(), "test")
		require.NoError(t, err)
		require.Equal(t, b.run.ID, run.ID)
		return run.Status, run.Reason, run.FinishedAt
	}
	yes := func(t *testing.T, want bool) func(bool, error) {
		t.Helper()
		return func(got bool, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}

	yes(t, true)(b.StopRun(t.Context(), b.run.ID, "enough"))
	s, reason, finished := status(t)
	require.Equal(t, crawl.RunStopped, s)
	require.Equal(t, "enough", reason)
	require.Zero(t, finished)
	yes(t, false)(b.StopRun(t.Context(), b.run.ID, "again"))
	yes(t, false)(b.EndRun(t.Context(), b.run.ID, "what is stopped is not done"))

	require.NoError(t, b.StartRun(t.Context(), b.run.ID))
	s, reason, _ = status(t)
	require.Equal(t, crawl.RunRunning, s)
	require.Empty(t, reason)

	yes(t, true)(b.EndRun(t.Context(), b.run.ID, "nothing is due"))
	s, reason, finished = status(t)
	require.Equal(t, crawl.RunDone, s)
	require.Equal(t, "nothing is due", reason)
	require.WithinDuration(t, b.clock(t), finished, time.Minute)
	yes(t, false)(b.EndRun(t.Context(), b.run.ID, "again"))
	yes(t, false)(b.StopRun(t.Context(), b.run.ID, "too late"))

	require.NoError(t, b.StartRun(t.Context(), b.run.ID))
	s, _, finished = status(t)
	require.Equal(t, crawl.RunRunning, s)
	require.Zero(t, finished)
}
