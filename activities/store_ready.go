package activities

import (
	"context"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

// stepWithout is the step of the domain's other runs, where one cannot go on, for err: the
// trouble that one has with its store is not theirs.
func (b *batch) stepWithout(ctx context.Context, facts crawl.Facts, run int64, err error) (crawl.Facts, bool, error) {
	others := facts
	others.Runs = slices.Clone(facts.Runs)
	for i := range others.Runs {
		if others.Runs[i].ID == run {
			others.Runs[i].Crawl = nil // how the domain may be asked, it still has a say in
		}
	}
	// A domain whose other run has had its turn would not end, for what is due of this one.
	if next := decide.Pick(others, facts.Now); next == nil || decide.Yields(*next) {
		return facts, true, err
	}
	if !b.warned {
		warn(ctx, "the images of a run wait, and its domain goes on with other runs", "domain", b.in.Domain, "error", err)
		b.warned = true
	}
	return b.step(ctx, others)
}
