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
	// Since leaves out pages that were not fetched, crawls that were not completed and
	// links that neither came nor went at this instant or later.
	Since time.Time `json:"since,omitzero"`
	// Language is the beginning of a page's tag, of whole subtags.
	Language string `json:"language,omitempty"`
}

// ExportKey is how far an export has come: what follows is read from there. The zero
// value is the beginning.
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
	// Outcome, StatusCode and ContentType are those of the last crawl that was not
	// skipped.
	Outcome     crawl.Outcome
	StatusCode  int
	ContentType string
	// NoIndex and NoFollow are as they were at the last visit.
	NoIndex  bool
	NoFollow bool
	// Usage is what its publisher says about its use: usage.Usage; nil is nothing.
	Usage json.RawMessage
	// Duplicate says that its last visit brought nothing that another page had not.
	Duplicate bool
	Trap      string
	Content   []byte
	SimHash   *int64
	Extractor int
	// LastModified and FreshUntil are as its server says.
	LastModified time.Time
	FreshUntil   time.Time
	FoundAt      time.Time
	FetchedAt    time.Time
	FailedAt     time.Time
}

// LinkRow is a link as it is exported: LinkReport is of the page that it leads to.
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
	// Duration is nil where no request was made.
	Duration *crawl.Millis
	// Delay is the time that had to pass afterwards before the domain was asked again,
	// for DelayReason; RetryAfter is what the server asked for.
	Delay       *crawl.Millis
	DelayReason string
	RetryAfter  *crawl.Millis
	// Lost says that the worker died: the request may have been made.
	Lost bool
	// Worker is whose request it was; empty where none was made.
	Worker string
}

// DomainRow is a domain as it is exported, its totals over all runs.
type DomainRow struct {
	ID int64
	DomainListing
	// Controls are the kinds of what people have decided about it, in force.
	Controls []string
	// CrawlDelay is the largest of its robots.txt files; zero where none has any.
	CrawlDelay crawl.Millis
	Sitemaps   []string
	Seed       bool
	Runs       int64
	Totals     Totals
	FoundAt    time.Time
}
