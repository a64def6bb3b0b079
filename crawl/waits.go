package crawl

import "time"

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
	// Backoff is the wait that failures have earned, see Penalty in package
	// politeness.
	Backoff time.Duration
	// Graylist is how long the circuit breaker leaves the domain alone.
	Graylist time.Duration
}
