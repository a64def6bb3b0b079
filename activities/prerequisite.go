package activities

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
)

// prerequisite has robots.txt or tdmrep.json fetched before any page of an origin: by
// the workflow, in an activity of its own, or in the process where Temporal is not at
// ease. Then it is the same request with the same waits.
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
		if err != nil {
			return facts, true, err
		}
		b.res.NextStep = in.Then(res)
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
