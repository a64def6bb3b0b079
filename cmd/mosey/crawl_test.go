package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/seed"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

func TestCrawl(t *testing.T) {
	t.Parallel()

	t.Run("OfAllKindsOfSeedsPrintsEvents", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 3, 3)
		file := h.WriteFile("seeds", "# one\n"+s.Seeds()[1]+"\nno URL\n")
		h.stdin = s.Seeds()[2] + "\n"
		r := h.Execute(s.crawl(s.Seeds()[0], file, "-", "--json", "--run", "small-web")...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stderr, file+":3 skipped: no URL: neither an http or https URL nor a host")
		require.Equal(t, 1, strings.Count(r.Said(), "\n"), r.Stderr)
		all := output.Lines[seed.Event](t, r.Stdout)
		require.Equal(t, "started", all[0].Event)
		require.Contains(t, r.Stdout, `"seeds":3`)
		require.Equal(t, "progress", all[1].Event)
		require.Equal(t, 2, strings.Count(r.Stdout, `"settings":{`), "when it starts and in the summary, and not with all progress")
		last := all[len(all)-1]
		require.Equal(t, "summary", last.Event)
		require.Equal(t, crawl.RunDone, last.Status)
		require.Equal(t, "small-web", last.Name)
		require.EqualValues(t, 12, last.Success)
		s.requireClean(t, web.Expectations{})
		require.Contains(t, h.Print("audit"), "15 page requests checked again, 0 violations", "a sitemap was looked for at each site")
	})

	t.Run("PrintsLines", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		file := h.WriteFile("seeds", s.Seeds()[0]+strings.Repeat("\nno URL", 7))
		r := h.Execute(s.crawl(file)...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stderr, "7 lines skipped: not URLs or host names")
		output.ContainsOnSameLine(t, r.Stdout, "Run default: 1 seed, delay 10ms, scope seeds")
		output.ContainsOnSameLine(t, r.Stdout, " page", " (", " active, ", " in flight; ")
		output.ContainsOnSameLine(t, r.Stdout, "Run default is done (complete) after ", ": 3 pages of 1 domain, ")
		output.ContainsOnSameLine(t, r.Stdout, "  3 ok")
		require.NotContains(t, r.Stdout, "\x1b")
	})

	t.Run("LogsARequestALineWhereAskedTo", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		r := h.Execute(s.crawl(s.Seeds()[0], "--log-level", "debug", "--log-format", "json")...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stderr, `"msg":"requested"`, `"url":"`+s.Seeds()[0]+`"`, `"run":"default"`, `"outcome":"success"`,
			`"workflow":"domain/`+s.Hosts()[0]+`"`)
		h.Refuse([]string{"status", "--log-level", "loud"}, "--log-level", "debug", `"loud"`)
	})

	t.Run("IsDrawnOnATerminal", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		h.terminal = true
		s := newSite(t, 2, 3)
		c := h.Start(s.crawl(append(s.Seeds(), "--delay", "1h")...)...)
		c.Await(" (delay)\n")
		c.Await("\x1b[J") // what was drawn is drawn over
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		for _, pieces := range [][]string{
			{" pages, ", " requests, ", " requests/s, "},
			{"domains  ", " active of 2 found; ", " pages pending, ", " in flight, ", " deferred"},
			{"outcomes "},
			{"waiting  site-00", ".test for ", "(delay)"},
		} {
			output.ContainsOnSameLine(t, r.Stdout, pieces...)
		}
		output.ContainsOnSameLine(t, r.Stderr, "Stopping after the requests in flight.")
	})

	t.Run("StopsWhenItsTimeIsOver", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		h.dirFlag = true
		s := newSite(t, 1, 3)
		r := h.Execute(s.crawl(s.Seeds()[0], "--run", "timed", "--delay", "1h", "--for", "1s")...)
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, "Stopping after the requests in flight.\n"+
			"Stopped. All data is kept. To resume the run:\n  mosey crawl --run timed --data-dir "+h.dir+
			" "+strings.Join(s.flags(), " ")+"\n", r.Said())
		output.ContainsOnSameLine(t, r.Stdout, "Run timed is stopped (when --for was over) after ")
		output.ContainsOnSameLine(t, r.Stdout, "  1 page left")
	})

	t.Run("GoesOnWhereItWasStopped", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 9)
		c := h.Start(s.crawl(s.Seeds()[0], "--delay", "300ms")...)
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= 2 }, patience, 5*time.Millisecond)
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "pages left")
		all := output.Lines[seed.Event](t, h.Print(s.crawl("--json")...))
		require.Equal(t, "10ms", all[0].Settings.Delay.String(), "a setting that was given again")
		last := all[len(all)-1]
		require.Equal(t, crawl.RunDone, last.Status)
		require.Zero(t, last.Pending)
		require.EqualValues(t, 10, last.Success)
		s.requireClean(t, web.Expectations{})
	})

	t.Run("StopsWithoutAWarning", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		h.dirFlag = true
		const sites, pagesEach = 10, 12 // of long activities, which have sent heartbeats
		s := newSite(t, sites, 200)
		c := h.Start(s.crawl(append(s.Seeds(), "--run", "busy", "--delay", "1s", "--set", "pages_per_activity=100")...)...)
		wait.Until(t, func() bool { return len(s.Log().Pages()) >= sites*pagesEach }, patience, 5*time.Millisecond)
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, "Stopping after the requests in flight.\n"+
			"Stopped. All data is kept. To resume the run:\n  mosey crawl --run busy --data-dir "+h.dir+" "+strings.Join(s.flags(), " ")+"\n", r.Said())
	})

	t.Run("OfARunThatIsNotThereNeedsSeeds", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		h.Refuse([]string{"crawl", "--run", "other"}, `run "other" does not exist yet: give a URL as its seed, such as https://example.org/`)
	})

	t.Run("NamesATemporalThatDoesNotAnswer", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
		h.Fail([]string{"crawl", aPage}, "reach Temporal at 127.0.0.1:1: ", "check that Temporal runs at TEMPORAL_ADDRESS")
		h.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", "/nowhere")
		h.Setenv("TEMPORAL_TLS", "true")
		h.Refuse([]string{"crawl", aPage}, "read the TEMPORAL_* settings: ")
	})

	t.Run("NamesWhatATemporalLacks", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		h.Setenv("TEMPORAL_NAMESPACE", "temporal-system")
		h.Fail([]string{"crawl", aPage}, "search attribute", "create them with temporal operator search-attribute create")
		h.Setenv("TEMPORAL_NAMESPACE", "nowhere")
		h.Fail([]string{"crawl", aPage}, "nowhere")
	})
}

