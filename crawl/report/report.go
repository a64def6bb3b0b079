package report

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Totals counts attempts by how they ended.
type Totals struct {
	Success       int64 `json:"success"`
	BlockedRobots int64 `json:"blocked_robots"`
	Blocked4xx    int64 `json:"blocked_4xx"`
	Blocked5xx    int64 `json:"blocked_5xx"`
	Timeout       int64 `json:"timeout"`
	Failed        int64 `json:"failed"`
	// Skipped counts attempts that were closed without a request; Skips is the same by reason.
	Skipped int64                    `json:"skipped"`
	Skips   map[reasons.Reason]int64 `json:"skips,omitempty"`
	Bytes   int64                    `json:"bytes"`
	// Asked counts attempts for which a request was made, or tried.
	Asked int64 `json:"requests"`
	// NoFollow counts pages whose publisher lets none of their links be followed.
	NoFollow int64 `json:"nofollow,omitempty"`
	// ImagesFound counts the images that pages name. ImagesAsked counts requests for images, which
	// Asked does not count. ImagesStored counts images whose content was recorded.
	ImagesFound  int64 `json:"images_found,omitempty"`
	ImagesAsked  int64 `json:"images_requests,omitempty"`
	ImagesStored int64 `json:"images_stored,omitempty"`
}

