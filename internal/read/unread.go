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

// schemePutOff is the least time without https after the fall-back to http: until the seeds without
// a scheme are skipped.
const schemePutOff = time.Minute

// Unread is the decision about a robots.txt that could not be read.
type Unread struct {
	// Robots is the row to record.
	Robots crawl.Robots
	// Soon is set if the request is retried after Wait. Try counts the failures.
	Soon bool
	Wait time.Duration
	Try  int
}

// Failed decides about a robots.txt that the exchange could not read because of why. The domain's
// pace is known by then. jitter is in [0,1).
func (o Origin) Failed(x *request.Exchange, why string, jitter float64) Unread {
	at := &x.Attempt
	try := o.Stored.Failures + 1
	if x.Away || o.noName(x) && !o.holdsCopy() {
		try = max(try, decide.RobotsTries)
	}
	rest := time.Duration(at.Delay)
	alone := x.Trouble == politeness.TroubleOrigin
	if alone {
		rest = o.backoff(try, jitter)
	}
	wait := putOff(try, rest, time.Duration(at.RetryAfter))
	// A name that was missing for long makes the domain unreachable, for all of its origins. Any other
	// failure defers only the origin.
	gone := o.noName(x) && o.Facts.Domain.Reachable == 0 && politeness.NameGone(*at.Health, o.Facts.Now)
	if gone {
		at.Health.GivenUp++
		wait = politeness.GiveUp(at.Health.GivenUp)
		at.GiveUp, at.GiveUpReason = crawl.DomainUnreachable, "the host name does not exist"
		at.GiveUpFor = crawl.Millis(wait)
	}
	unreached := o.unreached(x)
	// Seeds without a scheme are requested over HTTP instead.
	fallsBack := o.Facts.Domain.Bare && decide.FallsBack(o.Name, crawl.RobotsFacts{
		Verdict: crawl.RobotsUnreachable, Unreached: unreached, Read: o.Stored.Age >= 0,
	})
	if fallsBack {
		if o.Stored.Unreached < decide.RobotsTries {
			wait = time.Duration(at.Delay) // HTTP may redirect here in a moment
		}
		wait = max(wait, schemePutOff)
	}
	u := o.unread(why, at.StatusCode, try, wait, alone && x.Response == nil)
	u.Robots.Unreached = unreached
	u.Soon = u.Soon && !gone && !fallsBack && !alone
	return u
}

// Unasked decides about a robots.txt that cannot be requested because of why.
func (o Origin) Unasked(why string, jitter float64) Unread {
	try := o.Stored.Failures + 1
	return o.unread(crawl.CleanText(why, RobotsReasonMax), 0, try, putOff(try, o.backoff(try, jitter), 0), false)
}

// backoff returns the wait of the origin after failures in a row, whatever its domain does.
func (o Origin) backoff(failures int, jitter float64) time.Duration {
	normal, _ := politeness.Delay(decide.PaceOf(o.Facts).Waits)
	return max(politeness.Backoff(politeness.TroubleSetup, failures, normal, jitter), normal)
}

// unread returns the verdict on an unreadable robots.txt, and whether to retry it soon. A copy does
// not let us request the pages of an origin that is down.
func (o Origin) unread(why string, status, try int, wait time.Duration, down bool) Unread {
	u := Unread{Wait: wait, Try: try}
	if !down && o.holdsCopy() {
		left := RobotsFresh - o.Stored.Age
		u.Robots = o.Stored
		u.Robots.Fresh, u.Robots.StatusCode, u.Robots.Failed = crawl.Millis(min(max(wait, decide.RobotsFreshLeast), left)), status, true
		u.Robots.Reason = fmt.Sprintf("%s: the copy read %s ago applies", why, o.Stored.Age.Round(time.Second))
	} else {
		u.Robots = crawl.Robots{
			Verdict: crawl.RobotsUnreachable, StatusCode: status, Fresh: crawl.Millis(wait),
			Reason: why + ": no page is requested until it can be read",
			// A failing host is not requested faster.
			CrawlDelay: o.Stored.CrawlDelay, VisitTimes: o.Stored.VisitTimes,
		}
		u.Soon = try < decide.RobotsTries && wait <= time.Duration(*o.Run.Settings.DeferAfter)
	}
	u.Robots = o.named(u.Robots)
	return u
}

// noName reports whether the name servers report a missing domain. They cache that for minutes (RFC
// 2308), so the next tries would only read their caches.
func (o Origin) noName(x *request.Exchange) bool {
	return o.URL.Domain() == o.Domain && errors.Is(x.Err, dns.ErrNotFound)
}

// unreached counts the consecutive requests without a response of the origin, including this one. A
// name that cannot be resolved says nothing about it. A refused connection counts twice, and a port
// without TLS for us counts RobotsTries times.
func (o Origin) unreached(x *request.Exchange) int {
	failure, noAnswer := errors.AsType[*fetch.Error](x.Err)
	switch {
	case x.Response != nil, x.Attempt.StatusCode != 0, o.Hops > 0:
		return 0
	case !noAnswer:
		return o.Stored.Unreached
	case failure.NoTLS():
		return max(o.Stored.Unreached, decide.RobotsTries)
	case failure.Refused():
		return o.Stored.Unreached + decide.RobotsTries/2
	}
	return o.Stored.Unreached + 1
}

func (o Origin) holdsCopy() bool {
	read := []crawl.RobotsVerdict{crawl.RobotsRules, crawl.RobotsAllowAll, crawl.RobotsDisallowAll}
	return slices.Contains(read, o.Stored.Verdict) && !o.Outdated(o.Stored) && o.Lately()
}

// putOff returns the wait for robots.txt after failures in a row: first the domain's delay, later
// the wait of a domain that was given up.
func putOff(failures int, delay, after time.Duration) time.Duration {
	if failures < decide.RobotsTries {
		return max(delay, after)
	}
	return max(politeness.GiveUp(failures-decide.RobotsTries+1), after)
}
