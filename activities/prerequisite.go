package activities

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

// prerequisite has robots.txt or tdmrep.json fetched before any page of an origin: by
// the workflow, in an activity of its own, or in the process where Temporal is not at
// ease. Then it is the same request with the same waits.
func (b *batch) prerequisite(ctx context.Context, facts crawl.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	in := FetchRobotsInput{Domain: b.in.Domain, Origin: d.Crawl.Origin}
	if d.Prerequisite != crawl.KindRobots {
		in.Kind = d.Prerequisite
	}
	if !b.in.Auto || !b.goesOn() {
		b.leaveRobots(in, 0, "") // the wait for the slot is FetchRobots's own
		return facts, true, nil
	}
	for {
		res, err := b.fetchRobots(ctx, in)
		if err != nil {
			return facts, true, err
		}
		if res.Done {
			facts, err = b.store.Next(ctx, b.in.Domain)
			return facts, false, err
		}
		if res.Defer {
			b.then(StepFinish, in.Origin, time.Duration(res.Wait), res.Reason)
			b.res.Defer = true
			return facts, true, nil
		}
		in = res.next(in)
		if wait := time.Duration(res.Wait); !b.sits(wait) || !sleep(ctx, wait) || !time.Now().Before(b.deadline) {
			b.leaveRobots(in, wait, res.Reason)
			return facts, true, nil
		}
	}
}

// leaveRobots ends the batch with what the workflow is to have fetched.
func (b *batch) leaveRobots(in FetchRobotsInput, wait time.Duration, why crawl.Reason) {
	b.then(StepRobots, in.Origin, wait, why)
	b.res.Kind, b.res.Location, b.res.Hops, b.res.Queued = in.Kind, in.URL, in.Hops, in.Queued
}
