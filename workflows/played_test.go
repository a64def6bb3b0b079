package workflows_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/workflows"
)

// shortly is a wait that is slept through, and long one that something ends.
const (
	shortly = 300 * time.Millisecond
	long    = time.Hour
)

// played are the workflows whose histories are recorded. Each shows something that the
// others do not.
func played() []*play {
	return append(append(playedDomains(), playedUpdates()...), append(playedCrawls(), playedOnce()...)...)
}

// fetches are the answers of FetchPages alone.
func fetches(results ...any) map[string][]any { return map[string][]any{"FetchPages": results} }

func playedDomains() []*play {
	robots := activities.FetchRobotsResult{Wait: settings.Duration(shortly), Reason: reasons.Delay, URL: "https://www." + host + "/robots.txt", Hops: 1}
	return []*play{
		{id: "domain/quick.test", drive: (*player).domain, answers: fetches(fetchNext(shortly, reasons.Delay))},
		{id: "domain/long.test", drive: (*player).domain, answers: fetches(
			fetchNext(0, ""), fetchNext(0, ""), fetchNext(0, ""), fetchNext(0, ""), fetchEnds(reasons.Yields),
		)},
		{id: "domain/deferred.test", drive: (*player).domain, answers: fetches(fetchDefers(long, reasons.RetryAfter))},
		{id: "domain/retried.test", drive: (*player).domain, answers: fetches(
			siteTrouble(), fetchNext(shortly, reasons.Backoff), fetchNext(shortly, reasons.Delay),
		)},
		{id: "domain/graylisted.test", drive: (*player).domain, answers: fetches(
			fetchNext(shortly, reasons.Graylist), fetchNext(shortly, reasons.Graylist),
		)},
		{id: "domain/two-runs.test", drive: (*player).domain, answers: fetches(
			fetchNext(shortly, reasons.Delay, "recorded", "second"), fetchNext(shortly, reasons.Delay, "second"),
		)},
		{id: "domain/robots-www.test", drive: (*player).domain, answers: map[string][]any{
			"FetchPages": {fetchAsks("")}, "FetchRobots": {robots},
		}},
		{id: "domain/robots-500.test", drive: (*player).domain, answers: map[string][]any{
			"FetchPages": {fetchAsks(""), fetchNext(shortly, reasons.Robots)}, "FetchRobots": {siteTrouble()},
		}},
		{id: "domain/robots-deferred.test", drive: (*player).domain, answers: map[string][]any{
			"FetchPages":  {fetchAsks("")},
			"FetchRobots": {activities.FetchRobotsResult{Defer: true, Wait: settings.Duration(long), Reason: reasons.RetryAfter}},
		}},
		{id: "domain/tdm.test", drive: (*player).domain, answers: map[string][]any{
			"FetchPages":  {fetchAsks(kinds.TDM), fetchNext(shortly, reasons.Delay)},
			"FetchRobots": {activities.FetchRobotsResult{Origin: "https://www." + host, Kind: kinds.Robots}},
		}},
		{id: "domain/unfinished.test", drive: (*player).domain, answers: map[string][]any{
			"FinishDomain": {activities.FinishDomainResult{}, activities.FinishDomainResult{}},
		}},
	}
}

