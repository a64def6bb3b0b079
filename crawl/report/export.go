package report

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
)

// ExportFilter leaves rows out of an export; zero values do not.
type ExportFilter struct {
	// Domain limits the rows to a domain; links to those on its pages.
	Domain string `json:"domain,omitempty"`
	// Since selects pages that were fetched, crawls that were completed and links that came or
	// went at this instant or later.
	Since time.Time `json:"since,omitzero"`
	// Before selects crawls that were completed earlier, and Movable those of them that history alone
	// needs: a later crawl of the same page in the same run has ended alike.
	Before  time.Time `json:"before,omitzero"`
	Movable bool      `json:"movable,omitempty"`
	// Language is the beginning of a page's tag, of whole subtags.
	Language string `json:"language,omitempty"`
	// RunID limits pages, crawls and domains to a run. Outcomes of pages and sums of domains are then
	// those in this run.
	RunID *int64 `json:"run_id,omitempty"`
	// Outcome selects crawls that ended so, and pages whose last attempt did.
	Outcome crawl.Outcome `json:"outcome,omitempty"`
}

// ExportKey is the place after which an export continues. The zero value is the beginning.
type ExportKey struct {
	ID  int64     `json:"id,omitempty"`
	URL string    `json:"url,omitempty"`
	At  time.Time `json:"at,omitzero"`
}

// PageRow is a page as it is exported. Zero values are unknown.
type PageRow struct {
	crawl.Signals

	ID       int64
	URL      string
	Domain   string
	Origin   string
	Kind     kinds.Kind
	Status   string
	Language string
	// Outcome, StatusCode and ContentType are of the last crawl that was not skipped.
	Outcome     crawl.Outcome
	StatusCode  int
	ContentType string
	// NoIndex, NoFollow and Duplicate are of the last visit. Duplicate says that it brought nothing
	// that another page had not.
	NoIndex, NoFollow, Duplicate bool
	// Usage is a usage.Usage; nil if its publisher declares nothing.
	Usage     json.RawMessage
	Trap      string
	Content   []byte
	SimHash   *int64
	Extractor int
	// LastModified and FreshUntil are as its server says.
	LastModified, FreshUntil     time.Time
	FoundAt, FetchedAt, FailedAt time.Time
}

// LinkRow is a link as it is exported; Link is of the page that it leads to.
type LinkRow struct {
	Link

	FromID     int64
	FromURL    string
	FromDomain string
	ToID       int64
}

// CrawlRow is a closed crawl as it is exported. Nil and zero values are unknown.
type CrawlRow struct {
	ID           int64
	PageID       int64
	PreviousID   *int64
	Run          string
	Domain       string
	URL          string
	Kind         kinds.Kind
	Prerequisite bool
	Outcome      crawl.Outcome
	StatusCode   int
	Error        string
	Skipped      string
	Unchanged    string
	ContentType  string
	Bytes        *int64
	Truncated    bool
	IP           string
	Depth        int
	Redirects    int
	ScheduledFor time.Time
	CompletedAt  time.Time
	// Duration is nil if no request was made. Delay is the wait of the domain afterwards, for
	// DelayReason; RetryAfter is the wait that the server asked for.
	Duration, Delay, RetryAfter *crawl.Millis
	DelayReason                 string
	// Lost says that the worker died: the request may have been made.
	Lost bool
	// Worker made the request; empty if none was made.
	Worker string
	// Attempt is its number in the visit to its page, from 1. Again says that it began a further visit.
	Attempt int
	Again   bool
	// RobotsVersion names the robots.txt that decided; nil if none did.
	RobotsVersion *int64
	// IPDelay, SubnetDelay and RegisteredDelay are the waits of the address, of Subnet and of
	// Registered, the registered domain; nil if there was none.
	IPDelay, SubnetDelay, RegisteredDelay *crawl.Millis
	Subnet, Registered                    string
}

// MovedCrawl names an exported crawl that is to be deleted: with its end, so that the file of another
// database deletes nothing.
type MovedCrawl struct {
	ID          int64
	CompletedAt time.Time
}

// Moved is how much of the history is in files instead. The zero value means that all of it is stored.
type Moved struct {
	// Before is the end of the time of which attempts may have been moved.
	Before time.Time `json:"before"`
	// Attempts counts those of the domain that were.
	Attempts int64 `json:"attempts"`
}

// DomainRow is a domain as it is exported, its totals over all runs.
type DomainRow struct {
	ID int64
	DomainListing
	// Controls are the kinds of people's decisions in force.
	Controls []string
	// CrawlDelay is the largest of its robots.txt files, or zero.
	CrawlDelay crawl.Millis
	Sitemaps   []string
	Seed       bool
	Runs       int64
	Totals     Totals
	FoundAt    time.Time
}
