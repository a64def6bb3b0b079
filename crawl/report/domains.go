package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// DomainListing is an entry of a list of domains. Its counts are as of the last count.
type DomainListing struct {
	Domain string             `json:"domain"`
	Status crawl.DomainStatus `json:"status"`
	Reason string             `json:"reason,omitempty"`
	// Placeholder is one of reasons.Placeholders if the last pages that were read are all such pages.
	// It is reasons.SoftNotFound also if the site sends pages that do not exist.
	Placeholder reasons.Reason `json:"placeholder,omitempty"`
	// OwnerSince is the time at which another owner was found; zero means never.
	OwnerSince time.Time `json:"owner_since,omitzero"`
	// Source is the kind of list that named it, and Rank its position there.
	Source string `json:"source,omitempty"`
	Rank   int    `json:"seed_rank,omitempty"`
	// Score orders the domains for the dispatcher.
	Score         float64   `json:"priority_score"`
	DeferredUntil time.Time `json:"deferred_until,omitzero"`
	Claimed       string    `json:"claimed_by,omitempty"`
	ClaimEnd      time.Time `json:"claim_expires_at,omitzero"`
	DomainCounts
}

// DomainCounts holds a domain's counts over all runs.
type DomainCounts struct {
	// Crawled counts page fetches, Discovered known pages, up to a million, and Bytes those of bodies.
	Crawled    int64 `json:"pages_crawled"`
	Discovered int64 `json:"pages_discovered"`
	Bytes      int64 `json:"bytes"`
	// ImagesFound counts the images that its pages name, and ImagesStored the images with recorded
	// content, among 100,000 at the most.
	ImagesFound  int64 `json:"images_found"`
	ImagesStored int64 `json:"images_stored"`
	// ErrorRate is the share of failed page requests among the last hundred requests. YieldRate is
	// their share that brought something new. Both are nil without requests. AvgResponse and AvgBytes
	// average the same requests.
	ErrorRate   *float32          `json:"error_rate,omitempty"`
	YieldRate   *float32          `json:"yield_rate,omitempty"`
	AvgResponse settings.Duration `json:"avg_response,omitempty"`
	AvgBytes    int64             `json:"avg_page_bytes,omitempty"`
	First       time.Time         `json:"first_crawled_at,omitzero"`
	Last        time.Time         `json:"last_crawled_at,omitzero"`
	// CountedAt is the time of the count; zero means never.
	CountedAt time.Time `json:"counted_at,omitzero"`
}

// DomainSorts lists the orders of domains, the first by default; ranks ascend, numbers descend.
var DomainSorts = []string{"priority", "name", "rank", "pages", "found", "bytes", "errors", "slow", "last"}

// DomainQuery selects domains to list: empty fields select all.
type DomainQuery struct {
	// Status is a status, or a placeholder (DomainListing).
	Status crawl.DomainStatus
	Source string
	// Errors is the least recent share of failures, from 0 to 1. Rank is the last position on a list.
	Errors float32
	Rank   int
	Due    bool // due in a running run
	// WaitReason selects domains with a workflow that wait for this reason.
	WaitReason reasons.Reason
	Language   string // of a page
	Sort       string // one of DomainSorts
	Limit      int    // at least 1
}

// Check returns the first fault of a query; its text begins with the name of the field.
func (q DomainQuery) Check() error {
	switch {
	case q.Status != "" && !slices.Contains(crawl.DomainStatuses, q.Status) && !reasons.Reason(q.Status).Row().IsPlaceholder:
		return fmt.Errorf("status %q: want one of %v, or one of %q", q.Status, crawl.DomainStatuses, reasons.Placeholders())
	case !slices.Contains(DomainSorts, q.Sort):
		return fmt.Errorf("sort %q: want one of %v", q.Sort, DomainSorts)
	case q.Errors < 0 || q.Errors > 1:
		return fmt.Errorf("errors %g: want a fraction from 0 to 1", q.Errors)
	case q.WaitReason != "" && q.WaitReason.Row().Subject == 0:
		return fmt.Errorf("waits %q: want a reason, such as %s", q.WaitReason, reasons.CrawlDelay)
	case q.Rank < 0:
		return fmt.Errorf("rank %d: want 1 or more", q.Rank)
	}
	return nil
}

// DomainHistory lists the past of a domain, the latest first.
type DomainHistory struct {
	Attempts []Attempt     `json:"attempts"`
	Controls []PastControl `json:"controls,omitempty"`
	Robots   []RobotsFetch `json:"robots,omitempty"`
}

// PastControl is an operator's decision about a domain, and its lifting.
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
	// Changed is set if it is the first known fetch, or differs from the fetch before.
	Changed bool `json:"changed"`
}
