package decide_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// now is a Saturday.
var now = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

const runID = 7

// facts returns the facts of a domain with one page, which is due and may be requested. Tests
// change the facts that they are about.
func facts(change ...func(*decide.Facts)) decide.Facts {
	f := decide.Facts{
		Agent:  "mosey",
		Ruling: &decide.Ruling{Allowed: true, TDMAllowed: true},
		Facts: crawl.Facts{
			Now:    now,
			Domain: crawl.DomainFacts{Name: "example.org", Status: crawl.DomainActive},
			Runs: []crawl.RunFacts{{
				ID: runID, Name: "small-web", Settings: settings.Settings{}.WithDefaults(), Seed: true,
				Attempt: &crawl.AttemptFacts{
					ID: 1, URL: "https://example.org/a", Kind: kinds.Page, Origin: "https://example.org", Number: 1, Depth: 1,
					ScheduledFor: now.Add(-time.Minute),
					Robots: &crawl.RobotsFacts{
						Verdict: crawl.RobotsRules, Version: 3, ExpiresAt: now.Add(time.Hour), Agent: "mosey",
					},
				},
			}},
		},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func run(f *decide.Facts) *crawl.RunFacts             { return &f.Runs[0] }
func page(f *decide.Facts) *crawl.AttemptFacts        { return f.Runs[0].Attempt }
func decideRobots(f *decide.Facts) *crawl.RobotsFacts { return page(f).Robots }

func control(kind crawl.ControlType, value string, until time.Time) crawl.Control {
	c := crawl.Control{Type: kind, SetBy: "root@host", Reason: "asked to", Until: until}
	if value != "" {
		c.Value = json.RawMessage(value)
	}
	return c
}

func windows(t *testing.T, text string) []politeness.Windows {
	t.Helper()
	w, err := politeness.ParseWindows(text)
	require.NoError(t, err)
	return []politeness.Windows{w}
}

// expiring is the same windows, which expire at an instant.
func expiring(w politeness.Windows, at time.Time) politeness.Windows {
	w.ExpiresAt = at
	return w
}

func TestDecide(t *testing.T) {
	t.Parallel()
	later := now.Add(2 * time.Hour)
	for name, c := range map[string]struct {
		change func(*decide.Facts)
		do     decide.Action
		reason reasons.Reason
		until  time.Time
		why    string
	}{
		"PassesOverOnePortTooMany": {
			func(f *decide.Facts) { page(f).Robots, f.Domain.Origins = nil, decide.OriginsMax },
			decide.Skip, reasons.Ports,
			time.Time{},
			"16 other origins of the host were requested",
		},
		"RequestsASeedOnAnyPort": {
			func(f *decide.Facts) { page(f).Robots, page(f).Depth, f.Domain.Origins = nil, 0, decide.OriginsMax },
			decide.FetchPrerequisite, "",
			time.Time{},
			"robots.txt is fetched first",
		},
		"RequestsWhatIsDue": {func(*decide.Facts) {}, decide.Request, "", time.Time{}, "the page is due"},

		"ABlockedDomainFinishes": {func(f *decide.Facts) {
			f.Domain.Controls = crawl.Controls{control(crawl.ControlBlock, "", time.Time{})}
		}, decide.Finish, reasons.Blocked, time.Time{}, "blocked by root@host: asked to"},
		"AStoppedDomainFinishes": {func(f *decide.Facts) {
			f.Domain.Controls = crawl.Controls{control(crawl.ControlStop, "", time.Time{})}
		}, decide.Finish, reasons.Stopped, time.Time{}, "stopped until it is seeded again"},
		"APausedDomainFinishesUntilItsTime": {func(f *decide.Facts) {
			f.Domain.Controls = crawl.Controls{control(crawl.ControlPause, "", later)}
		}, decide.Finish, reasons.Paused, later, "paused by root@host"},
		"APauseWhoseTimeIsOverIsNone": {func(f *decide.Facts) {
			f.Domain.Controls = crawl.Controls{control(crawl.ControlPause, "", now)}
		}, decide.Request, "", time.Time{}, "the page is due"},
		"AnUnreachableDomainFinishes": {func(f *decide.Facts) {
			f.Domain.Status, f.Domain.Reason = crawl.DomainUnreachable, "the probe failed"
		}, decide.Finish, "", time.Time{}, "the domain is unreachable (the probe failed)"},
		"ADomainThatWasGivenUpFinishesUntilItsTime": {func(f *decide.Facts) {
			f.Domain.Status, f.Domain.Reason, f.Domain.DeferredUntil = crawl.DomainUnreachable, "the probe failed", later
		}, decide.Finish, reasons.Deferred, later, "the domain is unreachable (the probe failed)"},
		"ThenItIsAskedAgain": {func(f *decide.Facts) {
			f.Domain.Status, f.Domain.DeferredUntil = crawl.DomainBlocked, now
		}, decide.Request, "", time.Time{}, ""},
		"ADeferredDomainFinishes": {
			func(f *decide.Facts) { f.Domain.DeferredUntil = later },
			decide.Finish, reasons.Deferred, later, "deferred",
		},

		"NothingPendingFinishes": {
			func(f *decide.Facts) { f.Runs = nil },
			decide.Finish, reasons.Scheduled,
			time.Time{},
			"no page is due",
		},
		"ASpentBudgetFinishes": {func(f *decide.Facts) {
			run(f).Spent = crawl.SpentPages
		}, decide.Finish, reasons.Scheduled, time.Time{}, "no page is due"},
		"WhatIsDueSoonIsWaitedFor": {
			func(f *decide.Facts) { run(f).Attempt, run(f).Due = nil, now.Add(30*time.Second) },
			decide.Wait, reasons.Scheduled, now.Add(30 * time.Second), "no page is due yet",
		},
		"APageThatIsTriedAgainIsWaitedFor": {
			func(f *decide.Facts) { run(f).Attempt, run(f).Due = nil, now.Add(politeness.BackoffMax) },
			decide.Wait, reasons.Scheduled, now.Add(politeness.BackoffMax), "no page is due yet",
		},
		"AlsoWithALongDelay": {func(f *decide.Facts) {
			run(f).Attempt, run(f).Due, run(f).Settings.Delay = nil, later, new(settings.Duration(2*time.Hour))
		}, decide.Wait, reasons.Scheduled, later, "no page is due yet"},
		"WhatIsDueLateIsNot": {
			func(f *decide.Facts) { run(f).Attempt, run(f).Due = nil, later },
			decide.Finish, reasons.Scheduled, later, "no page is due",
		},
		"ARequestInFlightIsWaitedFor": {func(f *decide.Facts) {
			run(f).Attempt, run(f).LockedAt = nil, now
			f.Domain.SlotFree, f.Domain.SlotReason = later, reasons.InFlight
		}, decide.Wait, reasons.InFlight, later, "in flight"},

		"AFreshPageIsSkipped": {func(f *decide.Facts) {
			page(f).Visit = crawl.Visit{At: now.Add(-48 * time.Hour), FreshUntil: later}
			page(f).Extractor = crawl.ExtractorVersion
		}, decide.Skip, reasons.Fresh, later, "the last response is still fresh"},
		"AFreshPageThatAnOlderExtractorHasReadIsRequested": {func(f *decide.Facts) {
			page(f).Visit = crawl.Visit{At: now.Add(-48 * time.Hour), FreshUntil: later}
			page(f).Extractor = crawl.ExtractorVersion - 1
		}, decide.Request, "", time.Time{}, "the page is due"},
		"APageFetchedLatelyIsSkipped": {
			func(f *decide.Facts) { page(f).Visit = crawl.Visit{At: now.Add(-time.Hour)} },
			decide.Skip, reasons.MinRefetch, now.Add(23 * time.Hour), "less than 24h0m0s ago",
		},
		"APageThatIsGoneIsSkipped": {
			func(f *decide.Facts) {
				page(f).FinalResponse = &crawl.FinalResponse{At: now.Add(-time.Hour), Status: 404}
			},
			decide.Skip, reasons.MinRefetch, now.Add(23 * time.Hour), "the server responded with 404 less than 24h0m0s ago",
		},
		"NotForLong": {
			func(f *decide.Facts) {
				page(f).FinalResponse = &crawl.FinalResponse{At: now.Add(-24 * time.Hour), Status: 404}
			},
			decide.Request, "",
			time.Time{},
			"",
		},
		"NotWithoutAMinRefetch": {func(f *decide.Facts) {
			page(f).FinalResponse, run(f).Settings.MinRefetch = &crawl.FinalResponse{At: now, Status: 403}, new(settings.Duration(0))
		}, decide.Request, "", time.Time{}, ""},
		"NotOneThatAskedToComeAgain": {
			func(f *decide.Facts) { page(f).FinalResponse = &crawl.FinalResponse{At: now, Status: 429} },
			decide.Request, "",
			time.Time{},
			"",
		},

		"ATrapIsSkipped": {func(f *decide.Facts) {
			page(f).Patterns = []crawl.PatternFacts{{Pattern: "/cal/N", Seen: 50, Duplicates: 50}}
		}, decide.Skip, reasons.Trap, time.Time{}, "50 of 50 pages like /cal/N had nothing new"},
		"APatternWithBudgetLeftIsNoTrap": {func(f *decide.Facts) {
			page(f).Patterns = []crawl.PatternFacts{{Pattern: "/cal/N", Seen: 50, Duplicates: 49}}
		}, decide.Request, "", time.Time{}, ""},
		"ASeedIsNoTrap": {func(f *decide.Facts) {
			page(f).Depth, page(f).Patterns = 0, []crawl.PatternFacts{{Pattern: "/cal/N", Seen: 50, Duplicates: 50}}
		}, decide.Request, "", time.Time{}, ""},

		"RobotsFirst": {
			func(f *decide.Facts) { page(f).Robots = nil },
			decide.FetchPrerequisite, "",
			time.Time{},
			"robots.txt is fetched first",
		},
		"RobotsAgainWhenItHasExpired": {
			func(f *decide.Facts) { decideRobots(f).ExpiresAt = now },
			decide.FetchPrerequisite, "",
			time.Time{},
			"",
		},
		"RobotsAgainForAnotherName": {
			func(f *decide.Facts) { decideRobots(f).Agent = "other" },
			decide.FetchPrerequisite, "",
			time.Time{},
			"",
		},
		"RobotsAgainWithoutItsRules": {
			func(f *decide.Facts) { f.Ruling = nil },
			decide.FetchPrerequisite, "",
			time.Time{},
			"",
		},
		"RobotsAreNotWaitedForWhereTheDomainIsLeftAloneForLong": {func(f *decide.Facts) {
			page(f).Robots, f.Domain.SlotFree, f.Domain.SlotReason = nil, later, reasons.RetryAfter
		}, decide.DeferDomain, reasons.RetryAfter, later, "may not be requested earlier"},
		"ThatIsNoMatterOfALongDelay": {func(f *decide.Facts) {
			page(f).Robots, f.Domain.SlotFree, f.Domain.SlotReason = nil, later, reasons.CrawlDelay
		}, decide.FetchPrerequisite, "", time.Time{}, "robots.txt is fetched first"},
		"AnUnreachableRobotsPutsTheOriginOff": {func(f *decide.Facts) {
			decideRobots(f).Verdict, decideRobots(f).Reason = crawl.RobotsUnreachable, "answered 503"
		}, decide.DeferOrigin, reasons.Robots, now.Add(time.Hour), "answered 503"},
		"ADisallowedPageIsRefused": {
			func(f *decide.Facts) { f.Ruling = &decide.Ruling{Line: 2, Rule: "Disallow: /a"} },
			decide.Refuse, reasons.Robots,
			time.Time{},
			"robots.txt line 2: Disallow: /a",
		},
		"AMalformedRobotsRefusesAll": {func(f *decide.Facts) {
			decideRobots(f).Verdict, decideRobots(f).Reason = crawl.RobotsDisallowAll, "is HTML"
		}, decide.Refuse, reasons.Robots, time.Time{}, "robots.txt: is HTML"},
		"AMalformedRobotsMayBeReadAgain": {func(f *decide.Facts) {
			decideRobots(f).Verdict, f.AllowMalformed = crawl.RobotsDisallowAll, true
		}, decide.FetchPrerequisite, "", time.Time{}, ""},
		"AForbiddenUsageIsRefused": {func(f *decide.Facts) {
			run(f).Settings.Purpose, decideRobots(f).TDMKnown = new(settings.PurposeAITrain), true
			f.Ruling.Usage = usage.Usage{TDMReserved: usage.SourceFileTDM}
		}, decide.Refuse, reasons.Robots, time.Time{}, "tdmrep.json"},

		"AVisitTimeThatIsOverIsAWindow": {
			func(f *decide.Facts) {
				f.Windows = []politeness.Windows{expiring(windows(t, "Mon-Sun 13:00-14:00")[0], later)}
			},
			decide.Finish, reasons.Window, now.Add(time.Hour), "robots.txt allows visits only at other times (Visit-time)",
		},
		"AVisitTimeHoldsForRobotsToo": {func(f *decide.Facts) {
			page(f).Robots, f.Windows = nil, []politeness.Windows{expiring(windows(t, "Mon-Sun 13:00-14:00")[0], later)}
		}, decide.Finish, reasons.Window, now.Add(time.Hour), ""},
		"AVisitTimeEndsWhenItIsTooOld": {
			func(f *decide.Facts) {
				f.Windows = []politeness.Windows{expiring(windows(t, "Mon-Sun 20:00-21:00")[0], later)}
			},
			decide.Finish, reasons.Window, later, "",
		},
		"ThenItIsNone": {
			func(f *decide.Facts) {
				f.Windows = []politeness.Windows{expiring(windows(t, "Mon-Sun 20:00-21:00")[0], now)}
			},
			decide.Request, "",
			time.Time{},
			"the page is due",
		},
		"AnotherWindowThatIsClosedSaysSo": {
			func(f *decide.Facts) {
				f.Windows = []politeness.Windows{expiring(windows(t, "Mon-Sun 11:00-14:00")[0], later), windows(t, "Mon-Sun 13:00-15:00")[0]}
			},
			decide.Finish, reasons.Window, now.Add(time.Hour), "the request window is closed",
		},
		"AWindowThatIsClosedForLongEndsTheWorkflow": {
			func(f *decide.Facts) { f.Windows = windows(t, "Sun 00:00-24:00 UTC") },
			decide.Finish, reasons.Window, now.Add(12 * time.Hour), "the request window is closed",
		},
		"AWindowThatOpensSoonIsWaitedFor": {
			func(f *decide.Facts) { f.Windows = windows(t, "Sat 12:04-13:00 UTC") },
			decide.Wait, reasons.Window, now.Add(4 * time.Minute), "the request window is closed",
		},
		"AWindowHoldsForRobotsToo": {func(f *decide.Facts) {
			page(f).Robots, f.Windows = nil, windows(t, "Sun 00:00-24:00 UTC")
		}, decide.Finish, reasons.Window, now.Add(12 * time.Hour), "the request window is closed"},
		"AWindowThatClosesBeforeTheSlotIsFreeIsClosed": {func(f *decide.Facts) {
			f.Domain.SlotFree, f.Windows = later, windows(t, "Sat 00:00-13:00 UTC")
		}, decide.Finish, reasons.Window, now.Add(7*24*time.Hour - 12*time.Hour), "the request window is closed"},
		"ADisallowedPageNeedsNoWindow": {func(f *decide.Facts) {
			f.Ruling, f.Windows = &decide.Ruling{Line: 2, Rule: "Disallow: /a"}, windows(t, "Sun 00:00-24:00 UTC")
		}, decide.Refuse, reasons.Robots, time.Time{}, ""},

		"ATakenSlotIsWaitedFor": {func(f *decide.Facts) {
			f.Domain.SlotFree, f.Domain.SlotReason = now.Add(9*time.Second), reasons.Delay
		}, decide.Wait, reasons.Delay, now.Add(9 * time.Second), "may not be requested earlier"},
		"ALongRetryAfterDefersTheDomain": {func(f *decide.Facts) {
			f.Domain.SlotFree, f.Domain.SlotReason = later, reasons.RetryAfter
		}, decide.DeferDomain, reasons.RetryAfter, later, ""},
		"ALongCrawlDelayDoesNot": {func(f *decide.Facts) {
			f.Domain.SlotFree, f.Domain.SlotReason = later, reasons.CrawlDelay
		}, decide.Wait, reasons.CrawlDelay, later, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decide.Decide(facts(c.change), now)
			require.Equal(t, c.do, d.Action, "%+v", d)
			require.Equal(t, c.reason, d.Reason)
			require.Equal(t, c.until, d.Until)
			require.Contains(t, d.Explanation, c.why)
		})
	}

	t.Run("ProbesWithWhatTellsBest", func(t *testing.T) {
		t.Parallel()
		rested := func(f *decide.Facts) {
			f.Domain.Health.Probing = true
			page(f).LastReachableURL, f.Ruling.LastReachableAllowed, f.Ruling.FrontPageAllowed = "https://example.org/ok", true, true
		}
		probes := func(url string, change ...func(*decide.Facts)) {
			t.Helper()
			d := decide.Decide(facts(append([]func(*decide.Facts){rested}, change...)...), now)
			require.Equal(t, decide.Probe, d.Action)
			require.Equal(t, url, d.URL)
			if url == "https://example.org/" {
				require.Empty(t, d.Target, "robots.txt was asked for no other spelling")
			}
		}
		probes("https://example.org/ok")
		probes("https://example.org/", func(f *decide.Facts) {
			page(f).LastReachableURL, page(f).LastReachableTarget = "https://example.org/", "/;jsessionid=A"
			f.Ruling.LastReachableAllowed = false
		})
		probes("https://example.org/", func(f *decide.Facts) { page(f).LastReachableURL = "" })
		probes("https://example.org/", func(f *decide.Facts) { f.Ruling.LastReachableAllowed = false })
		d := decide.Decide(facts(rested, func(f *decide.Facts) { page(f).LastReachableURL, f.Ruling.FrontPageAllowed = "", false }), now)
		require.Equal(t, decide.Request, d.Action, "where nothing else may be asked, the page that is due")
		d = decide.Decide(facts(rested, func(f *decide.Facts) { page(f).LastReachableURL = page(f).URL }), now)
		require.Equal(t, decide.Request, d.Action, "it is that very page")
		image := func(f *decide.Facts) {
			page(f).LastReachableURL, page(f).Kind, page(f).URL = "", kinds.Image, "https://example.org/a.png"
			run(f).Settings.Images = new(settings.ImagesMetadata)
		}
		d = decide.Decide(facts(rested, image), now)
		require.Equal(t, decide.Request, d.Action, "a host of images alone has no front page")
		probes("https://example.org/", image, func(f *decide.Facts) { page(f).OriginHasPages = true })
		d = decide.Decide(facts(rested, func(f *decide.Facts) { page(f).Robots = nil }), now)
		require.Equal(t, decide.FetchPrerequisite, d.Action, "robots.txt comes before any page")
	})

	t.Run("AsksForTDMWhereItMatters", func(t *testing.T) {
		t.Parallel()
		train := func(f *decide.Facts) { run(f).Settings.Purpose = new(settings.PurposeAITrain) }
		d := decide.Decide(facts(train), now)
		require.Equal(t, decide.FetchPrerequisite, d.Action)
		require.Equal(t, kinds.TDM, d.Prerequisite)
		d = decide.Decide(facts(train, func(f *decide.Facts) { f.Ruling.TDMAllowed, f.Ruling.TDMLine = false, 4 }), now)
		require.Equal(t, decide.Refuse, d.Action)
		require.Contains(t, d.Explanation, "robots.txt line 4 disallows reading it")
		require.Equal(t, decide.Request, decide.Decide(facts(), now).Action, "where it does not, it is not asked for")
	})
}

// TestCrawl is about those who ask about one page, due or not.
func TestCrawl(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*decide.Facts)
		do     decide.Action
		why    string
	}{
		"WhatIsClosedIsDone":        {func(f *decide.Facts) { page(f).Outcome = crawl.OutcomeSuccess }, decide.Done, "the page is done"},
		"WhatNoRunWantsIsDone":      {func(f *decide.Facts) { run(f).Attempt = nil }, decide.Done, "no run has the page"},
		"WhatIsInFlightIsWaited":    {func(f *decide.Facts) { page(f).LockedAt = now }, decide.Wait, "being requested"},
		"AStoppedRunFinishes":       {func(f *decide.Facts) { run(f).Status = crawl.RunStopped }, decide.Finish, "run small-web is stopped"},
		"ASpentBudgetFinishes":      {func(f *decide.Facts) { run(f).Spent = crawl.SpentPages }, decide.Finish, "limit"},
		"WhatIsNotDueIsWaitedFor":   {func(f *decide.Facts) { page(f).ScheduledFor = now.Add(time.Hour) }, decide.Wait, "the page is not due yet"},
		"AnUnreachableDomainSaysSo": {func(f *decide.Facts) { f.Domain.Status = crawl.DomainUnreachable }, decide.Finish, "the domain is unreachable"},
		"WhatIsDueIsRequested":      {func(*decide.Facts) {}, decide.Request, "the page is due"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decide.Attempt(facts(c.change), now)
			require.Equal(t, c.do, d.Action)
			require.Contains(t, d.Explanation, c.why)
		})
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	f := facts(func(f *decide.Facts) {
		second := *run(f)
		other := *page(f)
		second.ID, second.Attempt = 8, &other
		f.Runs = append(f.Runs, second)
	})
	first, second := f.Runs[0].Attempt, f.Runs[1].Attempt
	pick := func() int64 { return decide.Pick(f.Facts, now).ID }

	second.ID, second.Priority = 2, 5
	second.ScheduledFor = first.ScheduledFor.Add(-time.Second)
	require.EqualValues(t, runID, pick(), "the run that has waited longest")
	first.Priority = -500
	require.EqualValues(t, 8, pick(), "a new page of another run before one that is read again")
	second.Priority = -501
	require.EqualValues(t, runID, pick(), "of pages that are read again, too, that of the run that has waited longest")
	second.Priority = 100
	require.EqualValues(t, 8, pick(), "a page that a person has asked for")
	first.Priority, second.Priority = 0, 0
	f.Runs[0].Spent = crawl.SpentPages
	require.EqualValues(t, 8, pick(), "not a run without a budget")
	f.Runs[1].Spent = crawl.SpentAll
	require.Nil(t, decide.Pick(f.Facts, now), "nor one that has none of any kind")
}

