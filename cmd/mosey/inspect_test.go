package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/output"
)

func TestStatus(t *testing.T) {
	t.Parallel()

	t.Run("WithoutARunSaysHowToBegin", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		r := h.Execute("status")
		require.Zero(t, r.Code)
		require.Empty(t, r.Stdout)
		require.Equal(t, "No runs yet. Start with mosey crawl https://example.org/\n", r.Stderr)
	})

	t.Run("ShowsEveryRun", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{Bytes: 1500})
		other, err := r.store.EnsureRun(t.Context(), "other", "test", settings.Settings{})
		require.NoError(t, err)
		_, err = r.store.EndRun(t.Context(), other.ID, "complete")
		require.NoError(t, err)
		out := r.Print("status")
		output.ContainsOnSameLine(t, out, "small-web  running ")
		output.ContainsOnSameLine(t, out, "other      done ", "complete")
		one := r.Print("status", "small-web")
		require.NotContains(t, one, "other")
		output.ContainsOnSameLine(t, one, "Run small-web is running after ", "1 page of 1 domain, 1 request, 1.5 kB")
		output.ContainsOnSameLine(t, one, "  1 ok")
		lines := strings.Split(strings.TrimSpace(r.Print("status", "--json")), "\n")
		require.Len(t, lines, 2)
		var p report.Progress
		require.NoError(t, json.Unmarshal([]byte(lines[1]), &p))
		require.Equal(t, "small-web", p.Name)
		require.EqualValues(t, 1, p.Success)
	})

	t.Run("SaysThatTheNetworkIsDown", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		require.NoError(t, r.store.SaveOutage(t.Context(), crawl.Outage{
			Worker: "mosey/1 7@host", Since: time.Now(), Reason: "none of the last 9 requested targets could be reached",
		}))
		for _, args := range [][]string{{"status"}, {"why", "a.example"}, {"why", aPage}} {
			output.ContainsOnSameLine(t, r.Print(args...), "the network seems to be down since ",
				"so that failures are not counted against sites: none of the last 9 requested targets could be reached (worker mosey/1 7@host)")
		}
	})

	t.Run("SaysWhatARunWaitsFor", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}, aPage, "https://b.example/", "https://c.example/").worker().claim()
		r.slot(time.Hour, reasons.CrawlDelay)
		r.exec("UPDATE domains SET next_crawl_after = now() + interval '1 day', status_reason = 'retry-after' WHERE domain = 'b.example'")
		r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '1 day' WHERE domain = 'b.example'")
		out := r.Print("status", "small-web")
		output.ContainsOnSameLine(t, out, "  3 pages left, 1 of them ")
		output.ContainsOnSameLine(t, out, "  b.example is deferred until ", ": retry-after")
		out = r.Print("status")
		output.ContainsOnSameLine(t, out, "  1 domain active, 0 requests in flight")
		output.ContainsOnSameLine(t, out, "  a.example for ", "m", "(crawl-delay)")
	})

	t.Run("SaysWhyARunDoesNotMove", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{MaxPagesPerDomain: new(int64(0))}, "https://b.example/")
		r.exec("SELECT due_update(ARRAY['b.example'])")
		output.ContainsOnSameLine(t, r.Print("status"), "  1 domain not requested: the domain has reached its limit (such as b.example)")
		output.ContainsOnSameLine(t, r.Print("queue"), "b.example ", " budget")
		r.control(crawl.Control{Type: crawl.ControlPause, Reason: "a quiet night", Until: time.Now().Add(time.Hour)})
		r.exec("UPDATE crawl_runs SET settings = settings || '{\"max_pages_per_domain\": 5}'")
		r.exec("SELECT due_update(ARRAY['a.example', 'b.example'])")
		out := r.Print("status")
		output.ContainsOnSameLine(t, out, "  No worker has run yet. To resume: mosey crawl --run small-web")
		require.Contains(t, out, "  1 domain due\n")
		var p struct {
			Due    int64           `json:"due_domains"`
			NotDue []report.NotDue `json:"not_due"`
		}
		r.Decode(&p, "status", "--json")
		require.EqualValues(t, 1, p.Due)
	})

	t.Run("OfARunThatIsNotThereIsRefused", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Refuse([]string{"status", "other"}, `run "other" does not exist; mosey status lists all`)
	})
}

func TestDomain(t *testing.T) {
	t.Parallel()

	t.Run("ShowsAllThatIsKnown", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}, aPage, aOrigin+"/more").robots(crawl.Robots{
			Verdict: crawl.RobotsRules, CrawlDelay: new(crawl.Millis(30 * time.Second)), Reason: "answered 200",
		})
		r.fetched(crawl.Attempt{
			Outcome: crawl.OutcomeBlocked5xx, StatusCode: 503, Error: "overloaded",
			Health: &crawl.Health{Samples: []crawl.Sample{{Duration: settings.Duration(time.Second), Error: true}}},
		})
		r.control(crawl.Control{Type: crawl.ControlPause, Reason: "the owner asked"})
		r.exec("UPDATE domains SET next_crawl_after = now() + interval '1 day'")
		_, err := r.store.ClaimDomains(t.Context(), r.run.ID, 1)
		require.NoError(t, err)
		out := r.Print("domain", "WWW.a.example")
		output.ContainsOnSameLine(t, out, "domain ", aDomain)
		output.ContainsOnSameLine(t, out, "status ", "active")
		output.ContainsOnSameLine(t, out, "control ", "paused: set by ann@example.org on ", ": the owner asked")
		output.ContainsOnSameLine(t, out, "deferred until ")
		output.ContainsOnSameLine(t, out, "next request ", "not before ", "(delay)")
		output.ContainsOnSameLine(t, out, "health ", "1 of 1 recent responses failed")
		output.ContainsOnSameLine(t, out, "pending ", "1")
		output.ContainsOnSameLine(t, out, "robots ", "robots.txt of "+aOrigin+": rules, crawl-delay 30s (answered 200); valid until ")
		output.ContainsOnSameLine(t, out, "run small-web ", "running: 1 server error")
		output.ContainsOnSameLine(t, out, "server error 503 "+aPage+" overloaded")
		for line := range strings.Lines(out) {
			require.NotRegexp(t, `\s\n$`, line)
		}
		var report report.Domain
		r.Decode(&report, "domain", aDomain, "--json")
		require.Equal(t, aDomain, report.Domain)
		require.Len(t, report.Controls, 1)
	})

	t.Run("ShowsItsWorkflow", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		_, err := r.store.ClaimDomains(t.Context(), r.run.ID, 1)
		require.NoError(t, err)
		output.ContainsOnSameLine(t, r.Print("domain", aDomain), "workflow ", "domain/a.example, claim until ")
	})

	t.Run("ThatIsNoneIsRefused", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Refuse([]string{"domain", "ftp://a.example/"}, `domain "ftp://a.example/": `, "want a host name, such as example.org")
		h.Refuse([]string{"domain", ""}, `domain "": `, "want a host name, such as example.org")
		h.Refuse([]string{"domain", aDomain}, "domain a.example is unknown: the page was never seeded, and no crawled page links to it")
	})
}

