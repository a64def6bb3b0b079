package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
)

// ExportFilter filters the rows of an export; zero values select all.
type ExportFilter struct {
	// Domain limits the rows to a domain, and links to its pages' links.
	Domain string `json:"domain,omitempty"`
	// Since selects pages fetched, crawls completed and links that came or went since this instant.
	Since time.Time `json:"since,omitzero"`
	// Before selects crawls that were completed earlier. Movable selects crawls that only a history
	// needs: a later crawl of the same page in the same run has the same outcome.
	Before  time.Time `json:"before,omitzero"`
	Movable bool      `json:"movable,omitempty"`
	// Language is a prefix of a page's tag, in whole subtags.
	Language string `json:"language,omitempty"`
	// RunID limits pages, crawls and domains to a run. Outcomes and sums then count only it.
	RunID *int64 `json:"run_id,omitempty"`
	// Outcome selects crawls with this outcome, and pages whose last attempt had it.
	Outcome crawl.Outcome `json:"outcome,omitempty"`
}

// ExportKey is the last exported position. The zero value is the beginning.
type ExportKey struct {
	ID  int64     `json:"id,omitempty"`
	URL string    `json:"url,omitempty"`
	At  time.Time `json:"at,omitzero"`
}

// PageRow is an exported page. Zero values are unknown.
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
	// NoIndex, NoFollow and Duplicate (nothing beyond another page) are of the last visit.
	NoIndex, NoFollow, Duplicate bool
	// Usage is a usage.Usage; nil if its publisher declares nothing.
	Usage     json.RawMessage
	Trap      string
	Content   []byte
	SimHash   *int64
	Extractor int
	// LastModified and FreshUntil are declared by its server.
	LastModified, FreshUntil     time.Time
	FoundAt, FetchedAt, FailedAt time.Time
}

// LinkRow is an exported link; Link describes its target.
type LinkRow struct {
	Link

	FromID     int64
	FromURL    string
	FromDomain string
	ToID       int64
}

// CrawlRow is an exported closed crawl. Nil and zero values are unknown.
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
	// Duration is nil if no request was made. Delay is the domain's wait afterwards, for DelayReason;
	// RetryAfter is the wait that the server requested.
	Duration, Delay, RetryAfter *crawl.Millis
	DelayReason                 string
	// Lost is set if the worker died: the request may have been made.
	Lost bool
	// Archived is the crawl.Archived of the response as JSON, or empty.
	Archived []byte
	// Worker made the request; empty means no request.
	Worker string
	// Attempt is its number in the visit, from 1. IsRevisit is set if it began a further visit.
	Attempt   int
	IsRevisit bool
	// RobotsVersion names the deciding robots.txt; nil if there was no such file.
	RobotsVersion *int64
	// IPDelay, SubnetDelay and RegisteredDelay are the waits of the address, of Subnet and of
	// Registered, the registered domain; nil means no wait.
	IPDelay, SubnetDelay, RegisteredDelay *crawl.Millis
	Subnet, Registered                    string
}

// FeedRow is an attempt in the feed, with its page as it is now. Images of a page are the ones that
// it names; an attempt at an image has only Image.
type FeedRow struct {
	Position FeedPosition
	Attempt  CrawlRow
	// WasRead is set if an earlier attempt read the page.
	WasRead bool
	Page    PageRow
	Links   []LinkRow
	Images  []ProvenanceRow
	Image   ImageRow
}

// FeedPosition is the place of an attempt in the feed. The zero value is the beginning.
type FeedPosition struct {
	Number int64
	// At is the end of the attempt, which guards against positions of other databases.
	At time.Time
}

// String returns the cursor that operators and programs see. It is opaque to them.
func (p FeedPosition) String() string {
	if p.At.IsZero() {
		return strconv.FormatInt(p.Number, 10)
	}
	return strconv.FormatInt(p.Number, 10) + "-" + strconv.FormatInt(p.At.UnixMicro(), 10)
}

// ParseFeedPosition reads a cursor. It returns crawl.ErrInvalid for other texts.
func ParseFeedPosition(text string) (p FeedPosition, err error) {
	number, at, dated := strings.Cut(text, "-")
	p.Number, err = strconv.ParseInt(number, 10, 64)
	if err == nil && dated {
		var micros int64
		micros, err = strconv.ParseInt(at, 10, 64)
		p.At = time.UnixMicro(micros)
	}
	if err != nil || p.Number < 0 {
		return FeedPosition{}, fmt.Errorf("%w: cursor %q: want the cursor of a line of the feed", crawl.ErrInvalid, text)
	}
	return p, nil
}

// MovedCrawl names an exported crawl to delete. The end guards against files of other databases.
type MovedCrawl struct {
	ID          int64
	CompletedAt time.Time
}

// MovedHistory describes the history in files. The zero value means that all of it is stored.
type MovedHistory struct {
	// Before is the upper bound of attempts that may have been moved.
	Before time.Time `json:"before"`
	// Attempts counts the domain's moved attempts.
	Attempts int64 `json:"attempts"`
}

// DomainRow is an exported domain, its totals over all runs.
type DomainRow struct {
	ID int64
	DomainListing
	// Controls lists the kinds of operators' decisions in force.
	Controls []string
	// CrawlDelay is the largest of its robots.txt files, or zero.
	CrawlDelay crawl.Millis
	Sitemaps   []string
	Seed       bool
	Runs       int64
	Totals     Totals
	FoundAt    time.Time
}
