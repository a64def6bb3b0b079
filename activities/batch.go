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

// batch is one batch of a domain's pages. It needs a goroutine while it takes steps, none while it waits.
type batch struct {
	*Activities

	in  FetchPagesInput
	res FetchPagesResult
	err error
	// earlier is the result of the attempts before this one; nil is none.
	earlier  *FetchPagesResult
	deadline time.Time
	pages    int
	// facts are as last read, at readAt.
	facts  crawl.Facts
	readAt time.Time
	// until is the end of the last wait in the process, or for a first turn, which began at paused.
	paused, until time.Time
	// over is set once no more pages are to be requested.
	over bool
	// warned says that it was said why the images of a run wait.
	warned bool
	// wanting are the runs that want something of the domain, as last read.
	wanting []string
}

// turn says how a batch goes on after a step.
type turn int

const (
	another turn = iota // step
	waits               // until batch.until
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
		b.then(StepFetch, "", 0, "") // its run may just have been stopped with this worker: the next one finds out
	}
	if err == nil || isSiteTrouble(err) {
		err = cmp.Or(b.end(ctx), err)
	}
	if b.res.Closed > 0 && (errors.Is(err, request.ErrStopping) || errors.Is(err, request.ErrNoPlace)) {
		b.then(StepFetch, "", 0, "") // what was done counts
		err = nil
	}
	b.err = retried(ctx, err, b.in.Backoff)
	return true
}

// resume has the batch go on after a wait, which may have been cut short.
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

// read reads the facts for another step.
func (b *batch) read(ctx context.Context) (turn, error) {
	facts, err := b.store.Next(ctx, b.in.Domain)
	b.known(facts)
	return another, err
}

// end does what is left to do for a domain before its workflow goes on.
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

// nextURL is the page that is next by the facts; empty is none.
func (b *batch) nextURL() string {
	if next := decide.Pick(b.facts, b.facts.Now); next != nil {
		return next.Crawl.URL
	}
	return ""
}

// known has the next step decided by these facts, which were read just now.
func (b *batch) known(facts crawl.Facts) { b.facts, b.readAt = facts, time.Now() }
