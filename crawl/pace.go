package crawl

import (
	"strings"
	"time"
)

// Reason says which rule decided a wait. The values are stored with slots and
// shown to people.
type Reason string

// The rules that can decide a wait.
const (
	// ReasonDelay is the run's configured delay.
	ReasonDelay Reason = "delay"
	// ReasonDomain is a delay a person set for the one domain.
	ReasonDomain Reason = "domain delay"
	// ReasonCrawlDelay is robots.txt's Crawl-delay.
	ReasonCrawlDelay Reason = "crawl-delay"
	// ReasonRetryAfter is a Retry-After header (RFC 9110 §10.2.3).
	ReasonRetryAfter Reason = "retry-after"
	// ReasonBackoff is the growing wait after failures.
	ReasonBackoff Reason = "back-off"
	// ReasonLatency is how long the last answer took, times the latency factor.
	ReasonLatency Reason = "latency"
	// ReasonSlowdown is answer times that have risen.
	ReasonSlowdown Reason = "slowdown"
	// ReasonGraylist is the circuit breaker.
	ReasonGraylist Reason = "graylisted"
	// ReasonIP is another domain's request to the same address.
	ReasonIP Reason = "ip"
	// ReasonSubnet is another domain's request to the same subnet.
	ReasonSubnet Reason = "subnet"
	// ReasonInFlight is a request that may not have ended yet.
	ReasonInFlight Reason = "in flight"
	// ReasonRobots is a robots.txt that could not be fetched.
	ReasonRobots Reason = "robots.txt unreachable"
	// ReasonWindow is a time of the week at which the domain is not to be asked.
	ReasonWindow Reason = "window"
	// ReasonScheduled is a page whose time has not come.
	ReasonScheduled Reason = "scheduled"
)

// Waits is what bears on how long a domain must be left alone after a request.
// Zero fields do not bear on it.
type Waits struct {
	// Configured is the strictest delay of the runs that have work here.
	Configured time.Duration
	// Domain is the delay a person set for this domain.
	Domain time.Duration
	// CrawlDelay is the largest Crawl-delay among the domain's origins.
	CrawlDelay time.Duration
	// Latency is the last answer's time, times the latency factor.
	Latency time.Duration
	// Slowdown is what rising answer times have earned.
	Slowdown time.Duration
	// RetryAfter is what the last answer asked for. It is never clamped.
	RetryAfter time.Duration
	// Backoff is the wait that failures have earned, see [Penalty].
	Backoff time.Duration
	// Graylist is how long the circuit breaker leaves the domain alone.
	Graylist time.Duration
}

// Delay is how long a domain must be left alone: the largest of the waits, and
// the rule it came from. Ties go to the rule named first in [Waits].
func Delay(w Waits) (time.Duration, Reason) {
	delay, reason := max(w.Configured, 0), ReasonDelay
	for _, c := range []struct {
		d time.Duration
		r Reason
	}{
		{w.Domain, ReasonDomain},
		{w.CrawlDelay, ReasonCrawlDelay},
		{w.Latency, ReasonLatency},
		{w.Slowdown, ReasonSlowdown},
		{w.RetryAfter, ReasonRetryAfter},
		{w.Backoff, ReasonBackoff},
		{w.Graylist, ReasonGraylist},
	} {
		if c.d > delay {
			delay, reason = c.d, c.r
		}
	}
	return delay, reason
}

// Trouble classes a failed attempt by what it means for the next one.
type Trouble int

// The kinds of trouble.
const (
	// TroubleNone needs no retry: the attempt succeeded or failed for good.
	TroubleNone Trouble = iota
	// TroubleServer is a 429, 5xx, time-out or reset: the wait doubles.
	TroubleServer
	// TroubleSetup is DNS or TLS: the wait quadruples.
	TroubleSetup
)

const (
	// BackoffBase is the wait after a first failure, before jitter.
	BackoffBase = time.Second
	// BackoffMax caps the exponential wait. A Retry-After is not capped by it.
	BackoffMax = 300 * time.Second
)

// Backoff is the wait after the failures-th failure in a row (from 1): BackoffBase
// or the delay if that is larger, doubled for each failure ([TroubleServer]) or
// quadrupled ([TroubleSetup]), with jitter in [0,1) adding up to a quarter, and
// capped at BackoffMax, or at the delay where that is larger.
func Backoff(t Trouble, failures int, delay time.Duration, jitter float64) time.Duration {
	if t == TroubleNone || failures < 1 {
		return 0
	}
	wait := 0.0
	for range failures {
		if grown := backoff(t, wait, delay); grown > wait {
			wait = grown
			continue
		}
		break
	}
	return jittered(wait, delay, jitter)
}

// backoff is the wait after one more failure: the last wait, or BackoffBase or the
// delay if that is larger, times the trouble's factor, up to the limit.
func backoff(t Trouble, prev float64, delay time.Duration) float64 {
	factor := 2.0
	if t == TroubleSetup {
		factor = 4.0
	}
	return min(factor*max(prev, float64(delay), float64(BackoffBase)), float64(max(BackoffMax, delay)))
}

// jittered adds up to a quarter to a wait, up to the limit.
func jittered(wait float64, delay time.Duration, jitter float64) time.Duration {
	return time.Duration(min(wait*(1+min(max(jitter, 0), 1)/4), float64(max(BackoffMax, delay))))
}

// PutAway says whether a wait is so long that the domain's workflow should end and
// the dispatcher start it again in time. Only a server's own request to stay
// away counts; a Crawl-delay of any size is slept through.
func PutAway(wait time.Duration, reason Reason, patience time.Duration) bool {
	switch reason {
	case ReasonRetryAfter, ReasonRobots, ReasonScheduled, ReasonBackoff:
		return wait > patience
	default:
		return false
	}
}

// ShortURL is a URL cut to limit bytes for a one-line summary, the middle left
// out.
func ShortURL(u string, limit int) string {
	const ellipsis = "…"
	if len(u) <= limit || limit <= 2*len(ellipsis) {
		return u
	}
	head := (limit - len(ellipsis)) * 2 / 3
	tail := limit - len(ellipsis) - head
	return strings.ToValidUTF8(u[:head], "") + ellipsis + strings.ToValidUTF8(u[len(u)-tail:], "")
}
