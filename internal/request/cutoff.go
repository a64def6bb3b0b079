package request

import (
	"context"
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/fetch"
)

// cutOffError says that a site did not answer, and the database did not either when that was to be
// recorded. It is more likely that this machine was cut off than that both failed, so the attempt is
// taken back.
type cutOffError struct{ database error }

// Error says what was seen.
func (e *cutOffError) Error() string {
	return "neither the site nor the database answered, so this machine was cut off: nothing is held against the site: " +
		e.database.Error()
}

func (e *cutOffError) Unwrap() error { return e.database }

// unanswered reports whether a request came to nothing as it does where a network goes away.
func unanswered(x *Exchange) bool {
	f, ok := errors.AsType[*fetch.Error](x.Err)
	return ok && (f.Unreached() || f.Cause == fetch.CauseTimeout)
}

// isSilent reports whether a database did not answer at all. An error of its own has a code.
func isSilent(err error) bool {
	_, answered := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return !answered
}

// abandonLate is abandon for a database that is away, which is tried for as long as it is to record.
func (c *Client) abandonLate(ctx context.Context, ask Ask, s crawl.Start, l crawl.Lease, x *Exchange, why *cutOffError) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordSpan)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, recordPauseMax) {
		c.Warn(ctx, "could not record an attempt", "crawl", l.CrawlID, "error", why)
		taken := c.takeBack(ctx, ask, s, l, x, why.Error(), false)
		if taken == nil || errors.Is(taken, crawl.ErrRefused) {
			return errors.Join(why, taken)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(why, taken)
		}
	}
}
