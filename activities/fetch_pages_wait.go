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
	// wakeEarly is the head start of a workflow's timer before its slot is free: about the time from
	// timer to activity on a busy server. The process waits out the rest, so that it is on time.
	wakeEarly = 400 * time.Millisecond
	// inProcessWait is the longest wait in the process for a batch of one page.
	inProcessWait = 750 * time.Millisecond
	// batchWait is the longest wait in the process for larger batches, which saves workflow steps.
	batchWait = 10 * time.Second
	// instant is the longest wait that is not shown, because a workflow step takes as long.
	instant = 20 * time.Millisecond
)

// wait waits for the domain's slot in the process if the wait is short, else in the workflow.
func (b *batch) wait(d decide.Decision, wait time.Duration) turn {
	if d.Crawl == nil || d.Reason == reasons.Window {
		url := ""
		if d.Crawl != nil {
			url = d.Crawl.URL
		}
		b.then(StepFetch, url, wait, d.Reason)
		return ends
	}
	b.then(StepFetch, d.Crawl.URL, durableWait(wait), d.Reason)
	b.res.Queued = b.in.Queued
	if b.over || !b.sits(wait) {
		return ends
	}
	return b.pause(wait)
}

// pause makes the batch wait in the process. If this worker stops, the workflow takes the recorded
// next step.
func (b *batch) pause(wait time.Duration) turn {
	b.paused = time.Now()
	b.until = b.paused.Add(wait)
	return waits
}

// sits reports whether a wait is spent in the process.
func (b *batch) sits(wait time.Duration) bool {
	switch {
	case wait <= inProcessWait:
		return true
	case wait > batchWait || !time.Now().Before(b.deadline):
		return false
	}
	return b.goesOn()
}

// goesOn reports whether the batch continues in the process instead of in the workflow.
func (b *batch) goesOn() bool {
	if b.in.Auto {
		return !b.ease.step(time.Now())
	}
	return b.in.MaxPages > 1
}

// asked counts a request, and decides by the recorded facts whether the batch is over.
func (b *batch) asked() {
	b.pages++
	switch {
	case !b.in.Auto:
		b.over = b.pages >= b.in.MaxPages
	case b.pages >= autoPagesMax || !time.Now().Before(b.deadline):
		b.over = true
		b.ease.forced(time.Now())
	case b.facts.Domain.SlotFree.Sub(b.facts.Now) <= instant:
	default:
		b.over = !b.goesOn()
	}
}

// durableWait returns the part of a wait for a slot that a workflow sleeps.
func durableWait(d time.Duration) time.Duration { return max(d-wakeEarly, 0) }

func (b *batch) notGranted(ctx context.Context, d decide.Decision, l crawl.Lease) (turn, error) {
	b.in.Queued = isQueue(l.Reason)
	b.waitOrDefer(*d.Run, d.Crawl.URL, l.Wait, l.Reason)
	b.res.Queued = b.in.Queued
	switch {
	case l.Wait > 0 && !b.sits(l.Wait) || stopping(ctx):
		return ends, nil
	case l.Wait > 0:
		return b.pause(l.Wait), nil
	}
	return b.read(ctx)
}

func isQueue(why reasons.Reason) bool { return why.Row().Of == reasons.SharedSlot }

// waitOrDefer ends the batch with a wait, or defers the domain if the wait is too long.
func (b *batch) waitOrDefer(run crawl.RunFacts, url string, wait time.Duration, why reasons.Reason) {
	if decide.DefersDomain(run, wait, why) {
		b.then(StepFinish, url, wait, why)
		b.res.Defer = true
		return
	}
	b.then(StepFetch, url, durableWait(wait), why)
}

// prerequisite fetches robots.txt or tdmrep.json before any page of an origin. The workflow
// requests it, or this process with the same waits while Temporal is busy.
func (b *batch) prerequisite(ctx context.Context, d decide.Decision) (turn, error) {
	b.res.NextStep = NextStep{Next: StepRobots, Origin: d.Crawl.Origin}
	if d.Prerequisite != kinds.Robots {
		b.res.Kind = d.Prerequisite
	}
	if !b.in.Auto || !b.goesOn() {
		return ends, nil // FetchRobots waits for the slot
	}
	return b.robots(ctx)
}

func (b *batch) robots(ctx context.Context) (turn, error) {
	for {
		in := b.res.Robots(b.in.Domain)
		res, after, err := b.fetchRobots(ctx, in, &b.facts, 0)
		if err != nil && !isSiteTrouble(err) {
			return ends, err
		}
		wait := time.Duration(res.Wait)
		res.Wait = workflowWait(res)
		b.res.NextStep = in.Then(res)
		if b.res.Asked = cmp.Or(res.Asked, b.res.Asked); b.res.Long() {
			b.res.Asked, b.res.Shown = RequestSummary{}, DomainSummary{}
		}
		if err != nil {
			return ends, err
		}
		if after != nil {
			b.known(*after)
		}
		switch b.res.Next {
		case StepFetch:
			if after != nil {
				return another, nil
			}
			return b.read(ctx)
		case StepFinish:
			b.res.URL = in.Origin
			return ends, nil
		case StepRobots:
		}
		switch {
		case stopping(ctx) || !b.sits(wait) || !time.Now().Before(b.deadline):
			return ends, nil
		case wait > 0:
			return b.pause(wait), nil
		}
	}
}
