package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Watch is what a monitor looks at every few seconds.
type Watch struct {
	// Now is the time of the poll on the database's clock.
	Now time.Time `json:"now"`
	// Waits counts the domains that are served, by the reason of their wait: reasons.InFlight
	// during a request, and empty while they may be requested.
	Waits map[reasons.Reason]int64 `json:"waits"`
	// Waiting is the same with times, the most frequent first.
	Waiting []WaitingFor `json:"waiting,omitempty"`
	// Pending counts crawls that are not closed, prerequisites too; beyond WatchBound it is an
	// estimate. Due counts domains that are due and that nobody serves, up to WatchBound a run,
	// and OldestDue is for how long the oldest has been.
	Pending   int64             `json:"pending"`
	Due       int64             `json:"due_domains"`
	OldestDue settings.Duration `json:"oldest_due"`
	// Domains counts them by status; nil if they are too many. DomainsAbout is their estimate.
	Domains      map[crawl.DomainStatus]int64 `json:"domains,omitempty"`
	DomainsAbout int64                        `json:"domains_about"`
	// KeywordsWaiting counts pages that no search finds yet, up to KeywordsBound.
	KeywordsWaiting int `json:"keywords_waiting"`
}

// WaitingFor are domains that are served and wait for one reason.
type WaitingFor struct {
	Reason  reasons.Reason `json:"reason"`
	Domains int64          `json:"domains"`
	// First and Last are the first and the last end of their waits; zero if they wait for nothing.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// WatchBound is how far a Watch counts.
const WatchBound = 50_000

// EndedGaps are gaps that have ended in a span of time, of one kind of key: domain, address,
// subnet or registered.
type EndedGaps struct {
	Kind string
	// Gaps counts all, and Violations those that were shorter than required.
	Gaps, Violations int64
	// Late counts gaps by the lateness of the requests that ended them, in buckets below, between
	// and above the bounds. LateSeconds is the sum, and LatestSeconds the most.
	Late                       []int64
	LateSeconds, LatestSeconds float64
}

// OutcomesOver counts outcomes over time, of a run or of all, as Totals does.
type OutcomesOver struct {
	// Step is the length of each span.
	Step settings.Duration `json:"step"`
	// Spans are consecutive, the oldest first. The last one may not have ended yet.
	Spans []OutcomesIn `json:"spans"`
}

// OutcomesIn counts the outcomes in a span of time.
type OutcomesIn struct {
	BeganAt  time.Time               `json:"began_at"`
	Outcomes map[crawl.Outcome]int64 `json:"outcomes,omitempty"`
}

// Attempts counts all outcomes.
func (o OutcomesIn) Attempts() (n int64) {
	for _, of := range o.Outcomes {
		n += of
	}
	return n
}

// Fleet is all workers.
type Fleet struct {
	// Now is the database's clock; zero if there is no worker.
	Now     time.Time        `json:"-"`
	Limit   crawl.FleetLimit `json:"limit"`
	Workers []Worker         `json:"workers"`
}

// Worker is a process that serves the task queues, or has done so.
type Worker struct {
	// ID stands in the rows of its attempts.
	ID        int32     `json:"id"`
	Identity  string    `json:"identity"`
	Host      string    `json:"host"`
	Version   string    `json:"version"`
	BuildID   string    `json:"build_id,omitempty"`
	Role      string    `json:"role"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at"`
	StoppedAt time.Time `json:"stopped_at,omitzero"`
	// Lost says that it has died, as far as is known: it did not report its stop.
	Lost bool `json:"lost,omitempty"`
	// InFlight counts its requests in flight when it was last seen, and Wanted those without a limit.
	InFlight int `json:"in_flight"`
	Wanted   int `json:"wanted"`
	// MaxFetches is its own setting, and Share its part of the limit of all.
	MaxFetches int `json:"max_fetches"`
	Share      int `json:"share"`
	// Held counts against the limit while Counts is set. Leased says that it may begin requests.
	Held   int  `json:"held"`
	Leased bool `json:"leased"`
	Counts bool `json:"counts"`
}

// FleetUse is the limit on the requests in flight of all workers, and its use.
type FleetUse struct {
	// MaxFetches is the limit, which SetBy has set for Reason; 0 is none.
	MaxFetches int    `json:"max_fetches"`
	Reason     string `json:"reason,omitempty"`
	SetBy      string `json:"set_by,omitempty"`
	InFlight   int64  `json:"in_flight"`
	// Waiting counts requests that wait for others to end.
	Waiting int64 `json:"waiting"`
	// Running counts the workers that were heard of lately. SeenAt is when the last one was; zero is never.
	Running int64     `json:"running"`
	SeenAt  time.Time `json:"seen_at,omitzero"`
}

// Full reports whether requests wait for the limit.
func (u FleetUse) Full() bool { return u.MaxFetches > 0 && u.Waiting > 0 }
