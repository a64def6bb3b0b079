package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestWorkers(t *testing.T) {
	t.Parallel()

	t.Run("AreListedWithWhatTheyMayHave", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		done := r.Execute("workers")
		require.Zero(t, done.Code)
		require.Contains(t, done.Stderr, "No worker runs.")
		require.Contains(t, done.Stdout, "The fleet has no limit of requests in flight.")

		enter := func(identity string) int32 {
			id, err := r.store.StartWorker(t.Context(), crawl.Worker{
				Identity: identity, Host: "a", Version: "1", Role: "all", MaxFetches: 256, MaxRequestDuration: 35 * time.Second,
			})
			require.NoError(t, err)
			_, err = r.store.RenewShare(t.Context(), id, crawl.WorkerUse{CallCount: 1, InFlight: 2, MaxInFlight: 2, Demand: 9})
			require.NoError(t, err)
			return id
		}
		require.Contains(t, r.Print("workers", "--max-fetches", "5", "--reason", "a thin line"),
			"The fleet is limited to 5 requests in flight")
		first, second := enter("mosey/1 1@a"), enter("mosey/1 2@b")
		require.NoError(t, r.store.StopWorker(t.Context(), first))
		_, err := r.store.RenewShare(t.Context(), second, crawl.WorkerUse{CallCount: 2, InFlight: 5, MaxInFlight: 5, Demand: 9})
		require.NoError(t, err)
		list := r.Print("workers")
		output.ContainsOnSameLine(t, list, "mosey/1 2@b", "all", "5", "9", "works")
		require.NotContains(t, list, "1@a")
		output.ContainsOnSameLine(t, list, "The fleet may have 5 requests in flight, and has 5; 4 wait.", "Set by "+command.CurrentUser(), ": a thin line")
		output.ContainsOnSameLine(t, r.Print("workers", "--all"), "mosey/1 1@a", "stopped ")
		var fleet report.Fleet
		r.Decode(&fleet, "workers", "--json")
		require.Equal(t, 5, fleet.Limit.MaxFetches)
		require.Len(t, fleet.Workers, 1)
		require.Equal(t, 5, fleet.Workers[0].Share)

		const waits = "4 requests waiting for capacity: the limit of all workers is 5 in flight (mosey workers), reason: a thin line"
		require.Contains(t, r.Print("status", r.run.Name), waits)
		require.Contains(t, strings.Join(strings.Fields(r.Execute("doctor", "--only", "fleet").Stdout), " "), waits)

		require.Contains(t, r.Print("workers", "--max-fetches", "0"), "The fleet has no limit")
		require.NotContains(t, r.Print("status", r.run.Name), "waiting for capacity")
	})

	t.Run("RefuseMistakes", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		for want, args := range map[string][]string{
			"--max-fetches -1: want 0 to 1000000": {"--max-fetches=-1"},
			"--reason \"x\" needs --max-fetches":  {"--reason", "x"},
			"--all lists workers":                 {"--all", "--max-fetches", "3"},
			"--limit 0: want 1 to 10000":          {"--limit", "0"},
		} {
			r.Refuse(append([]string{"workers"}, args...), want)
		}
	})
}
