package crawl

import "time"

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
	// ReasonRegistered is a request to another host of the same registered domain.
	ReasonRegistered Reason = "registered"
	// ReasonInFlight is a request that may not have ended yet.
	ReasonInFlight Reason = "in flight"
	// ReasonRobots is a robots.txt that could not be fetched.
	ReasonRobots Reason = "robots.txt unreachable"
	// ReasonWindow is a time of the week at which the domain is not to be asked.
	ReasonWindow Reason = "window"
	// ReasonScheduled is a page whose time has not come.
	ReasonScheduled Reason = "scheduled"
	// ReasonYields is a domain that makes room for others that wait.
	ReasonYields Reason = "yields"
	// ReasonFresh is a page that its server said will not change yet.
	ReasonFresh Reason = "fresh"
	// ReasonTrap is a page that is part of an endless space.
	ReasonTrap Reason = "trap"
	// ReasonExcluded is a page that its run's patterns exclude, or do not include.
	ReasonExcluded Reason = "excluded"
	// ReasonExtension is a file that cannot be parsed, by its extension.
	ReasonExtension Reason = "extension"
	// ReasonVariant is another view of a page, as common software has it.
	ReasonVariant Reason = "variant"
	// ReasonDepthBudget is a page for which the budget of its depth is spent.
	ReasonDepthBudget Reason = "depth-budget"
	// ReasonImageBudget is an image for which its domain's budget of images is spent, and
	// ReasonImagesOff one of a run that takes no images any more.
	ReasonImageBudget Reason = "image-budget"
	ReasonImagesOff   Reason = "images-off"
	// ReasonScheme is a page of https that was seeded without a scheme, and is asked by
	// http since https cannot be reached.
	ReasonScheme Reason = "scheme"
	// ReasonMinRefetch is a page that was fetched lately by our own standards.
	ReasonMinRefetch Reason = "min-refetch"
	// ReasonDeferred is a domain that is not to be asked before an instant.
	ReasonDeferred Reason = "deferred"
	// ReasonPaused, ReasonStopped and ReasonBlocked are a person's word.
	ReasonPaused  Reason = "paused"
	ReasonStopped Reason = "stopped"
	ReasonBlocked Reason = "blocked"
	// ReasonListed is a domain that a list keeps from being crawled.
	ReasonListed Reason = "listed"
	// ReasonBudget is a domain for which a budget of the run is spent.
	ReasonBudget Reason = "budget"
	// ReasonStale is a crawl that is no longer there to be begun: another worker has
	// it, its run has stopped, or a budget is spent.
	ReasonStale Reason = "stale"
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
	// Backoff is the wait that failures have earned, see Penalty in package
	// politeness.
	Backoff time.Duration
	// Graylist is how long the circuit breaker leaves the domain alone.
	Graylist time.Duration
}
