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

var errAborted = fmt.Errorf("interrupted: %w", ErrStopping)

// recentResponse limits the age of another origin's response that proves a working network. Three
// delays of the domain do so too, if they are longer.
const recentResponse = time.Minute

// ownFailure returns the error if a failure is our fault, and notifies the network's monitor.
func (c *Client) ownFailure(ctx context.Context, x *Exchange, req Request, t target, began time.Time) error {
	f, _ := errors.AsType[*fetch.Error](x.Err)
	// The lease must not end before the attempt is recorded.
	ctx, cancel := context.WithDeadline(ctx, began.Add(c.leaseDuration()-leaseMargin/2))
	defer cancel()
	failure := network.Failure{Key: t.ip(), WithdrawnTime: req.WithdrawnTime, ReachedBefore: req.ReachedRecently}
	delay, _ := politeness.Delay(req.Pace.Waits)
	answeredAt := politeness.LastOtherOriginAnswer(req.Health, req.URL.Origin())
	isAnotherOriginResponding := !answeredAt.IsZero() && req.Now.Sub(answeredAt) <= max(recentResponse, 3*delay)
	switch {
	case x.Err == nil:
	case f == nil && errors.Is(x.Err, dns.ErrTemporary):
		failure.Key, failure.Waited, failure.Reason = req.URL.Host(), time.Since(firstQueryTime(x.Err, began)), "no answer from a name server"
		return c.Network.JudgeFailure(ctx, failure)
	case f == nil: // the name servers report that the host does not exist
		return nil
	case f.Cause == fetch.CauseCanceled && c.aborted.Err() != nil:
		return errAborted
	case f.Cause == fetch.CauseLocal, !f.Sent && (f.Cause == fetch.CauseDeadline || f.Cause == fetch.CauseCanceled):
		return x.Err
	case f.Cause == fetch.CauseCanceled:
		return nil
	case !f.Connected && isAnotherOriginResponding:
		return nil // the network works, only the origin fails
	case f.Unreached():
		failure.Waited, failure.Reason = f.EndedAt.Sub(began), f.Brief()
		return c.Network.JudgeFailure(ctx, failure)
	case f.Cause == fetch.CauseTimeout:
		failure.Waited, failure.Connected, failure.Reason = f.Total, true, f.Brief()
		return c.Network.JudgeFailure(ctx, failure)
	case !f.Sent:
		return nil
	}
	c.Network.RecordReached(t.ip())
	x.Attempt.Reached = true
	return nil
}

// firstQueryTime returns the time of the first unanswered name query, but not after began.
func firstQueryTime(err error, began time.Time) time.Time {
	if failure, ok := errors.AsType[*dns.Error](err); ok && !failure.QueriedAt.IsZero() && failure.QueriedAt.Before(began) {
		return failure.QueriedAt
	}
	return began
}

// withdraw undoes an attempt that failed through no fault of the site. A site that may have noticed
// it gets its usual delay. A request with a connection is stored as a row.
func (c *Client) withdraw(ctx context.Context, req Request, s crawl.Start, l crawl.Lease, x *Exchange, reason error) error {
	ctx = context.WithoutCancel(ctx)
	_, isNetworkDown := errors.AsType[*network.DownError](reason)
	return errors.Join(reason, c.withdrawAttempt(ctx, req, s, l, x, reason.Error(), isNetworkDown))
}

// withdrawAttempt does the same, but returns only the errors of the store.
func (c *Client) withdrawAttempt(
	ctx context.Context, req Request, s crawl.Start, l crawl.Lease, x *Exchange, reason string, isNetworkDown bool,
) error {
	cleanReason := crawl.Attempt{Error: reason}.Clean().Error
	delay := time.Duration(0)
	f, ok := errors.AsType[*fetch.Error](x.Err)
	hasResponse := x.Response != nil // the response could not be read or stored
	if hasResponse || ok && f.Sent {
		delay, _ = delayWithoutNewSample(req, req.Pace.Waits)
	}
	if hasResponse || ok && f.Connected {
		return c.Store.Withdraw(ctx, s, l.AttemptID, delay, isNetworkDown, cleanReason, x.Attempt.RobotsVersion)
	}
	return c.Store.Abandon(ctx, s, l.AttemptID, delay, isNetworkDown, cleanReason)
}

// errCutOff means that both the site and the database failed to respond. Most likely this machine
// was cut off, so the attempt is undone.
var errCutOff = errors.New("neither the site nor the database responded, so the failure is not counted against the site")

// isDatabaseSilent reports whether a database did not respond at all. Its own errors have a code.
func isDatabaseSilent(err error) bool {
	_, hasSQLState := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return !hasSQLState
}

// withdrawWithRetry abandons an attempt while the database is unreachable. It retries for
// recordTimeout.
func (c *Client) withdrawWithRetry(ctx context.Context, req Request, s crawl.Start, l crawl.Lease, x *Exchange, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxRecordPause) {
		c.Warn(ctx, "could not record an attempt", "crawl", l.AttemptID, "error", reason)
		withdrawErr := c.withdrawAttempt(ctx, req, s, l, x, reason.Error(), false)
		if withdrawErr == nil || errors.Is(withdrawErr, crawl.ErrRefused) {
			return errors.Join(reason, withdrawErr)
		}
		if !sleep(ctx, pause) {
			return errors.Join(reason, withdrawErr)
		}
	}
}