func TestWake(t *testing.T) {
	t.Parallel()

	t.Run("HasACrawlGoOnWithADomainAtOnce", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 2)
		const name = "site-001.test"
		h.Print("pause", name, "--reason", "a quiet night")
		c := h.Start(s.crawl(s.Seeds()[0], "--when-done", "wait")...)
		c.Await(" pending, ")
		require.Empty(t, s.Log())
		output.ContainsOnSameLine(t, h.Print("why", s.Seeds()[0]), ": not crawled: the domain is paused by ", ": a quiet night")
		h.Print("resume", name)
		wait.Until(t, func() bool { return len(s.Log().Pages()) == 3 }, patience, 5*time.Millisecond)
		r := c.Stop()
		require.Zero(t, r.Code, r.Stderr)
		s.requireClean(t, web.Expectations{})
	})

	t.Run("OfATemporalThatDoesNotAnswerIsOnlyNoted", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
		got := r.Execute("set", aDomain, "--delay", "1m")
		require.Zero(t, got.Code)
		require.Contains(t, got.Stdout, "a.example is set.")
		output.ContainsOnSameLine(t, got.Stderr, "mosey: could not notify the running crawl, which notices the change later: reach Temporal at 127.0.0.1:1: ")
	})
}

// TestWorkflowsOfACrawlThatHasEnded checks that Temporal lists no ended workflow, and no run that
// the command has left, as running.
func TestWorkflowsOfACrawlThatHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		status map[string]string // by workflow
	}{
		"IsDone":    {nil, map[string]string{"crawl/ended": "done", "domain/site-001.test": "finished"}},
		"IsStopped": {[]string{"--delay", "1h", "--for", "1s"}, map[string]string{"crawl/ended": "stopped"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := newHarnessWithStack(t)
			s := newSite(t, 1, 2)
			r := h.Execute(s.crawl(append([]string{s.Seeds()[0], "--run", "ended"}, c.args...)...)...)
			require.Zero(t, r.Code, r.Stderr)
			for id, status := range c.status {
				d, err := h.client().DescribeWorkflowExecution(t.Context(), id, "")
				require.NoError(t, err)
				info := d.GetWorkflowExecutionInfo()
				require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, info.GetStatus(), id)
				require.JSONEq(t, strconv.Quote(status), string(info.GetSearchAttributes().GetIndexedFields()[crawl.AttrStatus].GetData()), id)
			}
		})
	}
}

