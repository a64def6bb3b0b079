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

var errCut = fmt.Errorf("interrupted: %w", ErrStopping)

// silence is the least time without data after which a site times out.
const silence = 5 * time.Second

// ownTrouble returns the error if a failure is our fault, and notifies the network's monitor.
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
	case f == nil: // the name servers report that the host does not exist
		return nil
	case f.Cause == fetch.CauseCanceled && c.cut.Err() != nil:
		return errCut
	case f.Cause == fetch.CauseLocal, !f.Sent && (f.Cause == fetch.CauseDeadline || f.Cause == fetch.CauseCanceled):
		return x.Err
	case f.Cause == fetch.CauseCanceled:
		return nil
	case !f.Connected && answersNow(ask):
		return nil // the network works, only the origin fails
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

// answersLately limits the age of another origin's response that proves a working network. Three
// delays of the domain do so too, if they are longer.
const answersLately = time.Minute

func answersNow(ask Ask) bool {
	delay, _ := politeness.Delay(ask.Pace.Waits)
	at := politeness.AnsweredElsewhere(ask.Health, ask.URL.Origin())
	return !at.IsZero() && ask.Now.Sub(at) <= max(answersLately, 3*delay)
}

// firstAsked returns the time of the first unanswered name query, but not after began.
func firstAsked(err error, began time.Time) time.Time {
	if failure, ok := errors.AsType[*dns.Error](err); ok && !failure.Asked.IsZero() && failure.Asked.Before(began) {
		return failure.Asked
	}
	return began
}

// abandon takes back an attempt that failed through no fault of the site. A site that may have
// noticed it gets its usual delay. A request with a connection is kept as a row.
func (c *Client) abandon(ctx context.Context, ask Ask, s crawl.Start, l crawl.Lease, x *Exchange, why error) error {
	ctx = context.WithoutCancel(ctx)
	_, spared := errors.AsType[*network.Down](why)
	return errors.Join(why, c.takeBack(ctx, ask, s, l, x, why.Error(), spared))
}

// takeBack does the same, but returns only the errors of the store.
func (c *Client) takeBack(ctx context.Context, ask Ask, s crawl.Start, l crawl.Lease, x *Exchange, why string, spared bool) error {
	what := crawl.Attempt{Error: why}.Clean().Error
	delay := time.Duration(0)
	f, ok := errors.AsType[*fetch.Error](x.Err)
	answered := x.Response != nil // the response could not be read or stored
	if answered || ok && f.Sent {
		delay, _ = earned(ask, ask.Pace.Waits)
	}
	if answered || ok && f.Connected {
		return c.Store.TakeBack(ctx, s, l.CrawlID, delay, spared, what, x.Attempt.RobotsVersion)
	}
	return c.Store.Abandon(ctx, s, l.CrawlID, delay, spared, what)
}

// cutOffError means that both the site and the database failed to respond. Most likely this machine
// was cut off, so the attempt is taken back.
type cutOffError struct{ database error }

func (e *cutOffError) Error() string {
	return "neither the site nor the database responded, so the failure is not counted against the site: " +
		e.database.Error()
}

func (e *cutOffError) Unwrap() error { return e.database }

// unanswered reports whether a request failed as if the network was lost.
func unanswered(x *Exchange) bool {
	f, ok := errors.AsType[*fetch.Error](x.Err)
	return ok && (f.Unreached() || f.Cause == fetch.CauseTimeout)
}

// isSilent reports whether a database did not respond at all. Its own errors have a code.
func isSilent(err error) bool {
	_, answered := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return !answered
}

// abandonLate abandons an attempt while the database is unreachable. It retries for recordSpan.
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
