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
	// previousResult is the result of the previous attempts; nil means there was no result.
	previousResult *FetchPagesResult
	deadline       time.Time
	requestCount   int
	// facts are the facts last read, at readAt.
	facts  crawl.Facts
	readAt time.Time
	// waitStart and waitEnd are the bounds of the last wait in the process; at first both are the
	// start.
	waitStart, waitEnd time.Time
	// pagesDone is set once no more pages are to be requested.
	pagesDone bool
	// imageWarningLogged is set once the log has explained why the images of a run wait.
	imageWarningLogged bool
	// activeRuns names the runs that have work for the domain, as last read.
	activeRuns []string
}

// batchAction is the next action of a batch after a step.
type batchAction int

const (
	actionStep batchAction = iota // takes another step
	actionWait                    // waits until batch.until
	actionEnd
)

func (a *Activities) newBatch(ctx context.Context, in FetchPagesInput) (*batch, error) {
	if a.scheduler.isStopping() {
		return nil, request.ErrStopping
	}
	now := time.Now()
	b := &batch{Activities: a, in: in, waitStart: now, waitEnd: now, deadline: now.Add(maxBatchDuration)}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &b.previousResult); err != nil {
			return nil, err
		}
		b.res = *b.previousResult
		b.res.Wait, b.res.Outcomes = 0, maps.Clone(b.res.Outcomes)
	}
	_, err := b.readFacts(ctx)
	if err == nil {
		a.stepLimiter.recordStart(in.Domain, b.facts.Domain.SlotFree, now)
	}
	return b, err
}

// run takes steps until the batch waits, or has ended with its result and error.
func (b *batch) run(ctx context.Context) (ended bool) {
	next, err := b.resume(ctx)
	for err == nil && next == actionStep {
		b.wakeFinishedRuns(decide.ActiveRunNames(b.facts))
		b.res.Runs = runNames(b.facts)
		next, err = b.step(ctx, b.facts)
	}
	if err == nil && next == actionWait {
		return false
	}
	if b.res.Next == StepFinish && !b.res.Defer && b.scheduler.isStopping() {
		// The run may just have been stopped with this worker. The next worker checks.
		b.setNextStep(StepFetch, "", 0, "")
	}
	if err == nil || isSiteFailure(err) {
		err = cmp.Or(b.renewClaimAndCount(ctx), err)
	}
	if b.res.Closed > 0 && (errors.Is(err, request.ErrStopping) || errors.Is(err, request.ErrNoPermit)) {
		b.setNextStep(StepFetch, "", 0, "") // keep the work done
		err = nil
	}
	b.err = toRetryError(ctx, err, b.in.Backoff)
	return true
}

func (b *batch) resume(ctx context.Context) (next batchAction, err error) {
	passed := time.Since(b.waitStart)
	switch {
	case stopping(ctx) && b.res.Next == "":
		b.setNextStep(StepFetch, b.nextURL(), 0, "")
		return actionEnd, nil
	case stopping(ctx):
		b.res.Wait = max(b.res.Wait-settings.Duration(passed), 0)
		b.in.CountPending = false
		return actionEnd, nil
	case time.Since(b.readAt) > maxBatchWait:
		next, err = b.readFacts(ctx)
	default:
		b.facts.Now = b.facts.Now.Add(passed)
	}
	if err == nil && b.res.Next == StepRobots {
		return b.fetchRobotsInProcess(ctx)
	}
	return next, err
}

func (b *batch) readFacts(ctx context.Context) (batchAction, error) {
	facts, err := b.store.Next(ctx, b.in.Domain)
	b.setFacts(facts)
	return actionStep, err
}

// renewClaimAndCount renews the claim and counts pending requests before the workflow continues.
func (b *batch) renewClaimAndCount(ctx context.Context) error {
	wait := time.Duration(b.res.Wait)
	if b.res.Next != StepFinish {
		if err := b.renewClaim(ctx, b.in.Domain, wait); err != nil {
			return err
		}
	}
	if b.in.CountPending && b.res.LastRequest.URL != "" {
		if err := b.countPending(ctx); err != nil {
			return err
		}
	}
	if b.res.Next == StepFetch {
		b.stepLimiter.expectStart(b.in.Domain, b.facts.Domain.SlotFree, time.Now(), wait)
	}
	return nil
}

// nextURL returns the page that is next by the facts, or an empty string.
func (b *batch) nextURL() string {
	if next := decide.Pick(b.facts, b.facts.Now); next != nil {
		return next.Attempt.URL
	}
	return ""
}

func (b *batch) setFacts(facts crawl.Facts) { b.facts, b.readAt = facts, time.Now() }
