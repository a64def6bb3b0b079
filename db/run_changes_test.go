package db_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

func (b *bundle) change(t *testing.T, c crawl.RunChange) crawl.Run {
	t.Helper()
	c.SetBy = "somebody"
	run, err := b.ChangeRun(t.Context(), b.run.Name, c)
	require.NoError(t, err)
	return run
}

func TestChangeRun(t *testing.T) {
	t.Parallel()

	t.Run("PausesAndResumes", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "paused", settings.Settings{})
		b.seed(t, "https://paused.example/")
		until := b.clock(t).Add(time.Hour).Truncate(time.Microsecond)
		run := b.change(t, crawl.RunChange{Action: crawl.ChangePause, Reason: "a quiet night", Until: until})
		require.Equal(t, crawl.RunPaused, run.Status)
		require.Equal(t, "paused by somebody: a quiet night", run.Reason)
		require.WithinDuration(t, until, run.PausedUntil, 0)
		facts, err := b.Facts(t.Context(), "paused.example")
		require.NoError(t, err)
		require.Empty(t, facts.Runs, "nothing of it is to be done")

		require.NoError(t, b.StartRun(t.Context(), b.run.ID), "as a seeding does")
		run, err = b.Run(t.Context(), "paused")
		require.NoError(t, err)
		require.Equal(t, crawl.RunPaused, run.Status)

		run = b.change(t, crawl.RunChange{Action: crawl.ChangeResume})
		require.Equal(t, crawl.RunRunning, run.Status)
		require.Empty(t, run.Reason)
		require.Zero(t, run.PausedUntil)
		require.Equal(t, []string{"paused.example"}, b.claim(t, 5))
	})

	t.Run("ResumesWhatIsStopped", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "stopped", settings.Settings{})
		require.Equal(t, "stopped by somebody", b.change(t, crawl.RunChange{Action: crawl.ChangeStop}).Reason)
		for _, kind := range []crawl.RunAction{crawl.ChangeStop, crawl.ChangePause} {
			_, err := b.ChangeRun(t.Context(), "stopped", crawl.RunChange{Action: kind, SetBy: "somebody"})
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, "run stopped: ")
			require.ErrorContains(t, err, "the run is stopped: only running runs can be ")
		}
		require.Equal(t, crawl.RunRunning, b.change(t, crawl.RunChange{Action: crawl.ChangeResume}).Status)
	})

	t.Run("KeepsOnePurpose", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "search", settings.Settings{})
		training := settings.Settings{Purpose: new(settings.PurposeAITrain)}
		refused := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, "run training has the purpose ai-train, and run search the purpose search: one User-Agent has one purpose")
			require.ErrorContains(t, err, "mosey stop run:search")
		}
		_, err := b.EnsureRun(t.Context(), "training", "test", training)
		refused(err)
		_, err = b.Run(t.Context(), "training")
		require.ErrorIs(t, err, crawl.ErrNotFound, "it was not made")
		b.change(t, crawl.RunChange{Action: crawl.ChangePause})
		_, err = b.EnsureRun(t.Context(), "training", "test", training)
		refused(err)

		b.change(t, crawl.RunChange{Action: crawl.ChangeSet, Settings: training})
		b.ensureRun(t, "training", training)
		_, err = b.ChangeRun(t.Context(), "training", crawl.RunChange{
			Action: crawl.ChangeSet, SetBy: "somebody", Settings: settings.Settings{Purpose: new(settings.PurposeSearch)},
		})
		require.ErrorContains(t, err, "run training has the purpose search, and run search the purpose ai-train")

		b.change(t, crawl.RunChange{Action: crawl.ChangeStop})
		b.change(t, crawl.RunChange{Action: crawl.ChangeSet, Settings: settings.Settings{MaxDepth: new(1)}})
		_, err = b.ChangeRun(t.Context(), "training", crawl.RunChange{
			Action: crawl.ChangeSet, SetBy: "somebody", Settings: settings.Settings{Purpose: new(settings.PurposeSearch)},
		})
		require.NoError(t, err, "the other run is over")
		_, err = b.ChangeRun(t.Context(), "search", crawl.RunChange{Action: crawl.ChangeResume, SetBy: "somebody"})
		require.ErrorContains(t, err, "run search has the purpose ai-train, and run training the purpose search")
	})

	t.Run("KeepsWhoHasDoneWhat", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "kept", settings.Settings{MaxDepth: new(3)})
		set := settings.Settings{Delay: minutes(2), MaxDepth: new(3)}
		run := b.change(t, crawl.RunChange{Action: crawl.ChangeSet, Settings: set, Reason: "they asked"})
		require.Equal(t, minutes(2), run.Settings.Delay)
		b.change(t, crawl.RunChange{Action: crawl.ChangePause, Reason: "for a while"})
		b.ensureRun(t, "kept", settings.Settings{MaxDepth: new(4)})
		b.ensureRun(t, "kept", settings.Settings{MaxDepth: new(4)})
		changes, err := b.RunChanges(t.Context(), b.run.ID, 10)
		require.NoError(t, err)
		type raw = map[string]json.RawMessage
		for i, want := range []crawl.RunChange{
			{Action: crawl.ChangeSet, SetBy: "test", OldValues: raw{"max_depth": raw2("3")}, NewValues: raw{"max_depth": raw2("4")}},
			{Action: crawl.ChangePause, SetBy: "somebody", Reason: "for a while"},
			{
				Action: crawl.ChangeSet, SetBy: "somebody", Reason: "they asked",
				OldValues: raw{"delay": raw2(`"10s"`)}, NewValues: raw{"delay": raw2(`"2m0s"`)},
			},
			{Action: crawl.ChangeCreate, SetBy: "test", NewValues: raw{"max_depth": raw2("3")}},
		} {
			require.WithinDuration(t, b.clock(t), changes[i].SetAt, time.Minute)
			want.SetAt = changes[i].SetAt
			require.Equal(t, want, changes[i])
		}
		require.Len(t, changes, 4, "what changes nothing is none")
	})

	t.Run("IsMadeOnceForADecision", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "once", settings.Settings{})
		pause := crawl.RunChange{Action: crawl.ChangePause, Decision: "d1"}
		b.change(t, pause)
		b.change(t, crawl.RunChange{Action: crawl.ChangeResume, Decision: "d2"})
		require.Equal(t, crawl.RunRunning, b.change(t, pause).Status, "what was decided since stands")
	})

	t.Run("RefusesWhatIsNotKnown", func(t *testing.T) {
		t.Parallel()
		b := setup(t, settings.Settings{})
		_, err := b.ChangeRun(t.Context(), "nobody", crawl.RunChange{Action: crawl.ChangeStop})
		require.ErrorIs(t, err, crawl.ErrNotFound)
		_, err = b.ChangeRun(t.Context(), "test", crawl.RunChange{Action: crawl.ChangePause, Until: time.Now().Add(-time.Hour)})
		require.ErrorIs(t, err, crawl.ErrInvalid)
	})
}