// Since subtracts earlier totals of the same.
func (t Totals) Since(before Totals) Totals {
	t.Success -= before.Success
	t.BlockedRobots -= before.BlockedRobots
	t.Blocked4xx -= before.Blocked4xx
	t.Blocked5xx -= before.Blocked5xx
	t.Timeout -= before.Timeout
	t.Failed -= before.Failed
	t.Skipped -= before.Skipped
	t.Bytes -= before.Bytes
	t.Asked -= before.Asked
	t.NoFollow -= before.NoFollow
	t.ImagesFound -= before.ImagesFound
	t.ImagesAsked -= before.ImagesAsked
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

// OutcomeCount counts the attempts with an outcome.
type OutcomeCount struct {
	Outcome crawl.Outcome
	N       int64
}

// Outcomes lists all outcomes in the order in which they are shown, even if they did not occur.
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

// Attempts is the number of closed crawls.
func (t Totals) Attempts() int64 {
	return t.Success + t.Blocked4xx + t.Blocked5xx + t.Timeout + t.Failed + t.BlockedRobots + t.Skipped
}

// Requests is the number of attempts for which a request was made, or tried.
func (t Totals) Requests() int64 { return t.Asked }

// How far reports count pending crawls, and pages that wait for their keywords.
const (
	FrontierBound = 1_000_000
	KeywordsBound = 20_000
)

// Progress is how far a run has come.
type Progress struct {
	crawl.Run
	Totals

	Domains     int64 `json:"domains"`
	SeedDomains int64 `json:"seed_domains"`
	// Workers counts the workers that run, whatever their run. WorkerSeenAt is when the last one was
	// heard of; zero is never.
	Workers      int64     `json:"workers"`
	WorkerSeenAt time.Time `json:"worker_seen_at,omitzero"`
	// Active is the number of domains with a workflow for the run. Elsewhere counts the domains with
	// work for it that another run has claimed.
	Active    int64 `json:"active_domains"`
	Elsewhere int64 `json:"domains_elsewhere,omitempty"`
	// Pending counts crawls that are not closed, up to FrontierBound; of these Deferred have a time
	// in the future. InFlight counts the requests in flight, also for robots.txt.
	Pending  int64 `json:"pending"`
	InFlight int64 `json:"in_flight"`
	Deferred int64 `json:"deferred"`
	// Due counts the domains that are due and that nobody serves, up to LeftBound.
	Due int64 `json:"due_domains"`
	// Waiting lists active domains, the next to be requested first.
	Waiting []Waiting `json:"waiting,omitempty"`
	// NotDue says why other domains with pending crawls are not requested, by reason, of the
	// first NotDueBound of them.
	NotDue []NotDue `json:"not_due,omitempty"`
	// Outages lists workers that cannot reach anything just now, whatever their run.
	Outages []crawl.Outage `json:"outages,omitempty"`
	// Limited is set while requests wait for the limit of all workers, whatever their run.
	Limited *FleetUse `json:"limited,omitempty"`
	// KeywordsWaiting counts fetched pages of all runs that no search finds yet, up to
	// KeywordsBound. It is set on demand, like Detail.
	KeywordsWaiting int `json:"keywords_waiting"`
	*Detail
}

// Waiting is an active domain and the reason for its wait.
type Waiting struct {
	Domain string         `json:"domain"`
	Reason reasons.Reason `json:"reason"`
	// InFlight is set while a request to the domain is in flight.
	InFlight bool `json:"in_flight,omitempty"`
	// Until is the end of the wait; zero if something has to change first.
	Until time.Time `json:"until,omitzero"`
}

// NotDue are domains with something pending that are not asked, for one reason.
type NotDue struct {
	Reason  reasons.Reason `json:"reason"`
	Domains int64          `json:"domains"`
	// Domain is one of them, and Until when the first may be asked; zero is not before
	// something changes.
	Domain string    `json:"domain"`
	Until  time.Time `json:"until,omitzero"`
}

// NotDueBound bounds the domains that NotDue covers.
const NotDueBound = 10_000

// Detail names what keeps a run from more. Each list is bounded, and its total is not.
type Detail struct {
	// Troubled cannot be asked now.
	Troubled      []Troubled `json:"troubled,omitempty"`
	TroubledTotal int        `json:"troubled_total,omitempty"`
	// Forbidden are domains that a person lets not be asked.
	Forbidden      []Forbidden `json:"forbidden,omitempty"`
	ForbiddenTotal int         `json:"forbidden_total,omitempty"`
	// NoFollowDomains are seeded domains of which no page lets a link be followed.
	NoFollowDomains []string `json:"nofollow_domains,omitempty"`
}

// Forbidden is a domain that a person has paused, stopped or blocked.
type Forbidden struct {
	Domain string `json:"domain"`
	crawl.Control
}

// TroubleState is why a run cannot request a domain or an origin now.
type TroubleState string

// The states of domains, and of an origin.
const (
	TroubledUnreachable TroubleState = "unreachable"            // given up: it did not answer as it should
	TroubledBlocked     TroubleState = "blocked"                // given up: it refused all requests
	TroubledDeferred    TroubleState = "deferred"               // its server has asked for a long wait
	TroubledRobots      TroubleState = "robots.txt unreachable" // of an origin
)

// Troubled is a domain or an origin with pending pages that a run cannot request now.
type Troubled struct {
	// Name is the domain, or the origin of TroubledRobots, which Domain is of.
	Name   string       `json:"name"`
	Domain string       `json:"domain"`
	State  TroubleState `json:"state"`
	// Until is when it is asked again by itself, without a person or a new run.
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Domain is what is known about a domain.
type Domain struct {
	DomainListing
	// Controls are what people have decided about it.
	Controls crawl.Controls `json:"controls,omitempty"`
	// Forgotten is set if its contents were erased, or are to be.
	Forgotten *Forgotten `json:"forgotten,omitempty"`
	// Moved is nil if all of its attempts are stored.
	Moved *Moved `json:"moved,omitempty"`
	// SlotFree is the instant before which no request may be made, for SlotReason.
	SlotFree   time.Time      `json:"slot_free_at,omitzero"`
	SlotReason reasons.Reason `json:"slot_reason,omitempty"`
	Health     crawl.Health   `json:"health"`
	// Pending counts crawls that are not closed; PendingMore says that there are more. NextDue
	// is when the first of the counted ones is due.
	Pending     int64     `json:"pending"`
	PendingMore bool      `json:"pending_more,omitempty"`
	NextDue     time.Time `json:"next_due,omitzero"`
	ScoredAt    time.Time `json:"priority_computed_at,omitzero"`
	// Priority has the parts of its Score now (db/functions/priorities.sql), but no zeros.
	Priority map[string]float32 `json:"priority_parts,omitempty"`
	// LastRun is the run that has claimed it last. Version grows with each change of its row.
	LastRun string `json:"last_crawl_run,omitempty"`
	Version int64  `json:"version"`
	// UI is the address of its workflow in Temporal's web UI, if it is known.
	UI string `json:"ui,omitempty"`
	// Traps are patterns of URLs that are no longer requested, at most ten.
	Traps  []crawl.Trap `json:"traps,omitempty"`
	Robots []Robots     `json:"robots"`
	Runs   []DomainRun  `json:"runs"`
	Recent []Crawl      `json:"recent"`
}

// Robots is what is known about an origin's robots.txt.
type Robots struct {
	Origin     string              `json:"origin"`
	Verdict    crawl.RobotsVerdict `json:"verdict"`
	Reason     string              `json:"reason,omitempty"`
	CrawlDelay *settings.Duration  `json:"crawl_delay,omitempty"`
	VisitTimes string              `json:"visit_times,omitempty"`
	Sitemaps   []string            `json:"sitemaps,omitempty"`
	StatusCode int                 `json:"status_code,omitempty"`
	Failures   int                 `json:"failures,omitempty"`
	FailingAt  time.Time           `json:"failing_since,omitzero"`
	ReadAt     time.Time           `json:"read_at,omitzero"`
	FetchedAt  time.Time           `json:"fetched_at"`
	ExpiresAt  time.Time           `json:"expires_at"`
}

// DomainRun is a domain's part in a run.
type DomainRun struct {
	Run    string          `json:"run"`
	Status crawl.RunStatus `json:"status"`
	Seed   bool            `json:"seed"`
	// Started counts page requests against Budget; -1 is no limit. The run's own
	// are counted only where it has a budget.
	Started    int64 `json:"pages_started"`
	Budget     int64 `json:"max_pages"`
	RunStarted int64 `json:"run_pages_started"`
	RunBudget  int64 `json:"run_max_pages"`
	// BudgetSpent says that a budget leaves no further request.
	BudgetSpent bool   `json:"budget_spent,omitempty"`
	Window      string `json:"window,omitempty"`
	Totals
}

// Page is what is known about a page, newest attempt first.
type Page struct {
	URL    string     `json:"url"`
	Domain string     `json:"domain"`
	Kind   kinds.Kind `json:"kind"`
	Status string     `json:"status"`
	// Language is a tag of BCP 47; empty is undetermined.
	Language string `json:"language,omitempty"`
	crawl.Signals
	RedirectTo string          `json:"redirect_to,omitempty"`
	NoIndex    bool            `json:"noindex"`
	NoFollow   bool            `json:"nofollow"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	// Extractor is the ExtractorVersion that has read it, or 0.
	Extractor int `json:"extractor,omitempty"`
	// FreshUntil is when the freshness that its server declared ends.
	FreshUntil time.Time  `json:"fresh_until,omitzero"`
	Trap       crawl.Trap `json:"trap,omitzero"`
	LinksOut   int64      `json:"links_out"`
	LinksIn    int64      `json:"links_in"`
	// LinksMore says that more links lead to it than were counted.
	LinksMore bool `json:"links_in_more,omitempty"`
	// NoFollowIn counts the links to it that say nofollow.
	NoFollowIn int64 `json:"nofollow_in,omitempty"`
	// Image is nil if no known page names it as an image.
	Image *Image `json:"image,omitempty"`
	// Finders are runs that have read a page with a link to it.
	Finders   []Finder  `json:"-"`
	FetchedAt time.Time `json:"fetched_at,omitzero"`
	FailedAt  time.Time `json:"failed_at,omitzero"`
	FoundAt   time.Time `json:"found_at"`
	Crawls    []Crawl   `json:"crawls"`
	// Moved is nil if all attempts of its domain are stored.
	Moved *Moved `json:"moved,omitempty"`
}

// Image is what is known of an image. Zero values are unknown.
type Image struct {
	// Pages is how many pages name it, up to ImagePagesBound, and Source the first of them.
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
	// Taken says that the page's domain is part of the run, and Subdomains counts the
	// domains of its registered domain that are.
	Taken      bool
	Subdomains int64
}

// Crawl is one attempt, open or closed.
type Crawl struct {
	ID          int64             `json:"id"`
	Domain      string            `json:"domain,omitempty"`
	URL         string            `json:"url,omitempty"`
	Kind        kinds.Kind        `json:"kind"`
	Run         string            `json:"run"`
	Outcome     crawl.Outcome     `json:"outcome,omitempty"`
	StatusCode  int               `json:"status_code,omitempty"`
	Error       string            `json:"error,omitempty"`
	Skipped     reasons.Reason    `json:"skipped,omitempty"`
	Unchanged   string            `json:"unchanged,omitempty"`
	Depth       int               `json:"depth"`
	Bytes       int64             `json:"bytes,omitempty"`
	Truncated   bool              `json:"truncated,omitempty"`
	ContentType string            `json:"content_type,omitempty"`
	IP          string            `json:"ip,omitempty"`
	Duration    settings.Duration `json:"duration,omitzero"`
	// Delay is the wait of the domain afterwards, for DelayReason; RetryAfter is the wait that its
	// server asked for. Only a history has them.
	Delay       settings.Duration `json:"delay,omitzero"`
	DelayReason reasons.Reason    `json:"delay_reason,omitempty"`
	RetryAfter  settings.Duration `json:"retry_after,omitzero"`
	// Worker is the identity of the worker that made the request; empty if none did.
	Worker string `json:"worker,omitempty"`

	ScheduledFor time.Time `json:"scheduled_for,omitzero"`
	LockedAt     time.Time `json:"locked_at,omitzero"`
	CompletedAt  time.Time `json:"completed_at,omitzero"`
}

// Forgotten is that what a domain's pages said is to be erased, or was.
type Forgotten struct {
	Domain  string    `json:"domain"`
	AskedAt time.Time `json:"asked_at"`
	By      string    `json:"asked_by"`
	Reason  string    `json:"reason"`
	// DoneAt is when all of it was gone; zero while something may be left.
	DoneAt time.Time `json:"done_at,omitzero"`
}
