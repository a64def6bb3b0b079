package read

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/internal/dns"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/request"
)

// minSchemeWait is the least time without https after the fall-back to http: until the seeds
// without a scheme are skipped.
const minSchemeWait = time.Minute

// RobotsFailure is the decision about a robots.txt that could not be read.
type RobotsFailure struct {
	// Robots is the row to record.
	Robots crawl.Robots
	// RetrySoon is set if the request is retried after Wait. Failures counts the failures.
	RetrySoon bool
	Wait      time.Duration
	Failures  int
}

// HandleFailure decides about a robots.txt that the exchange could not read because of reason. The
// domain's pace is known by then. jitter is in [0,1).
func (o Origin) HandleFailure(x *request.Exchange, reason string, jitter float64) RobotsFailure {
	at := &x.Attempt
	failures := o.Stored.Failures + 1
	if x.Unreachable || o.isNameMissing(x) && !o.holdsCopy() {
		failures = max(failures, decide.RobotsAttempts)
	}
	pause := time.Duration(at.Delay)
	originOnly := x.FailureClass == politeness.FailureOrigin
	if originOnly {
		pause = o.backoff(failures, jitter)
	}
	wait := robotsWait(failures, pause, time.Duration(at.RetryAfter))
	// A name that was missing for long makes the domain unreachable, for all of its origins. Any other
	// failure defers only the origin.
	nameGone := o.isNameMissing(x) && o.Facts.Domain.Reachable == 0 && politeness.NameGone(*at.Health, o.Facts.Now)
	if nameGone {
		at.Health.AbandonedCount++
		wait = politeness.AbandonWait(at.Health.AbandonedCount)
		at.AbandonStatus, at.AbandonReason = crawl.DomainUnreachable, "the host name does not exist"
		at.AbandonFor = crawl.Millis(wait)
	}
	unreached := o.countUnreached(x)
	// Seeds without a scheme are requested over HTTP instead.
	fallsBack := o.Facts.Domain.HasSchemelessSeeds && decide.FallsBackToHTTP(o.Name, crawl.RobotsFacts{
		Verdict: crawl.RobotsUnreachable, UnansweredCount: unreached, WasRead: o.Stored.Age >= 0,
	})
	if fallsBack {
		if o.Stored.UnansweredCount < decide.RobotsAttempts {
			wait = time.Duration(at.Delay) // HTTP may redirect here in a moment
		}
		wait = max(wait, minSchemeWait)
	}
	u := o.failureVerdict(reason, at.StatusCode, failures, wait, originOnly && x.Response == nil)
	u.Robots.UnansweredCount = unreached
	u.RetrySoon = u.RetrySoon && !nameGone && !fallsBack && !originOnly
	return u
}

// HandleUnrequested decides about a robots.txt that cannot be requested because of reason.
func (o Origin) HandleUnrequested(reason string, jitter float64) RobotsFailure {
	failures := o.Stored.Failures + 1
	return o.failureVerdict(crawl.CleanText(reason, RobotsReasonMax), 0, failures, robotsWait(failures, o.backoff(failures, jitter), 0), false)
}

// backoff returns the wait of the origin after failures in a row, whatever its domain does.
func (o Origin) backoff(failures int, jitter float64) time.Duration {
	normal, _ := politeness.Delay(decide.PaceOf(o.Facts).Waits)
	return max(politeness.Backoff(politeness.FailureSetup, failures, normal, jitter), normal)
}

// failureVerdict returns the verdict on an unreadable robots.txt, and whether to retry it soon. A
// copy does not let us request the pages of an origin that is down.
func (o Origin) failureVerdict(reason string, status, failures int, wait time.Duration, isDown bool) RobotsFailure {
	u := RobotsFailure{Wait: wait, Failures: failures}
	if !isDown && o.holdsCopy() {
		remaining := MaxRobotsFresh - o.Stored.Age
		u.Robots = o.Stored
		u.Robots.Lifetime, u.Robots.StatusCode, u.Robots.Failed = crawl.Millis(min(max(wait, decide.RobotsLifetimeMin), remaining)), status, true
		u.Robots.Reason = fmt.Sprintf("%s: the copy read %s ago applies", reason, o.Stored.Age.Round(time.Second))
	} else {
		u.Robots = crawl.Robots{
			Verdict: crawl.RobotsUnreachable, StatusCode: status, Lifetime: crawl.Millis(wait),
			Reason: reason + ": no page is requested until it can be read",
			// A failing host is not requested faster.
			CrawlDelay: o.Stored.CrawlDelay, VisitTimes: o.Stored.VisitTimes,
		}
		u.RetrySoon = failures < decide.RobotsAttempts && wait <= time.Duration(*o.Run.Settings.DeferAfter)
	}
	u.Robots = o.withOrigin(u.Robots)
	return u
}

// isNameMissing reports whether the name servers report a missing domain. They cache that for
// minutes (RFC 2308), so the next tries would only read their caches.
func (o Origin) isNameMissing(x *request.Exchange) bool {
	return o.URL.Domain() == o.Domain && errors.Is(x.Err, dns.ErrNotFound)
}

// countUnreached counts the consecutive requests without a response of the origin, including this
// one. A name that cannot be resolved shows nothing about it. A refused connection counts twice,
// and a port without TLS for us counts decide.RobotsAttempts times.
func (o Origin) countUnreached(x *request.Exchange) int {
	failure, isFetchError := errors.AsType[*fetch.Error](x.Err)
	switch {
	case x.Response != nil, x.Attempt.StatusCode != 0, o.Hops > 0:
		return 0
	case !isFetchError:
		return o.Stored.UnansweredCount
	case failure.NoTLS():
		return max(o.Stored.UnansweredCount, decide.RobotsAttempts)
	case failure.Refused():
		return o.Stored.UnansweredCount + decide.RobotsAttempts/2
	}
	return o.Stored.UnansweredCount + 1
}

func (o Origin) holdsCopy() bool {
	read := []crawl.RobotsVerdict{crawl.RobotsRules, crawl.RobotsAllowAll, crawl.RobotsDisallowAll}
	return slices.Contains(read, o.Stored.Verdict) && !o.Outdated(o.Stored) && o.IsRecent()
}

// robotsWait returns the wait for robots.txt after failures in a row: first the domain's delay,
// later the wait of a domain that was abandoned.
func robotsWait(failures int, delay, after time.Duration) time.Duration {
	if failures < decide.RobotsAttempts {
		return max(delay, after)
	}
	return max(politeness.AbandonWait(failures-decide.RobotsAttempts+1), after)
}
