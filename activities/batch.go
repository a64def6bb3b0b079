package activities

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/request"
)

// batch is one batch of a domain's pages. It has no goroutine while it waits.
type batch struct {
	*Activities

	in  FetchPagesInput
	res FetchPagesResult
	err error
	// earlier is the result of the previous attempts; nil means there was no result.
	earlier  *FetchPagesResult
	deadline time.Time
	pages    int
	// facts are the facts last read, at readAt.
	facts  crawl.Facts
	readAt time.Time
	// paused and until are the bounds of the last wait in the process; at first both are the start.
	paused, until time.Time
	// over is set once no more pages are to be requested.
	over bool
	// warned is set once the log has explained why the images of a run wait.
	warned bool
	// wanting names the runs that have work for the domain, as last read.
	wanting []string
}

// turn is the next action of a batch after a step.
type turn int

const (
	another turn = iota // takes another step
	waits               // waits until batch.until
	ends
)

func (a *Activities) newBatch(ctx context.Context, in FetchPagesInput) (*batch, error) {
	if a.scheduler.stops() {
		return nil, request.ErrStopping
	}
	now := time.Now()
	b := &batch{Activities: a, in: in, paused: now, until: now, deadline: now.Add(batchSpan)}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &b.earlier); err != nil {
			return nil, err
		}
		b.res = *b.earlier
		b.res.Wait, b.res.Outcomes = 0, maps.Clone(b.res.Outcomes)
	}
	_, err := b.read(ctx)
	if err == nil {
		a.ease.began(in.Domain, b.facts.Domain.SlotFree, now)
	}
	return b, err
}

// run takes steps until the batch waits, or has ended with its result and error.
func (b *batch) run(ctx context.Context) (ended bool) {
	next, err := b.resume(ctx)
	for err == nil && next == another {
		b.doneWith(decide.Wanting(b.facts))
		b.res.Runs = runNames(b.facts)
		next, err = b.step(ctx, b.facts)
	}
	if err == nil && next == waits {
		return false
	}
	if b.res.Next == StepFinish && !b.res.Defer && b.scheduler.stops() {
		// The run may just have been stopped with this worker. The next worker checks.
		b.then(StepFetch, "", 0, "")
	}
	if err == nil || isSiteTrouble(err) {
		err = cmp.Or(b.end(ctx), err)
	}
	if b.res.Closed > 0 && (errors.Is(err, request.ErrStopping) || errors.Is(err, request.ErrNoPlace)) {
		b.then(StepFetch, "", 0, "") // keep the work done
		err = nil
	}
	b.err = retried(ctx, err, b.in.Backoff)
	return true
}

func (b *batch) resume(ctx context.Context) (next turn, err error) {
	passed := time.Since(b.paused)
	switch {
	case stopping(ctx) && b.res.Next == "":
		b.then(StepFetch, b.nextURL(), 0, "")
		return ends, nil
	case stopping(ctx):
		b.res.Wait = max(b.res.Wait-settings.Duration(passed), 0)
		b.in.Count = false
		return ends, nil
	case time.Since(b.readAt) > batchWait:
		next, err = b.read(ctx)
	default:
		b.facts.Now = b.facts.Now.Add(passed)
	}
	if err == nil && b.res.Next == StepRobots {
		return b.robots(ctx)
	}
	return next, err
}

func (b *batch) read(ctx context.Context) (turn, error) {
	facts, err := b.store.Next(ctx, b.in.Domain)
	b.known(facts)
	return another, err
}

// end renews the claim and counts pending requests before the workflow continues.
func (b *batch) end(ctx context.Context) error {
	wait := time.Duration(b.res.Wait)
	if b.res.Next != StepFinish {
		if err := b.keepClaim(ctx, b.in.Domain, wait); err != nil {
			return err
		}
	}
	if b.in.Count && b.res.Asked.URL != "" {
		if err := b.count(ctx); err != nil {
			return err
		}
	}
	if b.res.Next == StepFetch {
		b.ease.leave(b.in.Domain, b.facts.Domain.SlotFree, time.Now(), wait)
	}
	return nil
}

// nextURL returns the page that is next by the facts, or an empty string.
func (b *batch) nextURL() string {
	if next := decide.Pick(b.facts, b.facts.Now); next != nil {
		return next.Crawl.URL
	}
	return ""
}

func (b *batch) known(facts crawl.Facts) { b.facts, b.readAt = facts, time.Now() }
