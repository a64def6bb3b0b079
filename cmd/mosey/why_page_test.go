package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/test/form"
)

// rules is a robots.txt of three lines.
const rules = "User-agent: *\nDisallow: /\nAllow: /open\n"

func TestWhyPage(t *testing.T) {
	t.Parallel()
	tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	training := settings.Settings{Purpose: new(settings.PurposeAITrain)}

	for name, c := range map[string]struct {
		settings settings.Settings
		prepare  func(r *rows)
		answer   string
		because  []string
	}{
		"IsPending": {
			prepare: func(r *rows) { r.allowed() },
			answer:  "pending: the run will request the page",
			because: []string{
				"robots.txt allows it: no line matches", "run small-web: due since ", "links to it: 0",
				"domain a.example is pending; 1 page pending",
			},
		},
		"IsAllowedByALine": {
			prepare: func(r *rows) { r.robots(crawl.Robots{Verdict: crawl.RobotsRules, Rules: "User-agent: *\nAllow: /\n"}) },
			answer:  "pending: the run will request the page",
			because: []string{"robots.txt allows it by line "},
		},
		"NeedsRobotsFirst": {
			prepare: func(*rows) {},
			answer:  "pending: robots.txt is fetched first",
			because: []string{"https://a.example/robots.txt has not been fetched yet; Mosey requests it before any page"},
		},
		"NeedsTDMFirst": {
			settings: training,
			prepare:  func(r *rows) { r.allowed() },
			answer:   "pending: /.well-known/tdmrep.json is fetched first",
		},
		"IsForbiddenAsTDMIsOutOfReach": {
			settings: training,
			prepare: func(r *rows) {
				r.robots(crawl.Robots{Verdict: crawl.RobotsRules, Rules: "User-agent: *\nDisallow: /.well-known/\n"})
			},
			answer: "pending, but its publisher forbids it: /.well-known/tdmrep.json may forbid the page, but robots.txt line ",
		},
		"IsForbiddenByTDM": {
			settings: training,
			prepare: func(r *rows) {
				r.robots(crawl.Robots{
					Verdict: crawl.RobotsAllowAll,
					TDM:     json.RawMessage(`[{"location":"/","reserved":true}]`),
				})
			},
			answer: "pending, but its publisher forbids it: ai-train is forbidden by a TDM reservation (/.well-known/tdmrep.json)",
		},
		"IsForbiddenByRobots": {
			prepare: func(r *rows) { r.robots(crawl.Robots{Verdict: crawl.RobotsRules, Rules: rules}) },
			answer:  "pending, but its publisher forbids it: robots.txt line ",
			because: []string{"robots.txt forbids it by line ", "robots.txt of https://a.example: rules; valid until "},
		},
		"IsForbiddenByARobotsThatNobodyUnderstands": {
			prepare: func(r *rows) { r.robots(crawl.Robots{Verdict: crawl.RobotsDisallowAll, Reason: "it is a web page"}) },
			answer:  "pending, but its publisher forbids it: robots.txt: it is a web page",
			because: []string{"robots.txt of https://a.example: disallow_all (it is a web page); valid until "},
		},
		"WaitsForARobotsThatCannotBeFetched": {
			prepare: func(r *rows) {
				r.robots(crawl.Robots{Verdict: crawl.RobotsUnreachable, Reason: "answered 503", Failed: true})
			},
			answer:  "pending, but deferred until ",
			because: []string{"robots.txt of https://a.example: unreachable (answered 503); it is requested again from "},
		},
		"IsFresh": {
			prepare: func(r *rows) {
				r.allowed().exec("UPDATE pages SET fetched_at = now() - interval '1 hour', fresh_until = now() + interval '1 day', extractor = $1", crawl.ExtractorVersion)
			},
			settings: settings.Settings{MinRefetch: new(settings.Duration(0))},
			answer:   "pending, but it will be skipped: the last response is still fresh",
			because:  []string{"the response of "},
		},
		"WasReadByAnOlderMosey": {
			prepare: func(r *rows) {
				r.allowed().exec("UPDATE pages SET fetched_at = now() - interval '2 days', fresh_until = now() + interval '1 day'")
			},
			answer:  "pending: the run will request the page",
			because: []string{"an older version of Mosey read the page on "},
		},
		"WasFetchedLately": {
			prepare: func(r *rows) {
				r.allowed().exec("UPDATE pages SET fetched_at = now() - interval '1 hour', extractor = $1", crawl.ExtractorVersion)
			},
			answer:  "pending, but it will be skipped: it was fetched less than 24h0m0s ago",
			because: []string{"last fetched on "},
		},
		"WaitsForItsDomain": {
			prepare: func(r *rows) { r.allowed().slot(time.Hour, reasons.Delay) },
			answer:  "waiting until ",
			because: []string{"the domain may not be requested before "},
		},
		"HasADomainThatIsToBeLeftAloneForLong": {
			prepare: func(r *rows) { r.allowed().slot(2*time.Hour, reasons.RetryAfter) },
			answer:  "not crawled until ",
		},
		"HasAWindow": {
			settings: settings.Settings{Window: new(closedWindow)},
			prepare:  func(r *rows) { r.allowed() },
			answer:   "waiting until ",
			because:  []string{"run small-web crawls only "},
		},
		"HasADomainThatWasGivenUp": {
			prepare: func(r *rows) {
				r.allowed().exec("UPDATE domains SET status = 'unreachable', status_reason = '5 graylistings in a row', next_crawl_after = $1", tomorrow)
			},
			answer:  "not crawled until " + explain.Stamp(tomorrow) + ", in ",
			because: []string{"domain a.example is unreachable (5 graylistings in a row)"},
		},
		"IsInFlight": {
			prepare: func(r *rows) { r.allowed().worker().begin() },
			answer:  "in flight: the page is being requested",
		},
		"IsDueLater": {
			prepare: func(r *rows) { r.exec("UPDATE page_crawls SET scheduled_for = $1", tomorrow) },
			answer:  "waiting until " + explain.Stamp(tomorrow) + ", in ",
			because: []string{"run small-web: due from " + explain.Stamp(tomorrow) + ", 0 links from a seed"},
		},
		"HasADomainThatIsPaused": {
			prepare: func(r *rows) {
				r.control(crawl.Control{Type: crawl.ControlPause, Reason: "a quiet night", Until: tomorrow})
			},
			answer: "not crawled until " + explain.Stamp(tomorrow) + ", in ",
		},
		"HasADomainThatIsBlocked": {
			prepare: func(r *rows) { r.control(crawl.Control{Type: crawl.ControlBlock, Reason: "the owner asked"}) },
			answer:  "not crawled: the domain is blocked by ann@example.org: the owner asked",
		},
		"HasADomainThatIsDeferred": {
			prepare: func(r *rows) { r.exec("UPDATE domains SET next_crawl_after = $1", tomorrow) },
			answer:  "not crawled until " + explain.Stamp(tomorrow) + ", in ",
		},
		"HasARunThatIsStopped": {
			prepare: func(r *rows) {
				_, err := r.store.StopRun(r.t.Context(), r.run.ID, "")
				require.NoError(r.t, err)
			},
			answer: "not crawled: run small-web is stopped",
		},
		"HasARunWhoseBudgetIsSpent": {
			settings: settings.Settings{MaxPages: new(int64(0))},
			prepare:  func(r *rows) { r.allowed() },
			answer:   "not crawled: run small-web has reached its limit",
		},
		"WasFetched": {
			prepare: func(r *rows) {
				r.allowed().fetched(crawl.Attempt{Page: &crawl.PageUpdate{
					Signals: &crawl.Signals{}, Usage: json.RawMessage(`{"noindex":"meta robots","nofollow":"X-Robots-Tag","noai":"meta robots"}`),
					Visit: &crawl.VisitUpdate{},
				}, Redirect: true, Links: []crawl.Link{{URL: aOrigin + "/next", Domain: aDomain, Origin: aOrigin}}})
			},
			answer: "done in run small-web: ok 200 on ",
			because: []string{
				"run small-web: ok 200 on ", "ai-train is forbidden by noai (meta robots)",
				"an index is forbidden by noindex (meta robots)", "following links is forbidden by nofollow (X-Robots-Tag)",
				"it redirects to https://a.example/next", "run small-web is running: 1 ok",
			},
		},
		"HasFailed": {
			prepare: func(r *rows) {
				r.allowed().fetched(crawl.Attempt{Outcome: crawl.OutcomeFailed, Error: "connection reset"})
			},
			answer:  "done in run small-web: failed on ",
			because: []string{"run small-web: failed on "},
		},
		"SaysWhatCannotBeRead": {
			prepare: func(r *rows) { r.exec(`UPDATE pages SET usage = '{"noindex": 1}'`) },
			answer:  "pending: robots.txt is fetched first",
			because: []string{"the publisher's signals cannot be read: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(t, c.settings)
			c.prepare(r)
			r.requireWhy(aPage, c.answer, c.because...)
		})
	}
}

