package crawl

import (
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Start requests a lease from the guard: the right to make one request now. It is one document.
type Start struct {
	// AttemptID is the attempt to begin; 0 for a prerequisite, which gets a row by this.
	AttemptID int64 `json:"attempt_id"`
	RunID     int64 `json:"run_id"`
	// Domain is the requested domain, which a redirect of robots.txt may have chosen.
	Domain string     `json:"domain"`
	Origin string     `json:"origin"`
	URL    string     `json:"url"`
	Kind   kinds.Kind `json:"kind"`
	// Prerequisite marks a request that a page depends on.
	Prerequisite bool `json:"prerequisite,omitempty"`
	// RetryPriority is a retry's priority, if this fails or its worker dies; nil means no retry.
	RetryPriority *int `json:"retry_priority,omitempty"`
	// Shared lists the slots that the request shares with other domains.
	Shared []SharedSlot `json:"shared_slots"`
	// SlotHold is the time before the domain's slot reopens if nothing releases it. MaxDuration is the
	// longest duration of a request, after which shared slots are closed for their own delay.
	SlotHold    Millis `json:"hold_ms"`
	MaxDuration Millis `json:"span_ms"`
	// Queued is set if the caller has waited in a shared slot's queue.
	Queued bool `json:"queued"`
	// RunBudget, DomainBudget and RegisteredBudget limit the run's requests in all, to the domain, and
	// to its registered domain; nil means no limit.
	RunBudget        *int64 `json:"run_budget,omitempty"`
	DomainBudget     *int64 `json:"domain_budget,omitempty"`
	RegisteredBudget *int64 `json:"registered_budget,omitempty"`
	// ImageBudget replaces these limits for images (kinds.Image).
	ImageBudget *int64 `json:"image_budget,omitempty"`
	// ClaimDuration is the duration of the renewed claim on the domain.
	ClaimDuration Millis `json:"claim_ms"`
	// Worker is the id of the worker that makes the request; 0 means no worker.
	Worker int32 `json:"worker,omitempty"`
}

// SharedSlot is the slot of an address, a subnet or a registered domain, and its delay.
type SharedSlot struct {
	Key   string `json:"key"`
	Delay Millis `json:"delay_ms"`
}

// Lease is the guard's response.
type Lease struct {
	Granted bool
	// AttemptID is the attempt that holds the lease, if granted.
	AttemptID int64
	// Wait is the time before the next request for a lease, if not granted, and Reason its cause. A
	// wait is useless with reasons.Stale, or if an operator forbids the request.
	Wait   time.Duration
	Reason reasons.Reason
}

// The durations of claims: the right of one workflow to serve a domain.
const (
	// ClaimStart is the duration of a dispatcher's claim before the domain's first request renews it.
	ClaimStart = time.Minute
	// ClaimRenewed is the duration of a request's claim. A longer wait renews it first.
	ClaimRenewed = 30 * time.Minute
)
