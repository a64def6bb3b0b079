package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/network"
)

// errCut is of a request that was in flight when its worker had to end.
var errCut = fmt.Errorf("interrupted: %w", ErrStopping)

// silence is the least time that a site has said nothing when a time-out is up.
const silence = 5 * time.Second

// ownTrouble returns why a request failed if that is our fault, and tells the network's monitor.
func (c *Client) ownTrouble(ctx context.Context, x *Exchange, ask Ask, t target, began time.Time) error {
	f, _ := errors.AsType[*fetch.Error](x.Err)
	// The lease must not end before the attempt is recorded.
	ctx, cancel := context.WithDeadline(ctx, began.Add(c.span()-leaseMargin/2))
	defer cancel()
	failed := network.Failure{Key: t.ip(), Spared: ask.Spared, Worked: ask.Worked}
	switch {
	case x.Err == nil:
	case f == nil && errors.Is(x.Err, dns.ErrTemporary):
		failed.Key, failed.Waited, failed.Why = ask.URL.Host(), time.Since(firstAsked(x.Err, began)), "no answer from a name server"
		return c.Network.Failed(ctx, failed)
	case f == nil: // the name servers say that there is no such host
		return nil
	case f.Cause == fetch.CauseCanceled && c.cut.Err() != nil:
		return errCut
	case f.Cause == fetch.CauseLocal, !f.Sent && (f.Cause == fetch.CauseDeadline || f.Cause == fetch.CauseCanceled):
		return x.Err
	case f.Cause == fetch.CauseCanceled:
		return nil
	case !f.Connected && answersNow(ask):
		return nil // the network works: the origin alone fails
	case f.Unreached():
		failed.Waited, failed.Why = f.EndedAt.Sub(began), f.Brief()
		return c.Network.Failed(ctx, failed)
	case f.Cause == fetch.CauseTimeout:
		failed.Waited, failed.Connected, failed.Why = silence, true, f.Brief()
		return c.Network.Failed(ctx, failed)
	case !f.Sent:
		return nil
	}
	c.Network.Reached(t.ip())
	x.Attempt.Reached = true
	return nil
}

// answersLately is how long an answer of another origin shows a working network, or three delays of the
// domain where that is longer.
const answersLately = time.Minute

// answersNow reports whether another origin of the domain has answered lately.
func answersNow(ask Ask) bool {
	delay, _ := politeness.Delay(ask.Pace.Waits)
	at := politeness.AnsweredElsewhere(ask.Health, ask.URL.Origin())
	return !at.IsZero() && ask.Now.Sub(at) <= max(answersLately, 3*delay)
}

// firstAsked is when the name servers were first asked without an answer, for a request that began later.
func firstAsked(err error, began time.Time) time.Time {
	if failure, ok := errors.AsType[*dns.Error](err); ok && !failure.Asked.IsZero() && failure.Asked.Before(began) {
		return failure.Asked
	}
	return began
}

// abandon takes an attempt back that failed through no fault of the site. A site that may have
// noticed it gets its usual delay; a request with a connection is kept as a row.
func (c *Client) abandon(ctx context.Context, ask Ask, s crawl.Start, l crawl.Lease, x *Exchange, why error) error {
	ctx = context.WithoutCancel(ctx)
	_, spared := errors.AsType[*network.Down](why)
	return errors.Join(why, c.takeBack(ctx, ask, s, l, x, why.Error(), spared))
}

// takeBack is abandon without its error.
func (c *Client) takeBack(ctx context.Context, ask Ask, s crawl.Start, l crawl.Lease, x *Exchange, why string, spared bool) error {
	what := crawl.Attempt{Error: why}.Clean().Error
	delay := time.Duration(0)
	f, ok := errors.AsType[*fetch.Error](x.Err)
	answered := x.Response != nil // and could not be read, or kept
	if answered || ok && f.Sent {
		delay, _ = earned(ask, ask.Pace.Waits)
	}
	if answered || ok && f.Connected {
		return c.Store.TakeBack(ctx, s, l.CrawlID, delay, spared, what, x.Attempt.RobotsVersion)
	}
	return c.Store.Abandon(ctx, s, l.CrawlID, delay, spared, what)
}

// cutOffError says that neither the site nor the database answered. It is more likely that this
// machine was cut off than that both failed, so the attempt is taken back.
type cutOffError struct{ database error }

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
		if !sleep(ctx, pause) {
			return errors.Join(why, taken)
		}
	}
}
