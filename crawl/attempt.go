package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Attempt records a request, or a page that needed no request, as one document.
type Attempt struct {
	ID     int64  `json:"attempt_id"`
	Domain string `json:"domain"`
	// FactsDomain names the domain whose facts are returned next; empty means Domain.
	FactsDomain string `json:"next_facts_of,omitempty"`
	// Reached reports whether the domain was reached, even if it refused.
	Reached bool `json:"reached,omitempty"`
	// Requested is false if no request was made; then no lease is held.
	Requested bool `json:"requested,omitempty"`
	// IP is the requested address. Shared lists the slots leased beside the domain's slot.
	IP     string       `json:"ip,omitempty"`
	Shared []SharedSlot `json:"-"`

	Outcome Outcome `json:"outcome"`
	// StatusCode is 0 if there was no response.
	StatusCode  int    `json:"status_code,omitempty"`
	Error       string `json:"error,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
	// Truncated is set if the body exceeds the read limit.
	Truncated bool `json:"truncated,omitempty"`
	// Duration is the duration of the request.
	Duration ElapsedMillis `json:"duration_ms"`
	// EndedAt is its end on this process's monotonic clock. The document holds the time since then.
	EndedAt time.Time `json:"-"`
	// Ended is the same instant on the database's clock, once known.
	Ended time.Time `json:"ended_at,omitzero"`

	// LeaseExpired is set if the request outlasted its leases, for example because its process was
	// stopped. Other requests may have been made meanwhile. Only an audit counts it.
	LeaseExpired bool `json:"lease_exceeded,omitempty"`

	// Delay, IPDelay, SubnetDelay and RegisteredDelay block the domain, the address, its subnet and
	// the registered domain, counted from EndedAt. Reason names the cause.
	Delay           Millis         `json:"delay_ms"`
	Reason          reasons.Reason `json:"reason"`
	IPDelay         Millis         `json:"ip_delay_ms,omitempty"`
	Subnet          string         `json:"subnet,omitempty"`
	SubnetDelay     Millis         `json:"subnet_delay_ms,omitempty"`
	Registered      string         `json:"registered_domain,omitempty"`
	RegisteredDelay Millis         `json:"registered_delay_ms,omitempty"`
	// RetryAfter is the wait that the server requested; 0 means no wait.
	RetryAfter Millis `json:"retry_after_ms,omitempty"`
	// RetryIn is the wait before a retry, counted from EndedAt; nil means no retry. With RetryFirst
	// the page and its run keep their priority: the page comes first once its domain's slot is free.
	RetryIn    *Millis `json:"retry_in_ms,omitempty"`
	RetryFirst bool    `json:"retry_next,omitempty"`
	// RobotsVersion identifies the robots.txt that allowed the request.
	RobotsVersion int64 `json:"robots_version,omitempty"`
	// Health is the domain's health after the response; nil leaves it unchanged. AbandonStatus is the
	// status of an abandoned domain, for AbandonReason; empty means not abandoned. The domain is
	// retried after AbandonFor, counted from EndedAt.
	Health        *Health      `json:"health,omitempty"`
	AbandonStatus DomainStatus `json:"abandon_status,omitempty"`
	AbandonReason string       `json:"abandon_reason,omitempty"`
	AbandonFor    Millis       `json:"abandon_ms,omitempty"`

	// Skipped is the page's reason for making no request. For OutcomeSuccess, it is the reason why the
	// response gave neither text nor links nor an image.
	Skipped reasons.Reason `json:"skipped,omitempty"`
	// Unchanged explains why the page counts as unchanged since the last visit.
	Unchanged string `json:"unchanged_reason,omitempty"`
	// Page holds the findings about the page; nil means no findings.
	Page *PageUpdate `json:"page,omitempty"`
	// Recrawl schedules the next request for the page; nil keeps the earlier schedule.
	Recrawl *Recrawl `json:"recrawl,omitempty"`
	// Charge is set at the first visit of a page, and after a visit that brought nothing new.
	Charge *Charge `json:"charge,omitempty"`

	Links []Link `json:"links,omitempty"`
	// AllLinks deletes the earlier links of the page that are not in Links.
	AllLinks bool `json:"all_links,omitempty"`
	// AllSitemaps likewise deletes the sitemaps and feeds.
	AllSitemaps bool `json:"all_sitemaps,omitempty"`
	// LinksForbidden is set if the publisher forbids the run's purpose. It deletes the links of the
	// page, and its statements on images.
	LinksForbidden bool `json:"links_forbidden,omitempty"`
	// Redirect is set if Links holds the single target of a redirect.
	Redirect bool `json:"redirect,omitempty"`
	// Follow adds the links to the run; nil adds no links.
	Follow *Follow `json:"follow,omitempty"`
	// FollowKnown does the same for the links known from the last visit.
	FollowKnown *KnownLinks `json:"follow_known,omitempty"`

	// Images lists the page's images in document order. FollowImages adds them to the run; nil adds no
	// images. AllImages is set if the page has no other images now.
	Images       []FoundImage `json:"images,omitempty"`
	FollowImages *Follow      `json:"follow_images,omitempty"`
	AllImages    bool         `json:"all_images,omitempty"`
	// ImagesForbidden likewise deletes the page's earlier statements on images.
	ImagesForbidden bool `json:"images_forbidden,omitempty"`
	// Image holds the findings about the fetched image; nil means no findings.
	Image *ImageUpdate `json:"image,omitempty"`

	// Robots holds the findings about the origin's robots.txt; nil means no findings.
	Robots *Robots `json:"robots,omitempty"`

	// Index holds the page's search terms; nil if the page was not read, or must not be indexed.
	Index *Index `json:"index,omitempty"`

	// Archived is the record of the response in an archive; nil if it was not archived.
	Archived *Archived `json:"archived,omitempty"`

	// Login is set if a login page was served in place of the page.
	Login bool `json:"-"`

	// URL, Kind and Run are for the log. The crawl or the request already stores them.
	URL  string     `json:"-"`
	Kind kinds.Kind `json:"-"`
	Run  string     `json:"-"`
}

// RecordWall records in an attempt that a protection against bots answered in place of the site.
func RecordWall(a *Attempt, wall reasons.Reason, evidence string) {
	a.Skipped, a.Error = wall, wall.Row().Explanation+": "+evidence
	if a.Outcome == OutcomeSuccess {
		a.Outcome = OutcomeBlocked4xx
	}
}

// unstoredRobotsLifetime is the time before a robots.txt that could not be stored is requested
// again.
const unstoredRobotsLifetime = 24 * time.Hour

// WithoutContents returns the attempt without the contents of its response. It keeps only fields
// that the database cannot refuse, for the guard, the totals and an audit. A bare robots.txt
// forbids everything.
func (a Attempt) WithoutContents(reason string) Attempt {
	a.Error = CleanText("the database refused the rest of the record: "+reason, attemptErrorMax)
	a.ContentType, a.AbandonReason, a.Unchanged = "", "", ""
	a.Charge, a.Links, a.Follow, a.FollowKnown, a.Index = nil, nil, nil, nil, nil
	a.AllLinks, a.AllSitemaps = false, false
	a.Images, a.FollowImages, a.AllImages, a.ImagesForbidden, a.Image = nil, nil, false, false, nil
	if a.Page != nil {
		page := PageUpdate{Failed: a.Page.Failed, RemoveFromIndex: a.Page.RemoveFromIndex, Outdated: a.Page.Outdated}
		if a.Page.Visit != nil {
			page.Visit = &VisitUpdate{}
		}
		a.Page = &page
	}
	if a.Robots != nil {
		a.Robots = &Robots{
			Origin: a.Robots.Origin, Domain: a.Robots.Domain, Agent: a.Robots.Agent, CrawlDelay: a.Robots.CrawlDelay,
			Verdict: RobotsUnreachable, Failed: true, Lifetime: Millis(unstoredRobotsLifetime),
			Reason: "the response could not be stored: no page is requested until it can be",
		}
	}
	return a
}

const attemptErrorMax = 1000

// Clean returns the attempt with clean errors. Its other texts are cleaned when they are read.
func (a Attempt) Clean() Attempt {
	a.Error, a.AbandonReason = CleanText(a.Error, attemptErrorMax), CleanText(a.AbandonReason, attemptErrorMax)
	return a
}

// ElapsedMillis is a duration that documents write as whole milliseconds, rounded down.
type ElapsedMillis time.Duration

// MarshalJSON writes whole milliseconds.
func (s ElapsedMillis) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(s).Milliseconds())
}

// PageUpdate holds an attempt's findings about a page.
type PageUpdate struct {
	// Failed reports whether the page has failed permanently.
	Failed bool `json:"failed,omitempty"`
	// RequestTarget is a new Visit.RequestTarget; empty leaves it unchanged.
	RequestTarget string `json:"request_target,omitempty"`
	// Visit is set if the page was read, or is unchanged.
	Visit *VisitUpdate `json:"visit,omitempty"`
	// Signals and the fields below are set if the page was read. Usage is also set with HasUsage.
	Signals *Signals `json:"signals,omitempty"`
	// Language is the BCP 47 tag of the page's text; empty means undetermined.
	Language string `json:"language,omitempty"`
	// Extractor is the [ExtractorVersion] that read the page.
	Extractor int `json:"extractor,omitempty"`
	// Images reports whether the page's images were recorded, too.
	Images bool `json:"images_recorded,omitempty"`
	// IsPage is set if the response is a page, whatever its expected kind.
	IsPage bool `json:"is_page,omitempty"`
	// Outdated is set if the page is gone: the next visit must read it, changed or not.
	Outdated bool `json:"must_reread,omitempty"`
	// RemoveFromIndex is set if the page must leave the search index.
	RemoveFromIndex bool   `json:"leaves_index,omitempty"`
	SimHash         *int64 `json:"simhash,omitempty"`
	NoIndex         bool   `json:"noindex,omitempty"`
	NoFollow        bool   `json:"nofollow,omitempty"`
	// Usage is the publisher's statement on the page's use, as JSON. Without Signals it counts only
	// with HasUsage.
	Usage    json.RawMessage `json:"usage,omitempty"`
	HasUsage bool            `json:"headers_read,omitempty"`
	// Trap is the rule that places the page in an endless space; empty means no trap.
	Trap         TrapRule `json:"trap,omitempty"`
	TrapEvidence string   `json:"trap_evidence,omitempty"`
}

// VisitUpdate is a Visit in a document: the attempt supplies its time.
type VisitUpdate struct {
	ETag              string      `json:"etag,omitempty"`
	LastModified      time.Time   `json:"last_modified,omitzero"`
	FreshnessLifetime Millis      `json:"fresh_ms,omitempty"`
	Content           ContentHash `json:"content,omitzero"`
}

// Signals holds the statements of a page about itself, as package extract reads them.
type Signals struct {
	// Title is the first non-empty title: UTF-8, bounded, no control characters, collapsed white
	// space.
	Title string `json:"title,omitempty"`
	// Canonical is the first valid link rel=canonical, resolved and canonical.
	Canonical string `json:"canonical_url,omitempty"`
	// Generator is the software named by the page's generator, cleaned like a title.
	Generator string `json:"generator,omitempty"`
	// Description is the page's own description, cleaned like a title.
	Description string `json:"description,omitempty"`
	// Published and Modified are in UTC, between the years 1980 and 2100; zero means unknown.
	Published time.Time `json:"published,omitzero"`
	Modified  time.Time `json:"modified,omitzero"`
	// Icon is the URL of the site's icon.
	Icon string `json:"icon,omitempty"`
	// Feeds are the URLs of its RSS, Atom and JSON feeds as the page spells them, at most FeedsMax.
	Feeds []string `json:"feeds,omitempty"`
	// Images counts its images; nil if they were not counted.
	Images *ImageCounts `json:"images,omitempty"`
	// Extra is the answer of the operator's program (--exec), an object of at most extra.MaxBytes.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// ExtractorVersion numbers the page readers. The next fetch reads a page again if an earlier
// version read it, even if it is unchanged. Raise it to extract more, or better, data.
const ExtractorVersion = 4

// FeedsMax caps Signals.Feeds. Pages have two, one of posts and one of comments.
const FeedsMax = 4

// Charge adds a page to the counts of its patterns.
type Charge struct {
	// Patterns are the page's patterns, the widest first.
	Patterns []string `json:"patterns"`
	// Duplicate is set if the page brought nothing new, Copy if its canonical URL is another page.
	Duplicate bool `json:"duplicate,omitempty"`
	Copy      bool `json:"copy,omitempty"`
	// Redirect is set if the page redirects to another. It brings nothing new if that page is known.
	Redirect bool `json:"redirect,omitempty"`
	// Shared and Fingerprints replace the memory of the widest pattern; empty leaves it.
	Shared       []byte `json:"shared_text,omitempty"`
	Fingerprints []byte `json:"fingerprints,omitempty"`
}

// Rel holds the marks of a link (rel="ugc", rel="sponsored") as bits. It is an on-disk format.
type Rel uint8

// The marks of links.
const (
	RelUGC       Rel = 1 << iota // made by a user of the site
	RelSponsored                 // paid for
	RelCanonical                 // the page's own canonical URL, which readers do not see
	RelAlternate                 // the page in another language, likewise
)

// InHead reports whether readers of the page do not see the link.
func (r Rel) InHead() bool { return r&(RelCanonical|RelAlternate) != 0 }

// Names returns the marks as pages write them.
func (r Rel) Names() []string {
	var names []string
	for i, name := range []string{"ugc", "sponsored", "canonical", "alternate"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Link is a page found on another.
type Link struct {
	URL      string     `json:"url"`
	Domain   string     `json:"domain"`
	Origin   string     `json:"origin"`
	Kind     kinds.Kind `json:"kind,omitempty"`
	Patterns []string   `json:"patterns,omitempty"`
	// RequestTarget is the Visit.RequestTarget of a new page.
	RequestTarget string `json:"request_target,omitempty"`
	// Registered is the registered domain of Domain; empty if they are equal, or for an internal link.
	Registered string `json:"registered_domain,omitempty"`
	NoFollow   bool   `json:"nofollow,omitempty"`
	// Rel holds the link's marks, and Anchor its text.
	Rel    Rel    `json:"rel,omitempty"`
	Anchor string `json:"anchor,omitempty"`
	// Priority is the priority of its crawl; nil means that its depth determines it.
	Priority *int `json:"priority,omitempty"`
	// Trap is the rule that forbids crawling it; empty means no trap.
	Trap         TrapRule `json:"trap,omitempty"`
	TrapEvidence string   `json:"trap_evidence,omitempty"`
}

// Follow defines how found pages are added to a run.
type Follow struct {
	Depth     int `json:"depth"`
	Redirects int `json:"redirects,omitempty"`
	// SeedsOnly leaves out domains that the run has not seeded.
	SeedsOnly bool `json:"seeds_only,omitempty"`
	// MaxSubdomains limits the domains of one registered domain in a run; nil means no limit.
	MaxSubdomains *int64 `json:"max_subdomains,omitempty"`
	// Seed marks their domains as seeded.
	Seed bool `json:"seed,omitempty"`
}

// KnownLinks holds a Follow for each kind of link that a page had at its last visit.
type KnownLinks struct {
	Link     *Follow `json:"link,omitempty"`
	Redirect *Follow `json:"redirect,omitempty"`
	Sitemap  *Follow `json:"sitemap,omitempty"`
	Feed     *Follow `json:"feed,omitempty"`
	// Image applies to the page's images.
	Image *Follow `json:"image,omitempty"`
}

// RecordResult is the result of recording an attempt.
type RecordResult struct {
	// Closed is false if the attempt was already closed as dead: then nothing was recorded.
	Closed bool
	// HasNewWork reports whether other domains have become due without the dispatcher's knowledge.
	HasNewWork bool
	// Facts are the domain's facts now.
	Facts Facts
	// Ended is the value for Attempt.Ended if it must be recorded again.
	Ended time.Time
}
