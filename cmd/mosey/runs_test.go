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

func TestRuns(t *testing.T) {
	t.Parallel()

	t.Run("AreListed", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.Print("pause", "run:small-web", "--reason", "a quiet night")
		out := r.Print("status")
		output.ContainsOnSameLine(t, out, "RUN", "STATUS", "PENDING", "REASON")
		output.ContainsOnSameLine(t, out, "small-web", "paused", "paused by "+command.CurrentUser()+": a quiet night")
		var p report.Progress
		r.Decode(&p, "status", "--json")
		require.Equal(t, crawl.RunPaused, p.Status)
	})

	t.Run("AreListedNewestFirstUpToALimit", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		for _, name := range []string{"second", "third", "fourth"} {
			run, err := r.store.EnsureRun(t.Context(), name, "test", settings.Settings{})
			require.NoError(t, err)
			_, err = r.store.StopRun(t.Context(), run.ID, "over")
			require.NoError(t, err)
		}
		names := func(args ...string) (names []string) {
			for _, p := range output.Lines[report.Progress](t, r.Print(append([]string{"status", "--json"}, args...)...)) {
				names = append(names, p.Name)
			}
			return names
		}
		require.Equal(t, []string{"fourth", "third", "second", "small-web"}, names())
		require.Equal(t, []string{"fourth", "small-web"}, names("--limit", "2"), "what runs is always listed")
		require.Contains(t, r.Print("status", "--limit", "2"), "2 older runs more. To list all:\n  mosey status --limit 4\n")
		r.Refuse([]string{"status", "--limit", "0"}, "--limit 0: want 1 to ")
	})

	t.Run("ArePausedStoppedAndResumed", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		status := func() crawl.RunStatus {
			run, err := r.store.Run(t.Context(), "small-web")
			require.NoError(t, err)
			return run.Status
		}
		output.ContainsOnSameLine(t, r.Print("pause", "run:small-web", "--reason", "x", "--until", "12h"), "Run small-web is paused until ", "To undo it:")
		require.Equal(t, crawl.RunPaused, status())
		output.ContainsOnSameLine(t, r.Print("resume", "run:small-web"), "Run small-web resumes")
		require.Equal(t, crawl.RunRunning, status())
		output.ContainsOnSameLine(t, r.Print("stop", "run:small-web"), "Run small-web is stopped; its pending pages are kept. To resume it:")
		require.Equal(t, crawl.RunStopped, status())
		r.Fail([]string{"pause", "run:small-web", "--reason", "x"}, "the run is stopped: only running runs can be paused")
		r.Refuse([]string{"resume", "run:nobody"}, `run "nobody" does not exist; mosey status lists all`)
		r.Refuse([]string{"stop", "run:no body"}, "no body")
	})

	t.Run("AreSet", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.Equal(t, "Run small-web is changed from its next request on.\n",
			r.Print("set", "run:small-web", "delay=1m", "max_pages=7", "--reason", "they asked"))
		run, err := r.store.Run(t.Context(), "small-web")
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Duration(*run.Settings.Delay))
		output.ContainsOnSameLine(t, r.Print("status", "small-web"), command.CurrentUser(), "set", "delay=10s → 1m0s max_pages=-1 → 7 they asked")
		r.Print("stop", "run:small-web")
		output.ContainsOnSameLine(t, r.Print("set", "run:small-web", "max_pages=9"), "It is stopped. To resume it:")
		r.Refuse([]string{"set", "run:small-web", "max_pages=many"}, `set run:small-web: `, `max_pages "many": want a number`)
		r.Refuse([]string{"set", "run:small-web", "window=Mon 9 Mars/Phobos"}, "window")
		r.Refuse([]string{"set", "run:small-web"}, "no setting is given: give name=value, such as delay=5s")
		r.Refuse([]string{"set", "run:small-web", "--delay", "5s"}, "flags are for domains")
		r.Refuse([]string{"set", aDomain, "delay=5s"}, "name=value is for runs")
	})

	t.Run("AreShown", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}, aPage, aOrigin+"/2", "https://b.example/")
		r.exec("UPDATE run_domains SET success = 30, timeout = 10, requests = 40 WHERE domain = 'a.example'")
		r.exec("UPDATE domains SET avg_response_ms = 1500 WHERE domain = 'b.example'")
		out := r.Print("status", "run:small-web")
		output.ContainsOnSameLine(t, out, "ok", "30", "75.0 %", strings.Repeat("█", 30))
		output.ContainsOnSameLine(t, out, "timeout", "10", "25.0 %", strings.Repeat("█", 10))
		output.ContainsOnSameLine(t, out, "longest queue", "a.example", "2 pages, 2 due")
		output.ContainsOnSameLine(t, out, "most failures", "a.example", "10 of 40 requests")
		output.ContainsOnSameLine(t, out, "slowest", "b.example", "response time 1.5s")
		output.ContainsOnSameLine(t, out, "  pages_per_activity=auto")
		output.ContainsOnSameLine(t, out, "test", "create")
		var report report.Run
		r.Decode(&report, "status", "small-web", "--json")
		require.EqualValues(t, 3, report.Pending)
		require.Len(t, report.Longest, 2)
		r.Refuse([]string{"status", "nobody"}, `run "nobody" does not exist`)
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aPage, aOrigin+"/2", "https://b.example/")
	r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '1 hour' WHERE url = $1", aPage)
	out := r.Print("queue")
	require.True(t, strings.HasPrefix(out, "3 pages pending on 2 domains: 2 due now, 1 later\n"), out)
	lines := strings.Split(out, "\n")
	require.Equal(t, []string{"a.example", "pending", "2", "1", "1", "0"}, strings.Fields(lines[2])[:6])
	require.Equal(t, []string{"b.example", "pending", "1", "1", "0", "0"}, strings.Fields(lines[3])[:6])
	var q report.Queue
	r.Decode(&q, "queue", "--json", "--limit", "1", "--run", "small-web")
	require.EqualValues(t, 2, q.Total)
	require.Len(t, q.Domains, 1)
	require.WithinDuration(t, time.Now().Add(time.Hour), q.Domains[0].NextDue, time.Minute)
	r.Refuse([]string{"queue", "--run", "nobody"}, `run "nobody" does not exist`)
	r.Refuse([]string{"queue", "--limit", "0"}, "--limit 0: want 1 to ")
	r.Print("stop", "run:small-web")
	require.Equal(t, "No pending pages.\n", r.Execute("queue").Stderr)
}
