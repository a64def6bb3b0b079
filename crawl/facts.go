package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Facts holds the stored state of a domain that determines the next action, as one document.
type Facts struct {
	// Now is the time of reading, on the database's clock.
	Now    time.Time   `json:"now"`
	Domain DomainFacts `json:"domain"`
	// Runs lists the running runs with pending pages there, the longest waiting first: they take
	// turns.
	Runs []RunFacts `json:"runs"`
}

// UnreachableFor returns the duration for which the domain's attempts have been undone.
func (f Facts) UnreachableFor() time.Duration {
	if f.Domain.UnreachableSince.IsZero() {
		return 0
	}
	return f.Now.Sub(f.Domain.UnreachableSince)
}

// AttemptOf returns the first due attempt of an origin in any run; nil if there is no such attempt.
func (f Facts) AttemptOf(origin string) *AttemptFacts {
	for i := range f.Runs {
		if c := f.Runs[i].Attempt; c != nil && c.Origin == origin {
			return c
		}
	}
	return nil
}

// LastRequestSucceeded reports whether the domain responded to the last request.
func (f Facts) LastRequestSucceeded() bool {
	last := len(f.Domain.Health.Samples) - 1
	return f.Domain.Reachable > 0 && (last < 0 || !f.Domain.Health.Samples[last].Error)
}

// DomainFacts holds the stored state of the domain itself.
type DomainFacts struct {
	Name string `json:"name"`
	// Status is empty for an unknown domain.
	Status DomainStatus `json:"status"`
	Reason string       `json:"reason,omitempty"`
	// DeferredUntil ends a deferral, or the abandonment of a domain. Zero means not deferred, or
	// abandoned until an operator lifts it.
	DeferredUntil time.Time `json:"deferred_until,omitzero"`
	// HasSchemelessSeeds is set if pages of the domain were seeded without a scheme.
	HasSchemelessSeeds bool `json:"schemeless,omitempty"`
	// RefusedSince is the start of our own rule's ban on all of its addresses; zero means no ban.
	RefusedSince time.Time `json:"refused_since,omitzero"`
	Controls     Controls  `json:"controls,omitempty"`
	// CrawlDelay is the largest Crawl-delay among the domain's origins.
	CrawlDelay Millis `json:"crawl_delay_ms,omitempty"`
	// VisitTimes lists the visiting hours that its origins declare, at most eight.
	VisitTimes []VisitTimes `json:"visit_times,omitempty"`
	Health     Health       `json:"health"`
	// Recrawl is a stored DomainRecrawl; empty means not stored.
	Recrawl json.RawMessage `json:"recrawl,omitempty"`
	// Origins counts the domain's origins whose robots.txt was requested. Reachable counts the origins
	// that responded to the last request for it.
	Origins   int `json:"origins,omitempty"`
	Reachable int `json:"reachable_origins,omitempty"`
	// UnreachableSince is the time since which attempts are undone, because the domain or our network
	// may be failing; zero means no undone attempt.
	UnreachableSince time.Time `json:"unreachable_since,omitzero"`
	// SlotFree is the earliest time of the next request, for SlotReason.
	SlotFree   time.Time      `json:"slot_free_at,omitzero"`
	SlotReason reasons.Reason `json:"slot_reason,omitempty"`
}

// VisitTimes holds the visiting hours that a site's robots.txt declares (Visit-time).
type VisitTimes struct {
	// Windows is read by settings.ParseWindows.
	Windows string `json:"windows"`
	// Until is the time of expiry, unless robots.txt is read again before.
	Until time.Time `json:"until"`
}

// RunFacts holds a run's state in a domain.
type RunFacts struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// Status is empty, meaning running, unless a page was queried.
	Status RunStatus `json:"status,omitempty"`
	// SettingsDocument is Settings from the database; nil once they are read. Every field of Settings
	// is set.
	SettingsDocument json.RawMessage   `json:"settings"`
	Settings         settings.Settings `json:"-"`
	// Seed reports whether the run has seeds on the domain.
	Seed bool `json:"seed"`
	// Spent names the requests with a spent budget of the run or domain (functions/due.sql).
	Spent SpentScope `json:"forbidden_by_budget,omitempty"`
	// DomainStarted counts page requests to the domain, and ImagesStarted image requests.
	DomainStarted int64 `json:"domain_started"`
	ImagesStarted int64 `json:"images_started,omitempty"`
	// Budget limits the pages of the domain that the run may request; nil means no limit.
	Budget *int64 `json:"budget,omitempty"`
	// HasWaitingDomains is set if the run has more due domains than may be active. StartedAtClaim is
	// the value of DomainStarted when its dispatcher claimed the domain. HasYielded is set if the
	// domain has yielded to others, and has not been claimed since.
	HasWaitingDomains bool  `json:"has_waiting_domains,omitempty"`
	StartedAtClaim    int64 `json:"requests_at_claim,omitempty"`
	HasYielded        bool  `json:"yielded,omitempty"`
	// Attempt is the first due attempt, if any. LockedAt is the start of the attempt in flight, if
	// any.
	Attempt  *AttemptFacts `json:"crawl"`
	LockedAt time.Time     `json:"locked_at,omitzero"`
	// Due is the domain's next due time within the run's budgets, computed by the database.
	// WaitReason is the reason for waiting. Due is set if Attempt is nil, or if the budgets leave
	// only an image. Zero means not before something changes.
	Due        time.Time      `json:"due,omitzero"`
	WaitReason reasons.Reason `json:"wait_reason,omitempty"`
}

