package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// DomainListing is a domain among others. What is counted is as of the last count.
type DomainListing struct {
	Domain string             `json:"domain"`
	Status crawl.DomainStatus `json:"status"`
	Reason string             `json:"reason,omitempty"`
	// Source is the kind of list that has named it, and Rank its place there.
	Source string `json:"source,omitempty"`
	Rank   int    `json:"seed_rank,omitempty"`
	// Score is the order in which the dispatcher takes domains.
	Score         float64   `json:"priority_score"`
	DeferredUntil time.Time `json:"deferred_until,omitzero"`
	Claimed       string    `json:"claimed_by,omitempty"`
	ClaimEnd      time.Time `json:"claim_expires_at,omitzero"`
	DomainCounts
}

// DomainCounts is what is known of a domain over all runs.
type DomainCounts struct {
	// Crawled counts fetches of pages, Discovered known pages, up to a million, and Bytes those of
	// bodies.
	Crawled    int64 `json:"pages_crawled"`
	Discovered int64 `json:"pages_discovered"`
	Bytes      int64 `json:"bytes"`
	// ImagesFound counts the images that its pages name, and ImagesStored those with recorded
	// content, among 100,000 at the most.
	ImagesFound  int64 `json:"images_found"`
	ImagesStored int64 `json:"images_stored"`
	// ErrorRate is the share of the requests for pages that failed, among the last hundred requests.
	// YieldRate is the share of these that brought something new; nil without requests. AvgResponse and AvgBytes are of the same.
	ErrorRate   *float32          `json:"error_rate,omitempty"`
	YieldRate   *float32          `json:"yield_rate,omitempty"`
	AvgResponse settings.Duration `json:"avg_response,omitempty"`
	AvgBytes    int64             `json:"avg_page_bytes,omitempty"`
	First       time.Time         `json:"first_crawled_at,omitzero"`
	Last        time.Time         `json:"last_crawled_at,omitzero"`
	// CountedAt is when this was counted; zero is never.
	CountedAt time.Time `json:"counted_at,omitzero"`
}

// DomainSorts are the orders of lists of domains, the first by default: by name, by best rank, or
// by most of the others.
var DomainSorts = []string{"priority", "name", "rank", "pages", "found", "bytes", "errors", "slow", "last"}

// DomainQuery says which domains to list: empty fields are all.
type DomainQuery struct {
	Status crawl.DomainStatus
	Source string
	// Errors is the least recent share of failures, from 0 to 1. Rank is the last place on a list.
	Errors float32
	Rank   int
	Due    bool // of a run that is running
	// Waits selects domains that are served and wait for this reason.
	Waits    reasons.Reason
	Language string // of a page
	Sort     string // one of DomainSorts
	Limit    int    // at least 1
}

// Check reports the first fault of a query; the text begins with the name of the field.
func (q DomainQuery) Check() error {
	switch {
	case q.Status != "" && !slices.Contains(crawl.DomainStatuses, q.Status):
		return fmt.Errorf("status %q: want one of %v", q.Status, crawl.DomainStatuses)
	case !slices.Contains(DomainSorts, q.Sort):
		return fmt.Errorf("sort %q: want one of %v", q.Sort, DomainSorts)
	case q.Errors < 0 || q.Errors > 1:
		return fmt.Errorf("errors %g: want a share from 0 to 1", q.Errors)
	case q.Waits != "" && q.Waits.Row().Of == 0:
		return fmt.Errorf("waits %q: want a reason, such as %s", q.Waits, reasons.CrawlDelay)
	case q.Rank < 0:
		return fmt.Errorf("rank %d: want 1 or more", q.Rank)
	}
	return nil
}

// DomainHistory is the past of a domain, the latest first.
type DomainHistory struct {
	Attempts []Crawl       `json:"attempts"`
	Controls []PastControl `json:"controls,omitempty"`
	Robots   []RobotsFetch `json:"robots,omitempty"`
}

// PastControl is a decision of a person about a domain, and who took it back.
type PastControl struct {
	crawl.Control

	LiftedAt time.Time `json:"lifted_at,omitzero"`
	LiftedBy string    `json:"lifted_by,omitempty"`
}

// RobotsFetch is a fetch of an origin's robots.txt.
type RobotsFetch struct {
	Origin    string              `json:"origin"`
	Verdict   crawl.RobotsVerdict `json:"verdict"`
	FetchedAt time.Time           `json:"fetched_at"`
	// Changed is set if it is the first known fetch, or differs from the one before.
	Changed bool `json:"changed"`
}