func TestWhyPageFoundByLinks(t *testing.T) {
	form.Long(t)
	t.Parallel()

	// found is a world where a page was found on the seed.
	found := func(t *testing.T, set settings.Settings, link crawl.Link, follow *crawl.Follow) *rows {
		t.Helper()
		link.Domain, link.Origin = aDomain, aOrigin
		return newRows(t, set).allowed().fetched(crawl.Attempt{Links: []crawl.Link{link}, Follow: follow})
	}

	t.Run("IsOutOfScope", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed().fetched(crawl.Attempt{
			Links:  []crawl.Link{{URL: "https://b.example/more", Domain: "b.example", Origin: "https://b.example"}},
			Follow: &crawl.Follow{Depth: 1, SeedsOnly: true},
		})
		const reason = "the domain is not a seed of run small-web, which crawls no other domains (--scope)"
		r.requireWhy("https://b.example/more", "known from links, but no run requests it: "+reason)
		r.requireWhy("b.example", "known only from links, to 1 page of the domain; no run requests it",
			"of https://b.example/more: known from links, but no run requests it: "+reason, reason)
	})

	t.Run("IsTooDeep", func(t *testing.T) {
		t.Parallel()
		r := found(t, settings.Settings{MaxDepth: new(0)}, crawl.Link{URL: aOrigin + "/more"}, nil)
		r.requireWhy(aOrigin+"/more", "known from links, but no run requests it: the page is more than 0 links from a seed of run small-web (--max-depth)",
			"links to it: 1")
	})

	t.Run("IsNotToBeFollowed", func(t *testing.T) {
		t.Parallel()
		r := found(t, settings.Settings{}, crawl.Link{URL: aOrigin + "/more", NoFollow: true}, &crawl.Follow{Depth: 1, SeedsOnly: true})
		r.requireWhy(aOrigin+"/more", "known from links, but no run requests it: every link to it says nofollow",
			"links to it: 1", "1 of 1 link to it say nofollow")
	})

	t.Run("IsLeftAloneForAnotherReason", func(t *testing.T) {
		t.Parallel()
		r := found(t, settings.Settings{}, crawl.Link{URL: aOrigin + "/more"}, nil)
		r.requireWhy(aOrigin+"/more", "known from links, but no run requests it: the link to it was not followed when it was read; seed the page to crawl it")
	})

	t.Run("IsATrapByItself", func(t *testing.T) {
		t.Parallel()
		r := found(t, settings.Settings{}, crawl.Link{
			URL: aOrigin + "/9999/1/1", Trap: crawl.TrapDate, TrapEvidence: "the year 9999",
		}, &crawl.Follow{Depth: 1})
		r.requireWhy(aOrigin+"/9999/1/1", "not crawled: the page is probably part of a crawler trap",
			"classified as a trap (far date): the year 9999; seed the page to crawl it anyway")
	})

	t.Run("IsATrapByItsPattern", func(t *testing.T) {
		t.Parallel()
		r := found(t, settings.Settings{}, crawl.Link{URL: aOrigin + "/p/1", Patterns: []string{"/p/N"}}, &crawl.Follow{Depth: 1})
		r.exec("INSERT INTO url_patterns (domain, pattern, seen, duplicates) VALUES ($1, '/p/N', 60, 60)", aDomain)
		r.slot(0, "")
		r.requireWhy(aOrigin+"/p/1", "pending, but it will be skipped: pattern: 60 of 60 pages like /p/N had nothing new",
			"run small-web: due since ")
	})

	t.Run("WasSkipped", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed()
		facts, err := r.store.Facts(t.Context(), aDomain)
		require.NoError(t, err)
		_, err = r.store.Record(t.Context(), crawl.Attempt{
			ID: facts.Runs[0].Attempt.ID, Domain: aDomain, Outcome: crawl.OutcomeSkipped, Skipped: reasons.Fresh, EndedAt: time.Now(),
		})
		require.NoError(t, err)
		r.requireWhy(aPage, "done in run small-web: skipped (fresh) on ", "run small-web is running: 1 skipped")
	})

	t.Run("IsAnsweredForTheRunThatHasItOpen", func(t *testing.T) {
		t.Parallel()
		r := found(t, settings.Settings{MinRefetch: new(settings.Duration(0))}, crawl.Link{URL: aOrigin + "/more"}, nil)
		again, err := r.store.EnsureRun(t.Context(), "again", "test", settings.Settings{MinRefetch: new(settings.Duration(0))})
		require.NoError(t, err)
		r.seed(again, aPage)
		r.slot(0, "")
		r.requireWhy(aPage, "pending: the run will request the page", "run again: due since ", "run small-web: ok 200 on ")
	})

	t.Run("SpeaksOfNoWindowWhereThereIsNone", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{}).allowed()
		for _, reason := range []reasons.Reason{reasons.Delay, reasons.RetryAfter, reasons.InFlight} {
			r.slot(2*time.Hour, reason)
			for _, about := range []string{aPage, aDomain} {
				require.NotContains(t, r.Print("why", about), "window", reason)
			}
		}
	})

	t.Run("IsNotKnown", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		r.requireWhy(aOrigin+"/nowhere", "unknown: the page was never seeded, and no crawled page links to it")
		r.requireWhy("https://b.example/", "unknown: the page was never seeded, and no crawled page links to it")
	})
}
