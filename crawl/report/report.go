package report

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Totals counts attempts by outcome.
type Totals struct {
	Success       int64 `json:"success"`
	BlockedRobots int64 `json:"blocked_robots"`
	Blocked4xx    int64 `json:"blocked_4xx"`
	Blocked5xx    int64 `json:"blocked_5xx"`
	Timeout       int64 `json:"timeout"`
	Failed        int64 `json:"failed"`
	// Skipped counts attempts that were closed without a request; Skips counts them by reason.
	Skipped int64                    `json:"skipped"`
	Skips   map[reasons.Reason]int64 `json:"skips,omitempty"`
	Bytes   int64                    `json:"bytes"`
	// RequestCount counts attempts with a request, made or tried.
	RequestCount int64 `json:"requests"`
	// NoFollow counts pages whose publisher forbids following all links.
	NoFollow int64 `json:"nofollow,omitempty"`
	// ImagesFound counts the images that pages name. ImageRequests counts requests for images, not
	// counted by RequestCount. ImagesStored counts images with recorded content.
	ImagesFound   int64 `json:"images_found,omitempty"`
	ImageRequests int64 `json:"images_requests,omitempty"`
	ImagesStored  int64 `json:"images_stored,omitempty"`
}

// Since subtracts earlier totals of the same subject.
func (t Totals) Since(before Totals) Totals {
	t.Success -= before.Success
	t.BlockedRobots -= before.BlockedRobots
	t.Blocked4xx -= before.Blocked4xx
	t.Blocked5xx -= before.Blocked5xx
	t.Timeout -= before.Timeout
	t.Failed -= before.Failed
	t.Skipped -= before.Skipped
	t.Bytes -= before.Bytes
	t.RequestCount -= before.RequestCount
	t.NoFollow -= before.NoFollow
	t.ImagesFound -= before.ImagesFound
	t.ImageRequests -= before.ImageRequests
	t.ImagesStored -= before.ImagesStored
	skips := make(map[reasons.Reason]int64)
	for reason, n := range t.Skips {
		if n -= before.Skips[reason]; n != 0 {
			skips[reason] = n
		}
	}
	if t.Skips = skips; len(skips) == 0 {
		t.Skips = nil
	}
	return t
}

// WithContent counts the successful attempts whose response had something to read.
func (t Totals) WithContent() int64 {
	n := t.Success
	for reason, responses := range t.Skips {
		if row := reason.Row(); row.Subject == reasons.Response && !row.IsWall { // a wall is no success
			n -= responses
		}
	}
	return max(n, 0)
}

// OutcomeCount counts the attempts with an outcome.
type OutcomeCount struct {
	Outcome crawl.Outcome
	N       int64
}

// Outcomes lists all outcomes in display order, even if they did not occur.
func (t Totals) Outcomes() []OutcomeCount {
	return []OutcomeCount{
		{crawl.OutcomeSuccess, t.Success},
		{crawl.OutcomeBlockedRobots, t.BlockedRobots},
		{crawl.OutcomeBlocked4xx, t.Blocked4xx},
		{crawl.OutcomeBlocked5xx, t.Blocked5xx},
		{crawl.OutcomeTimeout, t.Timeout},
		{crawl.OutcomeFailed, t.Failed},
		{crawl.OutcomeSkipped, t.Skipped},
	}
}

// Attempts returns the number of closed crawls.
func (t Totals) Attempts() int64 {
	return t.Success + t.Blocked4xx + t.Blocked5xx + t.Timeout + t.Failed + t.BlockedRobots + t.Skipped
}

// Requests returns the number of attempts with a request, made or tried.
func (t Totals) Requests() int64 { return t.RequestCount }

// The limits of the counts of pending attempts, and of pages that wait for their keywords.
const (
	FrontierBound = 1_000_000
	KeywordsBound = 20_000
)