// SpentScope names the requests with a spent budget; empty means no requests.
type SpentScope string

// The requests with a spent budget.
const (
	SpentPages SpentScope = "pages"
	SpentAll   SpentScope = "all" // requests of every kind
)

// AttemptFacts holds the stored state of a crawl and its page.
type AttemptFacts struct {
	ID     int64      `json:"id"`
	URL    string     `json:"url"`
	Kind   kinds.Kind `json:"kind"`
	Origin string     `json:"origin"`
	// Number counts from 1 in a run.
	Number int `json:"attempt"`
	// Schemeless is set for a seed without a scheme: http is used if https cannot be reached.
	Schemeless bool `json:"schemeless,omitempty"`
	// Depth counts the links from a seed, Redirects the redirects since the last link.
	Depth        int       `json:"depth"`
	Redirects    int       `json:"redirects"`
	Priority     int       `json:"priority"`
	ScheduledFor time.Time `json:"scheduled_for"`
	LockedAt     time.Time `json:"locked_at,omitzero"`
	Outcome      Outcome   `json:"outcome,omitempty"`
	// Visit is the state at the last visit, and Usage the publisher's statement then, as JSON.
	Visit Visit `json:"visit"`
	// Extractor is the ExtractorVersion that read the page; 0 means not read.
	Extractor int             `json:"extractor,omitempty"`
	Usage     json.RawMessage `json:"usage,omitempty"`
	// History is the stored history of changes that visits found (Recrawl). IsRevisit is set if the
	// page is due for a revisit, or if an operator requests it again.
	History   json.RawMessage `json:"history,omitempty"`
	IsRevisit bool            `json:"is_revisit,omitempty"`
	// ImagesRecorded is set if the page's images were recorded when it was last read.
	ImagesRecorded bool `json:"images_recorded,omitempty"`
	// Image is the stored state of an image; nil means not stored.
	Image *ImageFacts `json:"image,omitempty"`
	// Duplicate is set if its last visit brought nothing beyond another page.
	Duplicate bool `json:"duplicate,omitempty"`
	// Patterns are the page's patterns, the widest first: see traps.Patterns.
	Patterns []PatternFacts `json:"patterns,omitempty"`
	// LastReachableURL is the origin's last page or image with a good response, while its domain needs
	// a probe; empty means unknown. LastReachableTarget is its Visit.RequestTarget. OriginHasPages is
	// then set for an image whose origin also has pages, pending or fetched recently.
	LastReachableURL    string `json:"last_reachable_url,omitempty"`
	LastReachableTarget string `json:"last_reachable_target,omitempty"`
	OriginHasPages      bool   `json:"origin_has_pages,omitempty"`
	// FinalResponse is set if the last request had a final response other than a success.
	FinalResponse *FinalResponse `json:"final_answer,omitempty"`
	// DeclaringDomains lists the domains, at most 100, that declare the sitemap: it may list their
	// pages.
	DeclaringDomains []string `json:"named_by_domains,omitempty"`
	// Robots is nil if the origin's robots.txt has never been fetched.
	Robots *RobotsFacts `json:"robots"`
}

// ImageFacts reports whether the bytes and a thumbnail of a known image are stored.
type ImageFacts struct {
	Stored bool `json:"stored,omitempty"`
	// Thumbnail is also set if no thumbnail is possible.
	Thumbnail bool `json:"thumbnail,omitempty"`
}

// FinalResponse is a response from 400 to 499.
type FinalResponse struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"`
}

// PatternFacts counts the news of the pages of a URL pattern, as a run sees it. Each further run
// halves the counts (pattern_count in the database).
type PatternFacts struct {
	Pattern string `json:"pattern"`
	// Seen counts read pages, Duplicates those without news, Copies those of another canonical URL.
	Seen       int `json:"seen"`
	Duplicates int `json:"duplicates"`
	Copies     int `json:"copies,omitempty"`
	// Shared and Fingerprints are compared with its pages, see traps.Memory. They are set only for the
	// widest pattern of a page to be judged.
	Shared       []byte `json:"shared_text,omitempty"`
	Fingerprints []byte `json:"fingerprints,omitempty"`
}

// RobotsFacts holds the stored state of an origin's robots.txt, without its rules.
type RobotsFacts struct {
	Verdict RobotsVerdict `json:"verdict"`
	// Version identifies the fetch by its time, in microseconds since the epoch.
	Version   int64     `json:"version"`
	ExpiresAt time.Time `json:"expires_at"`
	Reason    string    `json:"reason,omitempty"`
	// Agent is the product token that selected the rules.
	Agent string `json:"agent,omitempty"`
	// TDMKnown is set if the origin's tdmrep.json has been requested.
	TDMKnown bool `json:"tdm_known,omitempty"`
	// UnansweredCount counts consecutive requests without a response. WasRead is set if a robots.txt
	// was ever read.
	UnansweredCount int  `json:"unanswered_count,omitempty"`
	WasRead         bool `json:"was_read,omitempty"`
}

// StagedSeed is a raw seed from a command line, not stored yet.
type StagedSeed struct {
	ID  int64
	URL string
}

// WideningProgress is the last page whose links were checked again for a run with wider settings.
type WideningProgress struct {
	Domain string `json:"domain,omitempty"`
	Page   int64  `json:"page,omitempty"`
}

// SeedCrawl is a seed's crawl.
type SeedCrawl struct {
	Domain string
	// Now is the time of reading, on the database's clock.
	Now time.Time
	AttemptFacts
}
