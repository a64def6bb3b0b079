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
	// Source is the kind of list that has named it, and Rank its place there; empty and 0
	// are none.
	Source string `json:"source,omitempty"`
	Rank   int    `json:"seed_rank,omitempty"`
	// Score is by what the dispatcher takes domains.
	Score         float64   `json:"priority_score"`
	DeferredUntil time.Time `json:"deferred_until,omitzero"`
	Claimed       string    `json:"claimed_by,omitempty"`
	ClaimEnd      time.Time `json:"claim_expires_at,omitzero"`
	DomainCounts
}

// DomainCounts is what is known of a domain over all runs.
type DomainCounts struct {
	// Crawled counts the pages that were fetched, each time anew, Discovered those that
	// are known, up to a million, and Bytes what was read of bodies.
	Crawled    int64 `json:"pages_crawled"`
	Discovered int64 `json:"pages_discovered"`
	Bytes      int64 `json:"bytes"`
	// ImagesFound counts the images that its pages name, and ImagesStored those of them whose
	// content was recorded: of 100,000 of them at the most.
	ImagesFound  int64 `json:"images_found"`
	ImagesStored int64 `json:"images_stored"`
	// ErrorRate is the share of the last hundred requests that failed; nil where none was
	// made. AvgResponse and AvgBytes are of the same.
	ErrorRate *float32 `json:"error_rate,omitempty"`
	// YieldRate is the share of them that brought something new.
	YieldRate   *float32          `json:"yield_rate,omitempty"`
	AvgResponse settings.Duration `json:"avg_response,omitempty"`
	AvgBytes    int64             `json:"avg_page_bytes,omitempty"`
	First       time.Time         `json:"first_crawled_at,omitzero"`
	Last        time.Time         `json:"last_crawled_at,omitzero"`
	// CountedAt is when this was counted; zero is never.
	CountedAt time.Time `json:"counted_at,omitzero"`
}

// DomainSorts are the orders in which domains are listed, the first by default: by name, or
// those first that have most of it, or the best rank.
var DomainSorts = []string{"priority", "name", "rank", "pages", "found", "bytes", "errors", "slow", "last"}

// DomainQuery says which domains to list: empty fields are all.
type DomainQuery struct {
	Status crawl.DomainStatus
	Source string
	// Errors is the least share of failures of late, from 0 to 1, and Rank the last place on a
	// list.
	Errors float32
	Rank   int
	// Due leaves those that have something due just now in a run that is running.
	Due bool
	// Waits leaves those that are served and wait for a reason.
	Waits reasons.Reason
	// Language is a tag of which a domain must have a page.
	Language string
	// Sort is one of DomainSorts.
	Sort string
	// Limit is at least 1.
	Limit int
}

// Check reports what is wrong with a query as it was asked: its text begins with the name of what is.
func (q DomainQuery) Check() error {
	switch {
	case q.Status != "" && !slices.Contains(crawl.DomainStatuses, q.Status):
		return fmt.Errorf("status %q: want one of %v", q.Status, crawl.DomainStatuses)
	case !slices.Contains(DomainSorts, q.Sort):
		return fmt.Errorf("sort %q: want one of %v", q.Sort, DomainSorts)
	case q.Errors < 0 || q.Errors > 1:
		return fmt.Errorf("errors %g: want a share from 0 to 1", q.Errors)
	case q.Rank < 0:
		return fmt.Errorf("rank %d: want 1 or more", q.Rank)
	}
	return nil
}