// Progress is the progress of a run.
type Progress struct {
	crawl.Run
	Totals

	Domains     int64 `json:"domains"`
	SeedDomains int64 `json:"seed_domains"`
	// Workers counts all running workers. WorkerSeenAt is the last sign of one; zero means never.
	Workers      int64     `json:"workers"`
	WorkerSeenAt time.Time `json:"worker_seen_at,omitzero"`
	// Active counts the domains with a workflow for the run. ClaimedElsewhere counts the domains with
	// work for it that another run has claimed.
	Active           int64 `json:"active_domains"`
	ClaimedElsewhere int64 `json:"domains_elsewhere,omitempty"`
	// Pending counts attempts that are not closed, up to FrontierBound; Deferred counts the future
	// ones. InFlight counts the requests in flight, including robots.txt.
	Pending  int64 `json:"pending"`
	InFlight int64 `json:"in_flight"`
	Deferred int64 `json:"deferred"`
	// Due counts the due domains without a workflow, up to crawl.RemainingWorkBound.
	Due int64 `json:"due_domains"`
	// Waiting lists active domains, the next to be requested first.
	Waiting []WaitingDomain `json:"waiting,omitempty"`
	// NotDue counts the other pending domains by reason, among the first NotDueBound.
	NotDue []NotDue `json:"not_due,omitempty"`
	// Outages lists the workers without network now, whatever their run.
	Outages []crawl.Outage `json:"outages,omitempty"`
	// Limited is set while requests wait for the limit of all workers, whatever their run.
	Limited *FleetUse `json:"limited,omitempty"`
	// KeywordsWaiting counts fetched pages of all runs that no search finds yet, up to KeywordsBound.
	// It is set on demand, like Detail.
	KeywordsWaiting int `json:"keywords_waiting"`
	*Detail
}

// WaitingDomain is an active domain and the reason for its wait.
type WaitingDomain struct {
	Domain string         `json:"domain"`
	Reason reasons.Reason `json:"reason"`
	// InFlight is set while a request to the domain is in flight.
	InFlight bool `json:"in_flight,omitempty"`
	// Until is the end of the wait; zero if something has to change first.
	Until time.Time `json:"until,omitzero"`
}

// NotDue counts domains with pending attempts that are not requested, for one reason.
type NotDue struct {
	Reason  reasons.Reason `json:"reason"`
	Domains int64          `json:"domains"`
	// Domain is an example. Until ends the first wait; zero means not before something changes.
	Domain string    `json:"domain"`
	Until  time.Time `json:"until,omitzero"`
}

// NotDueBound bounds the domains that NotDue covers.
const NotDueBound = 10_000

// Detail lists the obstacles of a run. Each list is bounded, and its total is not.
type Detail struct {
	// Obstacles cannot be requested now.
	Obstacles     []Obstacle `json:"obstacles,omitempty"`
	ObstacleTotal int        `json:"obstacles_total,omitempty"`
	// Forbidden lists domains that an operator has closed to requests.
	Forbidden      []ForbiddenDomain `json:"forbidden,omitempty"`
	ForbiddenTotal int               `json:"forbidden_total,omitempty"`
	// NoFollowDomains lists seeded domains whose pages all forbid following links.
	NoFollowDomains []string `json:"nofollow_domains,omitempty"`
}

// ForbiddenDomain is a domain that an operator has paused, stopped or blocked.
type ForbiddenDomain struct {
	Domain string `json:"domain"`
	crawl.Control
}

// ObstacleState is a run's reason for not requesting a domain or an origin now.
type ObstacleState string

// The states of domains, and of an origin.
const (
	ObstacleUnreachable ObstacleState = "unreachable"            // abandoned: no usable responses
	ObstacleBlocked     ObstacleState = "blocked"                // abandoned: it refused all requests
	ObstacleDeferred    ObstacleState = "deferred"               // its server requested a long wait
	ObstacleRobots      ObstacleState = "robots.txt unreachable" // of an origin
)