func TestPaceIsTheStrictest(t *testing.T) {
	t.Parallel()
	f := facts(func(f *decide.Facts) {
		other := *run(f)
		other.Settings.Delay, other.Settings.IPDelay = new(settings.Duration(time.Minute)), new(settings.Duration(0))
		f.Runs = append(f.Runs, other)
		f.Domain.CrawlDelay = crawl.Millis(20 * time.Second)
		f.Domain.Controls = crawl.Controls{control(crawl.ControlDelay, "30000", time.Time{})}
	})
	p := decide.PaceOf(f.Facts)
	require.Equal(t, crawl.Waits{Configured: time.Minute, Domain: 30 * time.Second, CrawlDelay: 20 * time.Second}, p.Waits)
	require.Equal(t, time.Second, p.IPDelay)
	require.Equal(t, p, decide.PaceOf(f.Facts, crawl.Facts{}))
	require.Equal(t, p, decide.PaceOf(crawl.Facts{}, f.Facts))
}

func TestDefersDomain(t *testing.T) {
	t.Parallel()
	hour := crawl.RunFacts{Settings: settings.Settings{DeferAfter: new(settings.Duration(time.Hour))}}
	for reason, away := range map[reasons.Reason]bool{
		reasons.RetryAfter: true, reasons.Robots: true, reasons.Scheduled: true, reasons.Backoff: true,
		reasons.Delay: false, reasons.Domain: false, reasons.CrawlDelay: false, reasons.IP: false,
		reasons.InFlight: false, reasons.Stale: false,
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, away, decide.DefersDomain(hour, time.Hour+1, reason))
			require.False(t, decide.DefersDomain(hour, time.Hour, reason), "what is not longer is slept through")
		})
	}
}
