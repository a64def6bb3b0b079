package activities

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

// initialWidenTimeout limits how long StoreSeeds follows known links before its run starts.
const initialWidenTimeout = 2 * time.Second

// widen adds the targets of known links to the run, after its depth or scope was widened. A nonzero
// until limits its time. It returns the number of new pages, and whether all links were followed.
func (a *Activities) widen(ctx context.Context, run crawl.Run, until time.Time) (added int, done bool, err error) {
	facts := crawl.RunFacts{ID: run.ID, Name: run.Name, Settings: run.Settings}
	for !stopping(ctx) && (until.IsZero() || time.Now().Before(until)) {
		n, done, err := a.store.WidenRun(ctx, run.ID, func(c crawl.AttemptFacts) *crawl.KnownLinks {
			return decide.FollowSkipped(facts, c)
		})
		added += n
		if err != nil || done {
			return added, done, err
		}
	}
	return added, false, nil
}

// wakeDispatcher wakes a run's dispatcher because there is work, unless the run is stopped or
// paused.
func (a *Activities) wakeDispatcher(ctx context.Context, name string) error {
	run, err := a.store.Run(ctx, name)
	if err != nil || run.Status == crawl.RunStopped || run.Status == crawl.RunPaused {
		return err
	}
	return a.starter.StartCrawl(ctx, name)
}