// Obstacle is a domain or an origin with pending pages that a run cannot request now.
type Obstacle struct {
	// Name is the domain, or the origin for ObstacleRobots. Domain is the origin's domain.
	Name   string        `json:"name"`
	Domain string        `json:"domain"`
	State  ObstacleState `json:"state"`
	// Until is the next automatic request, without an operator or a new run.
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Domain describes a domain.
type Domain struct {
	DomainListing
	// Controls lists operators' decisions about it.
	Controls crawl.Controls `json:"controls,omitempty"`
	// Forgotten is set if its contents were erased, or will be.
	Forgotten *ErasureRequest `json:"forgotten,omitempty"`
	// Moved is nil if all of its attempts are stored.
	Moved *MovedHistory `json:"moved,omitempty"`
	// SlotFree is the earliest time of the next request, for SlotReason.
	SlotFree   time.Time      `json:"slot_free_at,omitzero"`
	SlotReason reasons.Reason `json:"slot_reason,omitempty"`
	Health     crawl.Health   `json:"health"`
	// Pending counts attempts that are not closed; HasMorePending is set if there are more. NextDue
	// is the first due time of the counted crawls.
	Pending        int64     `json:"pending"`
	HasMorePending bool      `json:"pending_more,omitempty"`
	NextDue        time.Time `json:"next_due,omitzero"`
	ScoredAt       time.Time `json:"priority_computed_at,omitzero"`
	// Priority holds the parts of its Score now (db/functions/priorities.sql), without zeros.
	Priority map[string]float32 `json:"priority_parts,omitempty"`
	// LastRun is the last run that claimed it. Version grows with each change of its row.
	LastRun string `json:"last_crawl_run,omitempty"`
	Version int64  `json:"version"`
	// UI is the address of its workflow in Temporal's web UI, if known.
	UI string `json:"ui,omitempty"`
	// Traps lists patterns of URLs that are no longer requested, at most ten.
	Traps  []crawl.Trap `json:"traps,omitempty"`
	Robots []Robots     `json:"robots"`
	Runs   []DomainRun  `json:"runs"`
	Recent []Attempt    `json:"recent"`
}

// Robots describes an origin's robots.txt.
type Robots struct {
	Origin     string              `json:"origin"`
	Verdict    crawl.RobotsVerdict `json:"verdict"`
	Reason     string              `json:"reason,omitempty"`
	CrawlDelay *settings.Duration  `json:"crawl_delay,omitempty"`
	VisitTimes string              `json:"visit_times,omitempty"`
	Sitemaps   []string            `json:"sitemaps,omitempty"`
	StatusCode int                 `json:"status_code,omitempty"`
	// SoftNotFound is set if the origin sends pages that do not exist like others.
	SoftNotFound bool      `json:"soft_404,omitempty"`
	Failures     int       `json:"failures,omitempty"`
	FailingAt    time.Time `json:"failing_since,omitzero"`
	ReadAt       time.Time `json:"read_at,omitzero"`
	FetchedAt    time.Time `json:"fetched_at"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// DomainRun is a domain's state in a run.
type DomainRun struct {
	Run    string          `json:"run"`
	Status crawl.RunStatus `json:"status"`
	Seed   bool            `json:"seed"`
	// Started counts page requests against Budget; -1 means no limit. RunStarted needs a RunBudget.
	Started    int64 `json:"pages_started"`
	Budget     int64 `json:"max_pages"`
	RunStarted int64 `json:"run_pages_started"`
	RunBudget  int64 `json:"run_max_pages"`
	// BudgetSpent is set if a budget allows no further request.
	BudgetSpent bool   `json:"budget_spent,omitempty"`
	Window      string `json:"window,omitempty"`
	Totals
}

// Page describes a page, newest attempt first.
type Page struct {
	URL    string     `json:"url"`
	Domain string     `json:"domain"`
	Kind   kinds.Kind `json:"kind"`
	Status string     `json:"status"`
	// RequestTarget is a Visit.RequestTarget.
	RequestTarget string `json:"request_target,omitempty"`
	// Language is a tag of BCP 47; empty means undetermined.
	Language string `json:"language,omitempty"`
	crawl.Signals
	RedirectTo string          `json:"redirect_to,omitempty"`
	NoIndex    bool            `json:"noindex"`
	NoFollow   bool            `json:"nofollow"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	// Extractor is the ExtractorVersion that read it, or 0.
	Extractor int `json:"extractor,omitempty"`
	// FreshUntil ends the freshness that its server declared.
	FreshUntil time.Time  `json:"fresh_until,omitzero"`
	Trap       crawl.Trap `json:"trap,omitzero"`
	LinksOut   int64      `json:"links_out"`
	LinksIn    int64      `json:"links_in"`
	// HasMoreLinksIn is set if more links lead to it than were counted.
	HasMoreLinksIn bool `json:"links_in_more,omitempty"`
	// NoFollowIn counts the links to it with nofollow.
	NoFollowIn int64 `json:"nofollow_in,omitempty"`
	// Image is nil if no known page names it as an image.
	Image *Image `json:"image,omitempty"`
	// Finders lists runs that have read a page with a link to it.
	Finders   []Finder  `json:"-"`
	FetchedAt time.Time `json:"fetched_at,omitzero"`
	FailedAt  time.Time `json:"failed_at,omitzero"`
	FoundAt   time.Time `json:"found_at"`
	Crawls    []Attempt `json:"crawls"`
	// Moved is nil if all attempts of its domain are stored.
	Moved *MovedHistory `json:"moved,omitempty"`
}

// Image describes an image. Zero values are unknown.
type Image struct {
	// Pages counts the pages that name it, up to ImagePagesBound. Source is the first page.
	Pages     int64              `json:"pages"`
	Source    string             `json:"source_page_url,omitempty"`
	Discovery crawl.Discovery    `json:"discovery_type,omitempty"`
	SHA256    string             `json:"sha256_hash,omitempty"`
	Format    crawl.ImageFormat  `json:"format,omitempty"`
	Width     int                `json:"width,omitempty"`
	Height    int                `json:"height,omitempty"`
	Bytes     int64              `json:"file_size_bytes,omitempty"`
	Problem   crawl.ImageProblem `json:"problem,omitempty"`
	StoredAt  time.Time          `json:"stored_at,omitzero"`
}

// Finder is a run that has found a page by a link without nofollow.
type Finder struct {
	Run crawl.RunFacts
	// Depth is the least depth of its pages that link to the page.
	Depth int
	// HasDomain is set if the run has the page's domain. Subdomains counts those of its registered
	// domain.
	HasDomain  bool
	Subdomains int64
}

// Attempt is one attempt, open or closed.
type Attempt struct {
	ID          int64             `json:"id"`
	Domain      string            `json:"domain,omitempty"`
	URL         string            `json:"url,omitempty"`
	Kind        kinds.Kind        `json:"kind"`
	Run         string            `json:"run"`
	Outcome     crawl.Outcome     `json:"outcome,omitempty"`
	StatusCode  int               `json:"status_code,omitempty"`
	Error       string            `json:"error,omitempty"`
	Skipped     reasons.Reason    `json:"skip_reason,omitempty"`
	Unchanged   string            `json:"unchanged_reason,omitempty"`
	Depth       int               `json:"depth"`
	Bytes       int64             `json:"bytes,omitempty"`
	Truncated   bool              `json:"truncated,omitempty"`
	ContentType string            `json:"content_type,omitempty"`
	IP          string            `json:"ip,omitempty"`
	Duration    settings.Duration `json:"duration,omitzero"`
	// Delay is the domain's wait afterwards, for DelayReason; RetryAfter is the wait that its server
	// requested. Only a history has them.
	Delay       settings.Duration `json:"delay,omitzero"`
	DelayReason reasons.Reason    `json:"delay_reason,omitempty"`
	RetryAfter  settings.Duration `json:"retry_after,omitzero"`
	// Worker is the identity of the worker that made the request; empty means no request.
	Worker string `json:"worker,omitempty"`

	ScheduledFor time.Time `json:"scheduled_for,omitzero"`
	LockedAt     time.Time `json:"locked_at,omitzero"`
	CompletedAt  time.Time `json:"completed_at,omitzero"`
}

// LatestRequest is one of a run's latest requests.
type LatestRequest struct {
	URL        string
	Outcome    crawl.Outcome
	StatusCode int
	// Title is the title of the page, or its first heading; empty if it was not read.
	Title       string
	CompletedAt time.Time
}

// ErasureRequest is a request to erase the contents of a domain's pages, or its completion.
type ErasureRequest struct {
	Domain      string    `json:"domain"`
	RequestedAt time.Time `json:"requested_at"`
	RequestedBy string    `json:"requested_by"`
	Reason      string    `json:"reason"`
	// DoneAt is the time of complete erasure; zero if some contents may be left.
	DoneAt time.Time `json:"done_at,omitzero"`
}