func playedUpdates() []*play {
	return []*play{
		{id: "domain/woken.test", answers: fetches(fetchNext(long, reasons.Scheduled)), drive: func(p *player) {
			p.domain()
			p.wakes()
		}},
		{id: "domain/cancelled.test", answers: fetches(fetchNext(long, reasons.Delay)), drive: func(p *player) {
			p.domain()
			p.cancels()
		}},
		{id: "domain/paused.test", answers: fetches(fetchNext(long, reasons.Delay), fetchEnds(reasons.Paused)), drive: func(p *player) {
			p.domain()
			p.updates(workflows.UpdatePause, workflows.Pause{Reason: "a quiet night"})
		}},
		{id: "domain/stopped.test", answers: fetches(fetchNext(long, reasons.Delay), fetchEnds(reasons.Stopped)), drive: func(p *player) {
			p.domain()
			p.updates(workflows.UpdateStop, workflows.Stop{Reason: "the owner asked us to leave"})
		}},
		{id: "domain/windowed.test", answers: map[string][]any{
			"FetchPages": {fetchNext(long, reasons.Delay), fetchNext(long, reasons.Window), fetchNext(shortly, reasons.Delay)},
			"SetControl": {badInput("there is no time zone Europe/Atlantis")},
		}, drive: func(p *player) {
			p.domain()
			require.ErrorContains(p.t, p.update(workflows.UpdateSetWindow, workflows.SetWindow{Window: new("Mon-Fri 22:00-06:00 Europe/Atlantis")}), "Atlantis")
			p.updates(workflows.UpdateSetWindow, workflows.SetWindow{Window: new("Mon-Fri 22:00-06:00 Europe/Berlin")})
			p.updates(workflows.UpdateSetWindow, workflows.SetWindow{})
		}},
		{id: "domain/updates.test", answers: fetches(
			fetchNext(long, reasons.Delay), fetchNext(long, reasons.Delay), fetchNext(long, reasons.Delay), fetchNext(shortly, reasons.Delay),
		), drive: func(p *player) {
			p.domain()
			p.updates(workflows.UpdateAddURLs, workflows.AddURLs{Run: "recorded", URLs: []string{"https://updates.test/new"}})
			p.updates(workflows.UpdateSetDelay, workflows.SetDelay{Delay: new(settings.Duration(time.Second))})
			p.updates(workflows.UpdateSetBudget, workflows.SetBudget{MaxPages: new(int64(200))})
			p.updates(workflows.UpdateResume)
		}},
	}
}

func playedCrawls() []*play {
	stopped := activities.DispatchResult{Ended: true, Stopped: true, Reason: "enough"}
	return []*play{
		{id: "crawl/long", answers: map[string][]any{"Dispatch": {dispatched(3, long)}}, drive: func(p *player) {
			p.crawl()
			p.wakes()
		}},
		{
			id: "crawl/standing", answers: map[string][]any{"Dispatch": {dispatched(1, shortly), dispatched(0, 0), dispatched(0, 0), stopped}},
			drive: func(p *player) {
				p.crawl()
				p.wakes()
				p.updates(workflows.UpdateSet, workflows.Set{Settings: settings.Settings{Delay: new(settings.Duration(time.Minute))}})
				p.updates(workflows.UpdateStop, workflows.Stop{Reason: "enough"})
			},
		},
		{id: "crawl/paused", answers: map[string][]any{"Dispatch": {
			dispatched(1, long),
			activities.DispatchResult{Paused: true, Reason: "a quiet night"},
			dispatched(1, long),
			activities.DispatchResult{Paused: true, NextIn: settings.Duration(shortly)},
			dispatched(1, shortly),
		}}, drive: func(p *player) {
			p.crawl()
			p.updates(workflows.UpdatePause, workflows.Pause{Reason: "a quiet night"})
			p.updates(workflows.UpdateResume)
			p.updates(workflows.UpdatePause, workflows.Pause{Reason: "lunch", Until: new(time.Now().Add(long))})
		}},
		{id: "crawl/cancelled", answers: map[string][]any{"Dispatch": {dispatched(1, long)}}, drive: func(p *player) {
			p.crawl()
			p.cancels()
		}},
	}
}

// playedOnce are the workflows that do one thing.
func playedOnce() []*play {
	seed := workflows.SeedInput{Run: "recorded", URLs: []string{page}}
	listed := workflows.SeedInput{Run: "top", SeedList: activities.SeedList{Source: seeds.Tranco, Limit: 1000}}
	again := activities.RecrawlInput{Run: "recorded", OlderThan: settings.Duration(24 * time.Hour)}
	execute := func(workflow string, in any) func(*player) { return func(p *player) { p.execute(workflow, in) } }
	return []*play{
		{id: crawl.SeedWorkflowID("recorded", 1), drive: execute(workflows.SeedWorkflowName, seed)},
		{id: crawl.SeedWorkflowID("top", 1), drive: execute(workflows.SeedWorkflowName, listed)},
		{id: crawl.SeedWorkflowID("bad", 1), drive: execute(workflows.SeedWorkflowName, workflows.SeedInput{Run: "bad run"})},
		{id: "recrawl/recorded", drive: execute(workflows.RecrawlWorkflowName, again), answers: map[string][]any{
			"Recrawl": {activities.RecrawlResult{Pending: 7}},
		}},
		{id: "recrawl/none", drive: execute(workflows.RecrawlWorkflowName, again)},
	}
}