func TestPage(t *testing.T) {
	t.Parallel()

	t.Run("ShowsEveryAttempt", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed()
		output.ContainsOnSameLine(t, r.Print("page", aPage), "crawl ", "pending in run small-web")
		id := r.begin()
		output.ContainsOnSameLine(t, r.Print("page", aPage), "crawl ", "in flight in run small-web")
		_, err := r.store.Record(t.Context(), crawl.Attempt{
			ID: id, Domain: aDomain, Requested: true, Outcome: crawl.OutcomeTimeout, Error: "no answer in 30s",
			EndedAt: time.Now(), RetryIn: new(crawl.Millis(0)),
		})
		require.NoError(t, err)
		r.slot(0, "")
		r.fetched(crawl.Attempt{IP: "192.0.2.1", Duration: crawl.ElapsedMillis(120 * time.Millisecond), Page: &crawl.PageUpdate{
			Signals: &crawl.Signals{Title: "A title", Canonical: aOrigin + "/canonical"}, NoIndex: true,
			Usage: json.RawMessage(`{"noindex":"meta robots"}`),
			Visit: &crawl.VisitUpdate{FreshnessLifetime: crawl.Millis(time.Hour)}, Trap: crawl.TrapDate, TrapEvidence: "the year 9999",
		}, Redirect: true, Links: []crawl.Link{{URL: aOrigin + "/next", Domain: aDomain, Origin: aOrigin}}})
		out := r.Print("page", "https://A.example")
		output.ContainsOnSameLine(t, out, "url ", aPage)
		output.ContainsOnSameLine(t, out, "status ", "fetched")
		output.ContainsOnSameLine(t, out, "title ", `"A title"`)
		output.ContainsOnSameLine(t, out, "canonical ", aOrigin+"/canonical")
		output.ContainsOnSameLine(t, out, "redirects to ", aOrigin+"/next")
		output.ContainsOnSameLine(t, out, "meta robots ", "noindex true, nofollow false")
		output.ContainsOnSameLine(t, out, "usage ", "meta robots")
		output.ContainsOnSameLine(t, out, "fresh until ")
		output.ContainsOnSameLine(t, out, "trap ", "far date: the year 9999")
		output.ContainsOnSameLine(t, out, "links ", "1 out, 0 in")
		output.ContainsOnSameLine(t, out, "crawl ", "ok 200 in run small-web, 120ms, 192.0.2.1")
		output.ContainsOnSameLine(t, out, "crawl ", "timeout in run small-web", "no answer in 30s")
		var report report.Page
		r.Decode(&report, "page", aPage, "--json")
		require.Len(t, report.Crawls, 2)
	})

	t.Run("ThatIsNoneIsRefused", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.Refuse([]string{"page", "word"}, `"word"`, "want a URL or a host with a path")
		h.Refuse([]string{"page", aPage}, "page https://a.example/ is unknown: the page was never seeded")
	})
}

func TestOutput(t *testing.T) {
	t.Parallel()

	t.Run("ThatCannotBeWrittenIsAnError", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		for _, args := range [][]string{
			{"status", "--json"},
			{"domain", aDomain},
			{"domain", aDomain, "--json"},
			{"page", aPage},
			{"why", aPage, "--json"},
			{"audit", "--json"},
		} {
			var stderr output.Buffer
			code := run(t.Context(), args, &command.Env{Stdout: output.Broken{}, Stderr: &stderr, Environ: r.environ})
			require.Equal(t, wiring.ExitFailed, code, args)
			want := "mosey: print: the pipe is broken\n"
			if slices.Contains(args, "--json") {
				want = `{"error":"print: the pipe is broken","exit_code":1}` + "\n"
			}
			require.Equal(t, want, stderr.String(), args)
		}
	})

	t.Run("IsNotMadeFromASchemaThatIsNotOurs", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("DATABASE_URL", dbtest.UnmigratedURL(t))
		h.Fail([]string{"status"}, "the database has schema version 0, but this program needs ", ": run mosey migrate")
		newer, store := newHarnessWithDatabase(t)
		_, err := store.Pool().Exec(t.Context(), "UPDATE installation SET min_schema_version = 1000")
		require.NoError(t, err)
		newer.Fail([]string{"status"}, "which needs a program of version 1000 or later, not ", ": use a newer Mosey")
	})
}
