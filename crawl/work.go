package crawl

import (
	"encoding/json"
	"time"
)

// RobotsVerdict is what a fetch of robots.txt came to. The values are the labels
// of the database type robots_verdict.
type RobotsVerdict string

// The verdicts a robots.txt can have (RFC 9309 §2.3.1).
const (
	// RobotsUnknown has never been fetched.
	RobotsUnknown RobotsVerdict = ""
	// RobotsRules was read: its rules hold.
	RobotsRules RobotsVerdict = "rules"
	// RobotsAllowAll does not exist (4xx): everything is allowed.
	RobotsAllowAll RobotsVerdict = "allow_all"
	// RobotsDisallowAll cannot be understood: nothing is allowed.
	RobotsDisallowAll RobotsVerdict = "disallow_all"
	// RobotsUnreachable could not be fetched: nothing is allowed for now.
	RobotsUnreachable RobotsVerdict = "unreachable"
)

// Next is the crawl a domain should make next, with what is needed to decide on
// it. CrawlID 0 means that nothing is due.
type Next struct {
	CrawlID     int64
	Run         string
	URL         string
	Origin      string
	Attempt     int // 1 for the first
	MaxAttempts int
	Patience    time.Duration
	// Depth is the number of links from a seed.
	Depth int

	// Purpose is what the run is for, and BlockOnLogin whether a login page in place
	// of a page counts as a refusal.
	Purpose      Purpose
	BlockOnLogin bool

	// Visit is what is known of the page from the last time, and MinRefetch how
	// lately that may have been.
	Visit      Visit
	MinRefetch time.Duration
	// SpentPatterns are the domain's patterns of URLs whose budget is spent.
	SpentPatterns []string
	// Windows are when the domain may be asked, as texts for ParseWindows; all of
	// them have to be open.
	Windows []string
	// Now is when this was read, on the database's clock.
	Now time.Time

	// LatencyFactor and Breaker are the run's, Health the domain's.
	LatencyFactor float64
	Breaker       BreakerSettings
	Health        Health

	RobotsVerdict RobotsVerdict
	// RobotsVersion identifies the stored rules; it changes with every fetch.
	RobotsVersion int64
	// RobotsFresh is how long the verdict still holds; not positive when expired.
	RobotsFresh  time.Duration
	RobotsReason string
	// TDMKnown says that the origin's tdmrep.json has been asked for.
	TDMKnown bool

	// Waits has the fields that do not depend on the answer.
	Waits Waits
	// IPDelay and SubnetDelay are 0 where they are off.
	IPDelay     time.Duration
	SubnetDelay time.Duration

	// SlotWait is how long the domain's slot stays closed, and SlotReason why.
	SlotWait   time.Duration
	SlotReason Reason
	// DueIn is, when nothing is due, how long until something will be; negative
	// when nothing is pending.
	DueIn time.Duration
}

// SeedCrawl is a seed's crawl. Of Next only what identifies it and its robots.txt
// is set.
type SeedCrawl struct {
	Domain string
	Next
}

// Permit is the guard's answer to a request for a slot.
type Permit struct {
	Granted bool
	// Wait is how long to wait before asking again, when not granted.
	Wait time.Duration
	// Reason is what to wait for; ReasonStale when there is nothing to wait for.
	Reason Reason
}

// ReasonStale says that a crawl is no longer there to be begun: somebody else
// has it, its run has stopped, or a budget is spent.
const ReasonStale Reason = "stale"

// Link is a page found on another.
type Link struct {
	// URL is canonical, Domain and Origin are its own.
	URL, Domain, Origin string

	NoFollow bool
	// Trap is why it is not to be crawled; its Kind is empty where it is.
	Trap Trap
}

// NoRetry, as an Attempt's RetryIn, makes the attempt the page's last.
const NoRetry time.Duration = -1

