package activities

import (
	"cmp"
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
)

const (
	// timerLead is the head start of a workflow's timer before its slot is free: about the time from
	// timer to activity on a busy server. The process waits out the rest, so that it is on time.
	timerLead = 400 * time.Millisecond
	// maxInProcessWait is the longest wait in the process for a batch of one page.
	maxInProcessWait = 750 * time.Millisecond
	// maxBatchWait is the longest wait in the process for larger batches, which saves workflow steps.
	maxBatchWait = 10 * time.Second
	// minShownWait is the longest wait that is not shown, because a workflow step takes as long.
	minShownWait = 20 * time.Millisecond
)

// wait waits for the domain's slot in the process if the wait is short, else in the workflow.
func (b *batch) wait(d decide.Decision, wait time.Duration) batchAction {
	if d.Attempt == nil || d.Reason == reasons.Window {
		url := ""
		if d.Attempt != nil {
			url = d.Attempt.URL
		}
		b.setNextStep(StepFetch, url, wait, d.Reason)
		return actionEnd
	}
	b.setNextStep(StepFetch, d.Attempt.URL, durableWait(wait), d.Reason)
	b.res.Queued = b.in.Queued
	if b.pagesDone || !b.waitsInProcess(wait) {
		return actionEnd
	}
	return b.pause(wait)
}

// pause makes the batch wait in the process. If this worker stops, the workflow takes the recorded
// next step.
func (b *batch) pause(wait time.Duration) batchAction {
	b.waitStart = time.Now()
	b.waitEnd = b.waitStart.Add(wait)
	return actionWait
}

// waitsInProcess reports whether a wait is spent in the process.
func (b *batch) waitsInProcess(wait time.Duration) bool {
	switch {
	case wait <= maxInProcessWait:
		return true
	case wait > maxBatchWait || !time.Now().Before(b.deadline):
		return false
	}
	return b.continuesInProcess()
}

// continuesInProcess reports whether the batch continues in the process instead of in the workflow.
func (b *batch) continuesInProcess() bool {
	if b.in.Auto {
		return !b.stepLimiter.acquireStep(time.Now())
	}
	return b.in.MaxPages > 1
}

// countRequest counts a request, and decides by the recorded facts whether the batch is over.
func (b *batch) countRequest() {
	b.requestCount++
	switch {
	case !b.in.Auto:
		b.pagesDone = b.requestCount >= b.in.MaxPages
	case b.requestCount >= autoPagesMax || !time.Now().Before(b.deadline):
		b.pagesDone = true
		b.stepLimiter.countForcedStep(time.Now())
	case b.facts.Domain.SlotFree.Sub(b.facts.Now) <= minShownWait:
	default:
		b.pagesDone = !b.continuesInProcess()
	}
}

// durableWait returns the part of a wait for a slot that a workflow sleeps.
func durableWait(d time.Duration) time.Duration { return max(d-timerLead, 0) }

func (b *batch) handleDeniedLease(ctx context.Context, d decide.Decision, l crawl.Lease) (batchAction, error) {
	b.in.Queued = isSharedSlotWait(l.Reason)
	b.waitOrDefer(*d.Run, d.Attempt.URL, l.Wait, l.Reason)
	b.res.Queued = b.in.Queued
	switch {
	case l.Wait > 0 && !b.waitsInProcess(l.Wait) || stopping(ctx):
		return actionEnd, nil
	case l.Wait > 0:
		return b.pause(l.Wait), nil
	}
	return b.readFacts(ctx)
}

func isSharedSlotWait(reason reasons.Reason) bool { return reason.Row().Subject == reasons.SharedSlot }

// waitOrDefer ends the batch with a wait, or defers the domain if the wait is too long.
func (b *batch) waitOrDefer(run crawl.RunFacts, url string, wait time.Duration, reason reasons.Reason) {
	if decide.DefersDomain(run, wait, reason) {
		b.setNextStep(StepFinish, url, wait, reason)
		b.res.Defer = true
		return
	}
	b.setNextStep(StepFetch, url, durableWait(wait), reason)
}

// prerequisite fetches robots.txt, tdmrep.json or a missing page before a page of an origin. The
// workflow requests it, or this process with the same waits while Temporal is busy.
func (b *batch) prerequisite(ctx context.Context, d decide.Decision) (batchAction, error) {
	b.res.NextStep = NextStep{Next: StepRobots, Origin: d.Attempt.Origin}
	if d.Prerequisite != kinds.Robots {
		b.res.Kind = d.Prerequisite
	}
	if !b.in.Auto || !b.continuesInProcess() {
		return actionEnd, nil // FetchRobots waits for the slot
	}
	return b.fetchRobotsInProcess(ctx)
}

func (b *batch) fetchRobotsInProcess(ctx context.Context) (batchAction, error) {
	for {
		in := b.res.Robots(b.in.Domain)
		res, recordedFacts, err := b.fetchRobots(ctx, in, &b.facts, 0)
		if err != nil && !isSiteFailure(err) {
			return actionEnd, err
		}
		wait := time.Duration(res.Wait)
		res.Wait = workflowWait(res)
		b.res.NextStep = in.Then(res)
		if b.res.LastRequest = cmp.Or(res.Request, b.res.LastRequest); b.res.HasLongURL() {
			b.res.LastRequest, b.res.Summary = RequestSummary{}, DomainSummary{}
		}
		if err != nil {
			return actionEnd, err
		}
		if recordedFacts != nil {
			b.setFacts(*recordedFacts)
		}
		switch b.res.Next {
		case StepFetch:
			if recordedFacts != nil {
				return actionStep, nil
			}
			return b.readFacts(ctx)
		case StepFinish:
			b.res.URL = in.Origin
			return actionEnd, nil
		case StepRobots:
		}
		switch {
		case stopping(ctx) || !b.waitsInProcess(wait) || !time.Now().Before(b.deadline):
			return actionEnd, nil
		case wait > 0:
			return b.pause(wait), nil
		}
	}
}
