package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/test/output"
)

// requireWhy asserts the answer about a domain or a page, and lines of what it is
// because of.
func (r *rows) requireWhy(about, answer string, because ...string) {
	r.t.Helper()
	out := r.Print("why", about)
	require.Regexp(r.t, `\A.+: .+\n(- .+\n)*\z`, out)
	first, _, _ := strings.Cut(out, "\n")
	require.True(r.t, strings.HasPrefix(first, about+": "+answer), "%s", out)
	for _, line := range because {
		output.ContainsOnSameLine(r.t, out, "- "+line)
	}
	var w explain.Why
	r.Decode(&w, "why", about, "--json")
	require.Equal(r.t, about, w.About)
	require.NotEmpty(r.t, w.Answer)
}

// laterToday is an hour of each day that begins in three or four hours.
func laterToday() string {
	hour := (time.Now().UTC().Hour() + 4) % 24
	return fmt.Sprintf("Mon-Sun %02d:00-%02d:59 UTC", hour, hour)
}

func TestWhyDomain(t *testing.T) {
	t.Parallel()
	tomorrow, shut := time.Now().Add(24*time.Hour).Truncate(time.Second), laterToday()

	for name, c := range map[string]struct {
		settings settings.Settings
		prepare  func(r *rows)
		answer   string
		because  []string
	}{
		"IsDue": {
			prepare: func(r *rows) { r.allowed().worker() },
			answer:  "due: the run requests it within seconds",
			because: []string{
				"next page: https://a.example/, in run small-web",
				"robots.txt of https://a.example: allow_all; valid until ",
				"domain a.example is pending; 1 page pending", "health: unknown", "run small-web is running: none yet",
			},
		},
		"IsBeingCrawled": {
			prepare: func(r *rows) {
				_, err := r.allowed().store.ClaimDomains(r.t.Context(), r.run.ID, 1)
				require.NoError(r.t, err)
			},
			answer: "pending: the run will request the page",
		},
		"NeedsItsRobotsFirst": {
			prepare: func(*rows) {},
			answer:  "pending: robots.txt is fetched first",
			because: []string{"robots.txt has not been fetched yet; Mosey requests it before any page"},
		},
		"NeedsItsRobotsAgain": {
			prepare: func(r *rows) {
				r.robots(crawl.Robots{Verdict: crawl.RobotsRules, CrawlDelay: new(crawl.Millis(time.Minute)), Reason: "answered 200"})
				r.exec("UPDATE robots SET expires_at = now() - interval '1 hour'")
			},
			answer: "pending: robots.txt is fetched first",
			because: []string{
				"robots.txt of https://a.example: rules, crawl-delay 1m0s (answered 200); expired on ",
			},
		},
		"WaitsForItsSlot": {
			prepare: func(r *rows) { r.allowed().slot(time.Hour, reasons.CrawlDelay) },
			answer:  "waiting until ",
			because: []string{"the domain may not be requested before "},
		},
		"WasAskedBefore": {
			prepare: func(r *rows) { r.allowed().slot(-time.Hour, "") },
			answer:  "due: ",
			because: []string{"no delay holds the domain: the next request is allowed since "},
		},
		"HasARequestInFlight": {
			prepare: func(r *rows) { r.allowed().worker().begin() },
			answer:  "in flight: a request is in flight",
		},
		"AsksToBeLeftAloneForLong": {
			prepare: func(r *rows) { r.allowed().slot(2*time.Hour, reasons.RetryAfter) },
			answer:  "not crawled until ",
		},
		"IsDeferred": {
			prepare: func(r *rows) {
				r.exec("UPDATE domains SET next_crawl_after = $1, status_reason = 'retry-after'", tomorrow)
			},
			answer:  "not crawled until " + explain.Stamp(tomorrow) + ", in ",
			because: []string{"the domain is deferred until " + explain.Stamp(tomorrow), "domain a.example is pending (retry-after)"},
		},
		"HasAWindowOfItsRun": {
			settings: settings.Settings{Window: new(closedWindow)},
			prepare:  func(r *rows) { r.allowed() },
			answer:   "waiting until ",
			because:  []string{"run small-web crawls only " + closedWindow + ": not before "},
		},
		"HasAWindowOfItsOwn": {
			prepare: func(r *rows) {
				r.allowed().control(crawl.Control{Type: crawl.ControlWindow, Value: []byte(`"` + closedWindow + `"`)})
			},
			answer:  "waiting until ",
			because: []string{"requests only " + closedWindow + ": not before "},
		},
		"HasAVisitTimeThatIsOver": {
			prepare: func(r *rows) {
				r.robots(crawl.Robots{Verdict: crawl.RobotsRules, VisitTimes: shut, Lifetime: crawl.Millis(time.Hour)})
			},
			answer:  "waiting until ",
			because: []string{"robots.txt of https://a.example: rules, visits only " + shut + ": not before "},
		},
		"HasAWindowThatIsOpen": {
			prepare: func(r *rows) {
				open := time.Now().UTC().Weekday().String()[:3] + " 00:00-24:00 UTC"
				r.allowed().control(crawl.Control{Type: crawl.ControlWindow, Value: []byte(`"` + open + `"`)})
			},
			answer:  "due: ",
			because: []string{"requests only "},
		},
		"HasAWindowThatNeverCloses": {
			prepare: func(r *rows) {
				r.allowed().control(crawl.Control{Type: crawl.ControlWindow, Value: []byte(`"Mon-Sun 00:00-24:00"`)})
			},
			answer:  "due: ",
			because: []string{"requests only Mon-Sun 00:00-24:00: now: set by "},
		},
		"IsPaused": {
			prepare: func(r *rows) { r.control(crawl.Control{Type: crawl.ControlPause, Reason: "a quiet night"}) },
			answer:  "not crawled: the domain is paused by ann@example.org: a quiet night",
			because: []string{"paused: set by ann@example.org on "},
		},
		"IsPausedForAWhile": {
			prepare: func(r *rows) {
				r.control(crawl.Control{Type: crawl.ControlPause, Reason: "a quiet night", Until: tomorrow})
			},
			answer:  "not crawled until " + explain.Stamp(tomorrow) + ", in ",
			because: []string{"paused: set by ann@example.org on "},
		},
		"IsBlocked": {
			prepare: func(r *rows) { r.control(crawl.Control{Type: crawl.ControlBlock, Reason: "the owner asked"}) },
			answer:  "not crawled: the domain is blocked by ann@example.org: the owner asked",
			because: []string{"it is blocked in all runs: set by "},
		},
		"IsStopped": {
			prepare: func(r *rows) { r.control(crawl.Control{Type: crawl.ControlStop}) },
			answer:  "not crawled: the domain is stopped until it is seeded again by ann@example.org",
			because: []string{"stopped until it is seeded again: set by "},
		},
		"WasGivenUp": {
			prepare: func(r *rows) {
				r.exec("UPDATE domains SET status = 'unreachable', status_reason = '5 graylistings in a row', next_crawl_after = $1", tomorrow)
			},
			answer:  "not crawled until " + explain.Stamp(tomorrow) + ", in ",
			because: []string{"domain a.example is unreachable (5 graylistings in a row)"},
		},
		"HasSpentItsBudget": {
			settings: settings.Settings{MaxPagesPerDomain: new(int64(0))},
			prepare:  func(r *rows) { r.allowed() },
			answer:   "complete: no running run has a page of the domain left to request",
			because:  []string{"run small-web is running, budget spent, 0 of 0 pages of this domain requested: none yet"},
		},
		"HasARunThatIsStopped": {
			prepare: func(r *rows) {
				_, err := r.store.StopRun(r.t.Context(), r.run.ID, "stopped from the command line")
				require.NoError(r.t, err)
			},
			answer:  "complete: no running run has a page of the domain left to request",
			because: []string{"run small-web is stopped: none yet"},
		},
		"HasSomethingDueLater": {
			prepare: func(r *rows) { r.exec("UPDATE page_crawls SET scheduled_for = $1", tomorrow) },
			answer:  "waiting until " + explain.Stamp(tomorrow) + ", in ",
		},
		"HasAPageDueSoon": {
			prepare: func(r *rows) { r.exec("UPDATE page_crawls SET scheduled_for = now() + interval '50 seconds'") },
			answer:  "waiting until ",
		},
		"HasATrap": {
			prepare: func(r *rows) {
				r.exec("INSERT INTO url_patterns (domain, pattern, seen, duplicates) VALUES ($1, '/calendar/D', 60, 60)", aDomain)
			},
			answer:  "pending: robots.txt is fetched first",
			because: []string{"trap: 60 of 60 pages like /calendar/D had nothing new; the next run retries some of these pages; mosey set a.example --reset-traps retries them in this run"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(t, c.settings)
			c.prepare(r)
			r.requireWhy(aDomain, c.answer, c.because...)
		})
	}

	t.Run("NamesTheRuleOfAWait", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed()
		r.slot(time.Hour, reasons.CrawlDelay)
		output.ContainsOnSameLine(t, r.Print("why", aDomain), ", in ", ": the domain may not be requested earlier (crawl-delay)")
		output.ContainsOnSameLine(t, r.Print("why", aDomain), "- the domain may not be requested before ", ", in ", ": crawl-delay")
	})

	t.Run("IsNotKnown", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.requireWhy("b.example", "unknown: the page was never seeded, and no crawled page links to it")
	})

	t.Run("RefusesWhatIsNeitherADomainNorAPage", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Refuse([]string{"why", "a b"}, `domain "a b": `, "want a host name such as example.org, or a URL")
		h.Refuse([]string{"why", "ftp://a.example/"}, `"ftp://a.example/"`, "want a URL or a host with a path")
	})
}
