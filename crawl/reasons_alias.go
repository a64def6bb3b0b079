package crawl

import "github.com/mosey-web/mosey/crawl/reasons"

// Reason is a reason of the table in package reasons.
type Reason = reasons.Reason

// The reasons.
const (
	ReasonDelay       = reasons.Delay
	ReasonDomain      = reasons.Domain
	ReasonCrawlDelay  = reasons.CrawlDelay
	ReasonRetryAfter  = reasons.RetryAfter
	ReasonBackoff     = reasons.Backoff
	ReasonLatency     = reasons.Latency
	ReasonSlowdown    = reasons.Slowdown
	ReasonGraylist    = reasons.Graylist
	ReasonInFlight    = reasons.InFlight
	ReasonIP          = reasons.IP
	ReasonSubnet      = reasons.Subnet
	ReasonRegistered  = reasons.Registered
	ReasonRobots      = reasons.Robots
	ReasonWindow      = reasons.Window
	ReasonScheduled   = reasons.Scheduled
	ReasonYields      = reasons.Yields
	ReasonDeferred    = reasons.Deferred
	ReasonPaused      = reasons.Paused
	ReasonStopped     = reasons.Stopped
	ReasonBlocked     = reasons.Blocked
	ReasonListed      = reasons.Listed
	ReasonBudget      = reasons.Budget
	ReasonFresh       = reasons.Fresh
	ReasonMinRefetch  = reasons.MinRefetch
	ReasonTrap        = reasons.Trap
	ReasonExcluded    = reasons.Excluded
	ReasonExtension   = reasons.Extension
	ReasonVariant     = reasons.Variant
	ReasonScheme      = reasons.Scheme
	ReasonDepthBudget = reasons.DepthBudget
	ReasonImageBudget = reasons.ImageBudget
	ReasonImagesOff   = reasons.ImagesOff
	ReasonStale       = reasons.Stale
)
