package read

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
)

// Reread reads the archived response of a page like a new one. The decision names the attempt of
// the response, its run, and the origin's statement on the page's use. fetchedAt is the time of the
// page's last request. The findings add nothing to the run.
func (r *Reader) Reread(ctx context.Context, d decide.Decision, resp *fetch.Response, fetchedAt time.Time) (crawl.Attempt, error) {
	c := d.Attempt
	u, err := urls.Parse(c.URL)
	if err != nil {
		return crawl.Attempt{}, fmt.Errorf("stored URL: %w", err)
	}
	one := &reading{Reader: r, d: d, url: u, base: urls.Spelt{URL: u, Target: c.Visit.RequestTarget}}
	at := crawl.Attempt{
		ID: c.ID, Domain: u.Domain(), Outcome: crawl.OutcomeOfStatus(resp.Status), StatusCode: resp.Status, Ended: fetchedAt,
	}
	if err := one.page(ctx, &at, resp, c.Visit); err != nil {
		return crawl.Attempt{}, err
	}
	at.Follow, at.FollowImages, at.FollowKnown, at.Charge = nil, nil, nil, nil
	return at, nil
}
