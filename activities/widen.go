package activities

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

// widenFirst is how long a seeding looks at known links before its run goes on. What
// is left it looks at beside the run.
const widenFirst = 2 * time.Second

// widen makes what a run's pages link to part of the run, as far as its settings let
// it be by now: after its depth or scope was widened. It stops at an instant, if one
// is given, and returns how many pages are new to the run, and whether all are looked at.
// Where it is interrupted the next call goes on.
func (a *Activities) widen(ctx context.Context, run crawl.Run, until time.Time) (added int, done bool, err error) {
	facts := crawl.RunFacts{ID: run.ID, Name: run.Name, Settings: run.Settings}
	for !stopping(ctx) && (until.IsZero() || time.Now().Before(until)) {
		n, done, err := a.store.WidenRun(ctx, run.ID, func(c crawl.CrawlFacts) *crawl.KnownLinks {
			return decide.FollowSkipped(facts, c)
		})
		added += n
		if err != nil || done {
			return added, done, err
		}
	}
	return added, false, nil
}

// goOn has a run's dispatcher look: there is work for it, and who has stored that has made a
// run that was done go on. One that a person has stopped or paused stays so.
func (a *Activities) goOn(ctx context.Context, name string) error {
	run, err := a.store.Run(ctx, name)
	if err != nil || run.Status == crawl.RunStopped || run.Status == crawl.RunPaused {
		return err
	}
	return a.starter.StartCrawl(ctx, name)
}