// TestEmbedded crawls with nothing but a data directory, as most people do.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.dirFlag = true
	s := newSite(t, 2, 3)
	c := h.Start(s.crawl(append(s.Seeds(), "--delay", "1h")...)...)
	ui := c.Field("Temporal UI: ")
	require.Contains(t, ui, "http://127.0.0.1:")
	wait.Until(t, func() bool { return len(s.Log().Pages()) > 0 || len(s.Log()) > 1 }, patience, 5*time.Millisecond)

	// what other commands see of one that runs
	require.Contains(t, h.Print("status", "default"), "Run default is running")
	h.Fail([]string{"up"}, "data directory "+h.dir+" is in use by another Mosey (pid ", "or choose another directory with --data-dir")
	output.ContainsOnSameLine(t, h.Execute("crawl", aPage).Stderr, "  TEMPORAL_ADDRESS=127.0.0.1:", " DATABASE_URL='postgres://", "' mosey --data-dir "+h.dir+" crawl …")
	require.Equal(t, wiring.ExitFailed, h.Execute("migrate").Code)

	// and what they tell it, which they say nothing about
	require.Contains(t, h.Print("block", "site-001.test", "--reason", "the owner asked"), "is blocked in all runs")
	require.Contains(t, h.Print("unblock", "site-001.test"), "may be crawled again")
	require.Contains(t, h.Print("set", "site-001.test", "--max-pages", "1"), "is set")

	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	require.NotContains(t, r.Said(), "level=")
	require.Contains(t, r.Stderr, "To resume the run:\n  mosey crawl --run default --data-dir "+h.dir+" "+strings.Join(s.flags(), " ")+"\n")
	require.NoFileExists(t, h.dir+"/stack.json")
	_, err := os.Stat(h.dir + "/temporal/temporal.log")
	require.NoError(t, err)
	// The database was new: some hundred files were forced to the disk while it crawled, and
	// not while a person waited for the end.
	require.Less(t, filesSynced(t, h.dir), 200)

	// afterwards commands start the database by themselves
	require.Contains(t, h.Print("status", "default"), "Run default is stopped (with Ctrl-C)")
	require.Contains(t, h.Print("why", "site-001.test"), "budget per run: 1 page")
}

// filesSynced is how many files the database of a data directory has forced to the disk when
// it was last stopped.
func filesSynced(t *testing.T, dir string) int {
	t.Helper()
	log, err := os.ReadFile(dir + "/postgres.log")
	require.NoError(t, err)
	_, last, found := strings.Cut(string(log), "checkpoint starting: shutdown")
	require.True(t, found, "%s", log)
	count := regexp.MustCompile(`sync files=(\d+)`).FindStringSubmatch(last)
	require.NotNil(t, count, "%s", last)
	files, err := strconv.Atoi(count[1])
	require.NoError(t, err)
	return files
}
