package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Watch is the state that a monitor polls every few seconds.
type Watch struct {
	// Now is the time of the poll on the database's clock.
	Now time.Time `json:"now"`
	// Waits counts the domains with a workflow by the reason of their wait: reasons.InFlight during a
	// request, and empty if they may be requested.
	Waits map[reasons.Reason]int64 `json:"waits"`
	// Waiting holds the same with times, the most frequent first.
	Waiting []WaitCount `json:"waiting,omitempty"`
	// Pending counts attempts that are not closed, including prerequisites; beyond WatchBound it is
	// an estimate. Due counts due domains without a workflow, up to WatchBound a run. OldestDue is
	// the longest lateness of a due domain.
	Pending   int64             `json:"pending"`
	Due       int64             `json:"due_domains"`
	OldestDue settings.Duration `json:"oldest_due"`
	// Domains counts domains by status; nil if they are too many. DomainsEstimate estimates them.
	Domains         map[crawl.DomainStatus]int64 `json:"domains,omitempty"`
	DomainsEstimate int64                        `json:"domains_estimate"`
	// KeywordsWaiting counts pages that no search finds yet, up to KeywordsBound.
	KeywordsWaiting int `json:"keywords_waiting"`
}

// WaitCount counts the domains with a workflow that wait for one reason.
type WaitCount struct {
	Reason  reasons.Reason `json:"reason"`
	Domains int64          `json:"domains"`
	// First and Last are the first and the last end of their waits; zero if the wait has no end.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// WatchBound limits the counts of a Watch.
const WatchBound = 50_000

// EndedGaps counts the gaps ended in a period, by a kind: domain, address, subnet or registered.
type EndedGaps struct {
	Kind string
	// Gaps counts all gaps, and Violations the gaps that were shorter than required.
	Gaps, Violations int64
	// LatenessBuckets counts gaps by the lateness of the requests that ended them, in buckets below,
	// between and above the bounds. LatenessSumSeconds is the sum, and LatenessMaxSeconds the maximum.
	LatenessBuckets                        []int64
	LatenessSumSeconds, LatenessMaxSeconds float64
}

// OutcomeSeries counts outcomes over time, of a run or of all runs, like Totals.
type OutcomeSeries struct {
	// Step is the length of each span.
	Step settings.Duration `json:"step"`
	// Spans are consecutive, the oldest first. The last span may not have ended yet.
	Spans []OutcomeSpan `json:"spans"`
}

// OutcomeSpan counts the outcomes in a period.
type OutcomeSpan struct {
	BeganAt  time.Time               `json:"began_at"`
	Outcomes map[crawl.Outcome]int64 `json:"outcomes,omitempty"`
}

// Attempts counts all outcomes.
func (o OutcomeSpan) Attempts() (n int64) {
	for _, count := range o.Outcomes {
		n += count
	}
	return n
}

// Fleet describes all workers.
type Fleet struct {
	// Now is the time on the database's clock; zero if there is no worker.
	Now     time.Time        `json:"-"`
	Limit   crawl.FleetLimit `json:"limit"`
	Workers []Worker         `json:"workers"`
}

// Worker is a present or past process that serves the task queues.
type Worker struct {
	// ID identifies it in the rows of its attempts.
	ID        int32     `json:"id"`
	Identity  string    `json:"identity"`
	Host      string    `json:"host"`
	Version   string    `json:"version"`
	BuildID   string    `json:"build_id,omitempty"`
	Role      string    `json:"role"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at"`
	StoppedAt time.Time `json:"stopped_at,omitzero"`
	// Lost is set if it has apparently died: it did not report its stop.
	Lost bool `json:"lost,omitempty"`
	// InFlight counts its requests in flight when last seen, and Demand its requests without a limit.
	InFlight int `json:"in_flight"`
	Demand   int `json:"demand"`
	// MaxFetches is its own setting, and Share its part of the limit of all workers.
	MaxFetches int `json:"max_fetches"`
	Share      int `json:"share"`
	// MaxInFlight counts against the limit if CountsAgainstLimit is set. HasLease reports whether it
	// may begin requests.
	MaxInFlight        int  `json:"permits_held"`
	HasLease           bool `json:"leased"`
	CountsAgainstLimit bool `json:"counts_against_limit"`
}

// FleetUse is the limit on the requests in flight of all workers, and its use.
type FleetUse struct {
	// MaxFetches is the limit, set by SetBy for Reason; 0 means no limit.
	MaxFetches int    `json:"max_fetches"`
	Reason     string `json:"reason,omitempty"`
	SetBy      string `json:"set_by,omitempty"`
	InFlight   int64  `json:"in_flight"`
	// Waiting counts requests that wait for others to end.
	Waiting int64 `json:"waiting"`
	// Running counts the workers seen recently. SeenAt is the last sign of a worker; zero means never.
	Running int64     `json:"running"`
	SeenAt  time.Time `json:"seen_at,omitzero"`
}

// Full reports whether requests wait for the limit.
func (u FleetUse) Full() bool { return u.MaxFetches > 0 && u.Waiting > 0 }
