package politeness

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Delay returns the largest wait and its rule. Ties go to the first rule in [crawl.WaitReason].
func Delay(w crawl.Waits) (time.Duration, reasons.Reason) {
	delay, reason := max(w.Configured, 0), reasons.Delay
	for _, c := range []struct {
		d time.Duration
		r reasons.Reason
	}{
		{w.Domain, reasons.Domain},
		{w.CrawlDelay, reasons.CrawlDelay},
		{w.Latency, reasons.Latency},
		{w.Slowdown, reasons.Slowdown},
		{w.RetryAfter, reasons.RetryAfter},
		{w.Backoff, reasons.Backoff},
		{w.Graylist, reasons.Graylist},
	} {
		if c.d > delay {
			delay, reason = c.d, c.r
		}
	}
	return delay, reason
}

// FailureClass classifies a failed attempt by its consequence for the next attempt.
type FailureClass int

// The classes of failures.
const (
	FailureNone FailureClass = iota // needs no retry: the attempt succeeded or failed permanently
	// FailurePage is a 5xx other than 503, or a timeout. Only the page has failed if other pages
	// respond: it is retried later, without slowing the domain down.
	FailurePage
	// FailureOrigin is an origin without a connection, TLS or a readable robots.txt, while another
	// origin of the domain responds. The origin is deferred, and the domain keeps its pace.
	FailureOrigin
	// FailureServer is a 429, 503, Retry-After, or broken connection: the domain's wait doubles.
	FailureServer
	FailureSetup // DNS or TLS: the wait quadruples
)

const (
	// BackoffBase is the minimum base of a first failure's wait.
	BackoffBase = time.Second
	// BackoffFactor is the growth of each wait for [FailureServer].
	BackoffFactor = 2
	// BackoffMax caps the exponential wait, but not a Retry-After.
	BackoffMax = 300 * time.Second
)

// Backoff returns the wait after the failures-th consecutive failure (from 1). It is BackoffBase or
// a larger delay, doubled for each failure ([FailureServer]) or quadrupled ([FailureSetup]). jitter
// in [0,1) adds up to a quarter. The cap is BackoffMax, or a larger delay.
func Backoff(t FailureClass, failures int, delay time.Duration, jitter float64) time.Duration {
	if t == FailureNone || failures < 1 {
		return 0
	}
	wait := 0.0
	for range failures {
		grown := backoff(t, wait, delay)
		if grown <= wait {
			break
		}
		wait = grown
	}
	return Jittered(wait, delay, jitter)
}

// backoff returns the wait after one more failure: the last wait, BackoffBase or the delay,
// whichever is largest, times the failure's factor, up to the limit.
func backoff(t FailureClass, prev float64, delay time.Duration) float64 {
	factor := float64(BackoffFactor)
	if t == FailureSetup {
		factor = 4.0
	}
	return min(factor*max(prev, float64(delay), float64(BackoffBase)), float64(max(BackoffMax, delay)))
}

// Jittered adds up to a quarter, by jitter in [0,1), up to BackoffMax or the delay.
func Jittered(wait float64, delay time.Duration, jitter float64) time.Duration {
	return time.Duration(min(wait*(1+min(max(jitter, 0), 1)/4), float64(max(BackoffMax, delay))))
}
