package wiring

import (
	"context"
	"log/slog"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/workflows"
)

// reviveEvery is how often a worker looks whether every running run has its
// dispatcher. What it finds dead has cost no more than that.
const reviveEvery = time.Minute

// reviveFirst is how long a worker that has just been started leaves its runs alone:
// the command that has started it is about to have them go on.
const reviveFirst = 3 * time.Second

// reviver starts the dispatchers of running runs that have none: they were
// terminated, or Temporal has lost them. A domain that ends starts them too, but a
// run may have no domain that is active.
type reviver struct {
	store   *db.Store
	starter workflows.Starter
	logger  *slog.Logger
}

// run looks now and then until the context ends.
func (r reviver) run(ctx context.Context) {
	for wait := reviveFirst; ; wait = reviveEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		runs, err := r.store.Runs(ctx)
		if err == nil {
			_, err = Revive(ctx, r.starter, runs)
		}
		if err != nil && ctx.Err() == nil {
			r.logger.WarnContext(ctx, "could not look for dispatchers; tried again in a minute", "error", err)
		}
	}
}

// Revive starts the dispatchers of those runs that run or are paused and have none, and returns
// their names.
func Revive(ctx context.Context, s workflows.Starter, runs []crawl.Run) (revived []string, err error) {
	for _, run := range runs {
		if run.Status.Ended() {
			continue
		}
		started, err := s.ReviveCrawl(ctx, run.Name)
		if err != nil {
			return revived, err
		}
		if started {
			revived = append(revived, run.Name)
		}
	}
	return revived, nil
}
