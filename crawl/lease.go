package crawl

import (
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Start asks the guard for a lease: the right to make one request now. It is one document.
type Start struct {
	// CrawlID is the crawl to begin; 0 for a prerequisite, which gets a row by this.
	CrawlID int64 `json:"crawl_id"`
	RunID   int64 `json:"run_id"`
	// Domain is the one asked, which a redirect of robots.txt may have chosen.
	Domain string     `json:"domain"`
	Origin string     `json:"origin"`
	URL    string     `json:"url"`
	Kind   kinds.Kind `json:"kind"`
	// Prerequisite marks what is asked for because a page needs it.
	Prerequisite bool `json:"prerequisite,omitempty"`
	// RetryPriority is the priority of another try, if this one fails or its worker dies; nil is no
	// other.
	RetryPriority *int `json:"retry_priority,omitempty"`
	// Shared are the slots that the request shares with other domains.
	Shared []SharedSlot `json:"shared"`
	// Hold is the time for which the domain's slot stays closed if nothing releases it. Span is the
	// longest time of a request, after which shared slots are closed for their own delay.
	Hold Millis `json:"hold_ms"`
	Span Millis `json:"span_ms"`
	// Queued means that the caller has waited for its place in a shared slot's queue.
	Queued bool `json:"queued"`
	// RunBudget, DomainBudget and RegisteredBudget limit the requests that the run may have begun
	// in all, to the domain, and to its registered domain; nil is no limit.
	RunBudget        *int64 `json:"run_budget,omitempty"`
	DomainBudget     *int64 `json:"domain_budget,omitempty"`
	RegisteredBudget *int64 `json:"registered_budget,omitempty"`
	// ImageBudget is the limit in place of them for images (kinds.Image).
	ImageBudget *int64 `json:"image_budget,omitempty"`
	// Claim is how long the domain's claim is renewed for.
	Claim Millis `json:"claim_ms"`
	// Worker is the id of the worker that makes the request; 0 means that it has none.
	Worker int32 `json:"worker,omitempty"`
}

// SharedSlot is the slot of an address, a subnet or a registered domain, and its delay.
type SharedSlot struct {
	Key   string `json:"key"`
	Delay Millis `json:"delay_ms"`
}

// Lease is the guard's answer.
type Lease struct {
	Granted bool
	// CrawlID is the crawl that has the lease, when granted.
	CrawlID int64
	// Wait is the time to wait before asking again, if not granted, and Reason why. With
	// reasons.Stale, or if a person forbids the request, there is nothing to wait for.
	Wait   time.Duration
	Reason reasons.Reason
}

// How long claims last: the right of one workflow to serve a domain.
const (
	// ClaimStart is the time that a dispatcher's claim lasts unless the domain's first request
	// renews it.
	ClaimStart = time.Minute
	// ClaimRenewed is how long a request's lasts. A longer wait renews it first.
	ClaimRenewed = 30 * time.Minute
)
