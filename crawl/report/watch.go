package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Watch is what a monitor looks at every few seconds.
type Watch struct {
	// Now is when it was looked, on the database's clock.
	Now time.Time `json:"now"`
	// Waits is how many domains are served, by what they wait for: reasons.InFlight while
	// they are asked, and empty while they may be.
	Waits map[reasons.Reason]int64 `json:"waits"`
	// Waiting is the same with times, those first that are most.
	Waiting []WaitingFor `json:"waiting,omitempty"`
	// Pending counts crawls that are not closed, prerequisites too; beyond WatchBound it is an
	// estimate. Due counts domains that are due and that nobody serves, up to WatchBound a run,
	// and OldestDue is for how long the oldest has been.
	Pending   int64             `json:"pending"`
	Due       int64             `json:"due_domains"`
	OldestDue settings.Duration `json:"oldest_due"`
	// Domains is how many have each status; nil where they are too many to be counted.
	Domains map[crawl.DomainStatus]int64 `json:"domains,omitempty"`
	// DomainsAbout is how many there are, about.
	DomainsAbout int64 `json:"domains_about"`
	// KeywordsWaiting is how many pages are not found by a search yet, up to KeywordsBound.
	KeywordsWaiting int `json:"keywords_waiting"`
}

// WaitingFor are domains that are served and wait for one reason.
type WaitingFor struct {
	Reason  reasons.Reason `json:"reason"`
	Domains int64          `json:"domains"`
	// First and Last are until when the first and the last of them wait; zero where they wait for
	// nothing.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// WatchBound is how far a Watch counts.
const WatchBound = 50_000

// EndedGaps are gaps that have ended in a span of time, of one kind of key: domain, address,
// subnet or registered.
type EndedGaps struct {
	Kind string
	// Gaps is how many, and Violations how many of them were shorter than they had to be.
	Gaps, Violations int64
	// Late counts them by how late the request was that has ended them, in the buckets below,
	// between and above the bounds. LateSeconds is their sum.
	Late        []int64
	LateSeconds float64
	// LatestSeconds is how late the latest was.
	LatestSeconds float64
}