// Attempt is all there is to record of one attempt to fetch a page.
type Attempt struct {
	CrawlID int64
	Domain  string
	// Requested is false when no request was made; then no slot is held.
	Requested bool
	// IP is the address whose slot is held, if one is.
	IP string

	Outcome     Outcome
	StatusCode  int    // 0: no answer
	Error       string // empty: none
	ContentType string
	Bytes       int64
	// Duration is how long the request took and EndedAt when it had ended, on this
	// process's monotonic clock.
	Duration time.Duration
	EndedAt  time.Time

	// Delay, IPDelay and SubnetDelay are how long the domain, the address and its
	// subnet must be left alone, counted from EndedAt, and Reason why.
	Delay       time.Duration
	IPDelay     time.Duration
	SubnetDelay time.Duration
	Reason      Reason
	// RetryIn is when to try again, counted from EndedAt, or NoRetry.
	RetryIn time.Duration
	// RetryAfter is what the server asked for; 0 is nothing.
	RetryAfter time.Duration
	// Origin and RobotsVersion name the robots.txt that allowed the request.
	Origin        string
	RobotsVersion int64
	// Health is what the answer has made of the domain, and Verdict, if not empty,
	// the status it ends with, for VerdictReason.
	Health        Health
	Verdict       DomainStatus
	VerdictReason string

	// Login says that it answered with a login page in place of the page.
	Login bool
	// Permits is what the publisher says about the page's use, as JSON; empty where
	// that is nothing.
	Permits json.RawMessage

	Title     string
	Canonical string
	NoIndex   bool
	NoFollow  bool
	Links     []Link
	// Redirect says that Links is the one target of a redirect.
	Redirect bool

	// Skipped is why no request was made, where the reason lies with the page.
	Skipped Reason
	// Unchanged says in words why the page counts as what it was at the last
	// visit: then only Visit is new.
	Unchanged string
	Visit     Visit
	// SimHash is nil where the text is too short to have one.
	SimHash *SimHash
	// Patterns are charged with the page; NoNews says that it is known to have
	// brought none.
	Patterns []string
	NoNews   bool
	// Trap is why the page is not requested, if it is not.
	Trap Trap
}

// The kinds of requests that are not for a page. The values are stored.
const (
	RequestRobots = "robots"
	RequestTDM    = "tdm"
)

// RobotsRequest is all there is to record of one request for a robots.txt, or for
// what else an origin says about all its pages.
type RobotsRequest struct {
	// Kind is RequestRobots or RequestTDM.
	Kind string
	// Domain and IP are those whose slots Holder holds.
	Domain string
	IP     string
	Holder string
	URL    string
	// StatusCode is 0 where there was no answer.
	StatusCode int
	Duration   time.Duration
	EndedAt    time.Time
	// Delay, IPDelay, SubnetDelay, Reason and RetryAfter are as in Attempt.
	Delay       time.Duration
	IPDelay     time.Duration
	SubnetDelay time.Duration
	Reason      Reason
	RetryAfter  time.Duration
}

// Robots is what is stored of an origin's robots.txt.
type Robots struct {
	Origin  string
	Domain  string
	Verdict RobotsVerdict
	// Rules is the one group that applies to Agent, the product token it was read
	// for, as a robots.txt.
	Agent string
	Rules string
	// CrawlDelay is nil where none is given.
	CrawlDelay *time.Duration
	Sitemaps   []string
	// TDM is the origin's tdmrep.json as JSON; empty while it has not been asked for.
	TDM json.RawMessage
	// Reason says in words how the verdict came about.
	Reason     string
	StatusCode int
	// ETag and LastModified are what to ask for it again with.
	ETag         string
	LastModified time.Time
	// Failed says that it could not be read: the verdict is then RobotsUnreachable,
	// or that of the last copy.
	Failed bool
	// Failures counts the fetches in a row that failed, and Failing is for how long.
	Failures int
	Failing  time.Duration
	// Age is for how long the verdict has been known from an answer; negative where
	// there never was one.
	Age time.Duration
	// Version identifies this fetch.
	Version int64
	// Fresh is how long the verdict holds, counted from when it is saved or read.
	Fresh time.Duration
	// FetchedAt and ExpiresAt are on the database's clock.
	FetchedAt time.Time
	ExpiresAt time.Time
}
