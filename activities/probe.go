package activities

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
)

// probe asks for a page to see how the domain is that has rested. It is a request
// like any other, and like robots.txt no part of the frontier: it costs no budget,
// and what it finds is not stored.
func (b *batch) probe(ctx context.Context, f decide.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	u, err := urls.Parse(d.URL)
	if err != nil {
		return f.Facts, true, err
	}
	_, facts, done, err := b.ask(ctx, f, d, b.reader.Probe(d, u))
	return facts, done, err
}
