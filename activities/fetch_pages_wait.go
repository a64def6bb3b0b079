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
	// wakeEarly is how long before its slot is free a workflow is woken: about the time from a timer
	// to an activity on a busy server. The process waits out the rest, so that it is on time.
	wakeEarly = 400 * time.Millisecond
	// inProcessWait is the longest wait in the process for a batch of one page.
	inProcessWait = 750 * time.Millisecond
	// batchWait is the same for larger batches, which save workflow steps by it.
	batchWait = 10 * time.Second
	// instant is the longest wait that is not shown: a step of the workflow takes as long.
	instant = 20 * time.Millisecond
)

// wait waits for the domain's slot in the process if that is short, else the workflow waits.
func (b *batch) wait(ctx context.Context, facts crawl.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	wait := d.Until.Sub(facts.Now)
	switch {
	case d.Crawl == nil:
		b.then(StepFetch, "", wait, d.Reason)
		return facts, true, nil
	case d.Reason == reasons.Window:
		b.then(StepFetch, d.Crawl.URL, wait, d.Reason)
		return facts, true, nil
	case b.over || !b.sits(wait) || !sleep(ctx, wait):
		b.then(StepFetch, d.Crawl.URL, durableWait(wait), d.Reason)
		b.res.Queued = b.in.Queued
		return facts, true, nil
	}
	facts.Now = d.Until
	return facts, false, nil
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

// asked counts a request, and decides whether the batch is over by the facts of its record.
func (b *batch) asked(facts crawl.Facts) {
	b.pages++
	switch {
	case !b.in.Auto:
		b.over = b.pages >= b.in.MaxPages
	case b.pages >= autoPagesMax || !time.Now().Before(b.deadline):
		b.over = true
		b.ease.forced(time.Now())
	case facts.Domain.SlotFree.Sub(facts.Now) <= instant:
	default:
		b.over = !b.goesOn()
	}
}

// durableWait is the part of a wait for a slot that a workflow sleeps.
func durableWait(d time.Duration) time.Duration { return max(d-wakeEarly, 0) }

// notGranted waits for the lease, here or in the workflow.
func (b *batch) notGranted(ctx context.Context, facts crawl.Facts, d decide.Decision, l crawl.Lease) (crawl.Facts, bool, error) {
	b.in.Queued = isQueue(l.Reason)
	if l.Wait > 0 && (!b.sits(l.Wait) || !sleep(ctx, l.Wait)) || stopping(ctx) {
		b.waitOrDefer(*d.Run, d.Crawl.URL, l.Wait, l.Reason)
		b.res.Queued = b.in.Queued
		return facts, true, nil
	}
	facts, err := b.store.Next(ctx, b.in.Domain)
	return facts, false, err
}

// isQueue reports whether a wait was for a place in a queue of domains.
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

// prerequisite has robots.txt or tdmrep.json fetched before any page of an origin: by the
// workflow, or in the process, with the same waits, where Temporal is not at ease.
func (b *batch) prerequisite(ctx context.Context, facts crawl.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	b.res.NextStep = NextStep{Next: StepRobots, Origin: d.Crawl.Origin}
	if d.Prerequisite != kinds.Robots {
		b.res.Kind = d.Prerequisite
	}
	if !b.in.Auto || !b.goesOn() {
		return facts, true, nil // the wait for the slot is FetchRobots's own
	}
	for {
		in := b.res.Robots(b.in.Domain)
		res, err := b.fetchRobots(ctx, in)
		if err != nil && !isSiteTrouble(err) {
			return facts, true, err
		}
		b.res.NextStep = in.Then(res)
		if b.res.Asked = cmp.Or(res.Asked, b.res.Asked); b.res.Long() {
			b.res.Asked, b.res.Shown = Asked{}, Shown{}
		}
		if err != nil {
			return facts, true, err
		}
		switch b.res.Next {
		case StepFetch:
			facts, err = b.store.Next(ctx, b.in.Domain)
			return facts, false, err
		case StepFinish:
			b.res.URL = in.Origin
			return facts, true, nil
		case StepRobots:
		}
		if wait := time.Duration(res.Wait); !b.sits(wait) || !sleep(ctx, wait) || !time.Now().Before(b.deadline) {
			return facts, true, nil
		}
	}
}
