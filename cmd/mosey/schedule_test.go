package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/workflows"
)

func TestSchedule(t *testing.T) {
	t.Parallel()

	t.Run("SeedsAndFetchesAgain", func(t *testing.T) {
		t.Parallel()
		h, store := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		h.Start(s.crawl(s.Seeds()[0], "--when-done", "wait")...)
		requests := func(n int) {
			wait.Until(t, func() bool { return len(s.Log().Pages()) == n }, patience, 5*time.Millisecond)
		}
		requests(3)
		output.ContainsOnSameLine(t, h.Print("schedule", "add", "monthly", "--every", "720h", "--older-than", "1h"), "Schedule monthly added.")
		output.ContainsOnSameLine(t, h.Print("schedule", "add", "weekly", s.Seeds()[0], "--run", "second", "--cron", "0 3 * * 1"), "Schedule weekly added.")
		h.Refuse([]string{"schedule", "add", "weekly", s.Seeds()[0], "--every", "1h"}, `schedule "weekly" exists`)
		_, err := store.Pool().Exec(t.Context(), "UPDATE pages SET fetched_at = fetched_at - interval '2 hours' WHERE kind = 'page'")
		require.NoError(t, err)
		trigger := func(name string) {
			schedule := h.client().ScheduleClient().GetHandle(t.Context(), name)
			require.NoError(t, schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
		}
		trigger("monthly")
		requests(6)
		trigger("weekly")
		var second crawl.Run
		wait.Until(t, func() bool { second, err = store.Run(t.Context(), "second"); return err == nil }, patience, 5*time.Millisecond)
		changes, err := store.RunChanges(t.Context(), second.ID, 1)
		require.NoError(t, err)
		require.Contains(t, changes[0].SetBy, "the workflow schedule/weekly")

		var list []workflows.ScheduleInfo
		wait.Until(t, func() bool {
			list = nil
			for line := range strings.Lines(h.Print("schedule", "--json")) {
				var one workflows.ScheduleInfo
				require.NoError(t, json.Unmarshal([]byte(line), &one))
				list = append(list, one)
			}
			return len(list) == 2 && !list[0].Last.IsZero()
		}, patience, 100*time.Millisecond)
		require.Equal(t, "monthly", list[0].Name)
		require.Equal(t, "default", list[0].Run)
		require.Equal(t, time.Monday, list[1].Next.UTC().Weekday())
		output.ContainsOnSameLine(t, h.Print("schedule"), "weekly", "seeds", "second")

		output.ContainsOnSameLine(t, h.Print("schedule", "remove", "weekly"), "Schedule weekly removed. The workflows that it started continue.")
		h.Refuse([]string{"schedule", "remove", "weekly"}, `schedule "weekly" does not exist; mosey schedule lists all`)
	})

	t.Run("RefusesWhatIsNone", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for want, args := range map[string][]string{
			"want either every or cron":                           {"x", "https://example.org/"},
			"give seeds (--source or URLs) or --older-than":       {"x", "--every", "1h"},
			"every 1s: want 1m0s or more":                         {"x", "https://example.org/", "--every", "1s"},
			`--older-than "old"`:                                  {"x", "--older-than", "old", "--every", "1h"},
			"older_than: want a positive duration":                {"x", "--older-than", "0d", "--every", "1h"},
			"only letters, digits":                                {"a b", "--older-than", "1d", "--every", "1h"},
			"source csv: want a file or a url":                    {"x", "--source", "csv", "--every", "1h"},
			`"gopher://x"`:                                        {"x", "gopher://x", "--every", "1h"},
			crawl.ErrInvalid.Error() + ": want either every or c": {"x", "--older-than", "1d", "--every", "1h", "--cron", "0 3 * * *"},
		} {
			h.Refuse(append([]string{"schedule", "add"}, args...), want)
		}
	})

	t.Run("NeedsATemporal", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Fail([]string{"schedule"}, "no running Temporal found: start one with mosey up, or set TEMPORAL_ADDRESS")
	})
}
