package crawl

import (
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Start asks the guard for a lease: the right to make one request now. The
// database takes it as one document.
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
	// RetryPriority is that of the crawl which tries the page again if this attempt fails, or
	// if the worker dies; nil is never.
	RetryPriority *int `json:"retry_priority,omitempty"`
	// Shared are the slots that the request shares with other domains.
	Shared []SharedSlot `json:"shared"`
	// Hold is how long the domain's slot stays closed if nothing releases it, and
	// Span the longest the request can take, after which shared slots are closed for
	// their own delay.
	Hold Millis `json:"hold_ms"`
	Span Millis `json:"span_ms"`
	// Queued means that the caller has waited for its place in a shared slot's queue.
	Queued bool `json:"queued"`
	// RunBudget, DomainBudget and RegisteredBudget are how many requests the run may have
	// begun in all, to the domain, and to all domains of its registered domain; nil is no
	// limit.
	RunBudget        *int64 `json:"run_budget,omitempty"`
	DomainBudget     *int64 `json:"domain_budget,omitempty"`
	RegisteredBudget *int64 `json:"registered_budget,omitempty"`
	// ImageBudget is how many requests for images the run may have begun to the domain; nil
	// is no limit. It counts in place of the others where Kind is kinds.Image.
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
	// Wait is how long to wait before asking again, when not granted, and Reason what
	// for. For reasons.Stale and what a person forbids there is nothing to wait for.
	Wait   time.Duration
	Reason reasons.Reason
}

// How long claims last: the right of one workflow to serve a domain.
const (
	// ClaimStart is how long a dispatcher's claim lasts until the domain's first
	// request renews it, and so what a lost start costs.
	ClaimStart = time.Minute
	// ClaimRenewed is how long a request's lasts. A longer wait renews it first.
	ClaimRenewed = 30 * time.Minute
)