func raw2(text string) json.RawMessage { return json.RawMessage(text) }

func TestSpendRun(t *testing.T) {
	t.Parallel()

	t.Run("EndsWhatIsDueOfOneWhoseTimeIsOver", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "time", settings.Settings{})
		b.seed(t, "https://time.example/")
		spent, err := b.UpdateSpentBudget(t.Context(), b.run.ID, time.Hour)
		require.NoError(t, err)
		require.Empty(t, spent)
		b.exec(t, "UPDATE crawl_runs SET began_at = now() - interval '1 hour' WHERE id = $1", b.run.ID)
		spent, err = b.UpdateSpentBudget(t.Context(), b.run.ID, time.Hour)
		require.NoError(t, err)
		require.Equal(t, crawl.BudgetTime, spent)
		require.Empty(t, b.claim(t, 5))
		left, err := b.RemainingWork(t.Context(), b.run.ID)
		require.NoError(t, err)
		require.Equal(t, crawl.BudgetTime, left.Budget)
		require.True(t, left.Pending)

		b.change(t, crawl.RunChange{Action: crawl.ChangeSet, Settings: settings.Settings{MaxTime: minutes(120)}})
		spent, err = b.UpdateSpentBudget(t.Context(), b.run.ID, 2*time.Hour)
		require.NoError(t, err)
		require.Empty(t, spent)
		require.Equal(t, []string{"time.example"}, b.claim(t, 5))
	})

	t.Run("CountsBytes", func(t *testing.T) {
		t.Parallel()
		b := setupRun(t, "bytes", settings.Settings{})
		b.seed(t, "https://bytes.example/", "https://more-bytes.example/")
		b.exec(t, "UPDATE run_domains SET bytes = 50 WHERE run_id = $1", b.run.ID)
		for _, most := range []int64{101, -1, 100, 101} {
			b.change(t, crawl.RunChange{Action: crawl.ChangeSet, Settings: settings.Settings{MaxBytes: &most}})
			want := crawl.Budget("")
			if most == 100 {
				want = crawl.BudgetBytes
			}
			spent, err := b.UpdateSpentBudget(t.Context(), b.run.ID, 0)
			require.NoError(t, err)
			require.Equal(t, want, spent, most)
		}
	})
}
