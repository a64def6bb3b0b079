package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Attempt is the record of a request, or of a page for which none is made, as one document.
type Attempt struct {
	CrawlID int64  `json:"crawl_id"`
	Domain  string `json:"domain"`
	// FactsOf is the domain whose facts are wanted next; empty is Domain.
	FactsOf string `json:"facts_of,omitempty"`
	// Reached says that the domain was reached, if only to refuse.
	Reached bool `json:"reached,omitempty"`
	// Requested is false when no request was made; then no lease is held.
	Requested bool `json:"requested,omitempty"`
	// IP is the address requested, and Shared the slots leased beside the domain's.
	IP     string       `json:"ip,omitempty"`
	Shared []SharedSlot `json:"-"`

	Outcome Outcome `json:"outcome"`
	// StatusCode is 0 where there was no answer.
	StatusCode  int    `json:"status_code,omitempty"`
	Error       string `json:"error,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"`
	// Truncated says that the body went on past what is read of one.
	Truncated bool `json:"truncated,omitempty"`
	// Duration is how long the request took.
	Duration Span `json:"duration_ms"`
	// EndedAt is its end, on this process's monotonic clock. The document has the time since then.
	EndedAt time.Time `json:"-"`
	// Ended is the same on the database's clock, once that has named it.
	Ended time.Time `json:"ended_at,omitzero"`

	// Outlasted is set if the request outlasted its leases, as when its process was stopped for a
	// while. Others may have made requests meanwhile, and an audit only counts it.
	Outlasted bool `json:"outlasted,omitempty"`

	// Delay, IPDelay, SubnetDelay and RegisteredDelay are how long the domain, the address, its
	// subnet and the registered domain must be left alone, counted from EndedAt, and Reason why.
	Delay           Millis         `json:"delay_ms"`
	Reason          reasons.Reason `json:"reason"`
	IPDelay         Millis         `json:"ip_delay_ms,omitempty"`
	Subnet          string         `json:"subnet,omitempty"`
	SubnetDelay     Millis         `json:"subnet_delay_ms,omitempty"`
	Registered      string         `json:"registered,omitempty"`
	RegisteredDelay Millis         `json:"registered_delay_ms,omitempty"`
	// RetryAfter is what the server asked for; 0 is nothing.
	RetryAfter Millis `json:"retry_after_ms,omitempty"`
	// RetryIn is when to try again, counted from EndedAt; nil is never. With RetryFirst the page keeps its
	// place among the pending ones, and its run its turn: it is the first once its domain's slot is free.
	RetryIn    *Millis `json:"retry_in_ms,omitempty"`
	RetryFirst bool    `json:"retry_first,omitempty"`
	// RobotsVersion names the robots.txt that allowed the request.
	RobotsVersion int64 `json:"robots_version,omitempty"`
	// Health is the domain's health after the answer; nil leaves it. GiveUp, if not
	// empty, is the status with which the domain is given up, for GiveUpReason. It is
	// asked again after GiveUpFor, counted from EndedAt.
	Health       *Health      `json:"health,omitempty"`
	GiveUp       DomainStatus `json:"give_up,omitempty"`
	GiveUpReason string       `json:"give_up_reason,omitempty"`
	GiveUpFor    Millis       `json:"give_up_ms,omitempty"`

	// Skipped is why no request was made, where the reason lies with the page; of OutcomeSuccess
	// why the answer gave neither text nor links nor an image.
	Skipped reasons.Reason `json:"skipped,omitempty"`
	// Unchanged says in words why the page counts as what it was at the last visit.
	Unchanged string `json:"unchanged,omitempty"`
	// Page is what was found out about the page; nil is nothing.
	Page *PageUpdate `json:"page,omitempty"`
	// Recrawl is when the page is asked for again; nil is what was said before.
	Recrawl *Recrawl `json:"recrawl,omitempty"`
	// Charge is set at the first visit of a page, and after a visit that brought nothing new.
	Charge *Charge `json:"charge,omitempty"`

	Links []Link `json:"links,omitempty"`
	// AllLinks deletes the earlier links of the page that are not among Links.
	AllLinks bool `json:"all_links,omitempty"`
	// AllSitemaps deletes the sitemaps and feeds likewise.
	AllSitemaps bool `json:"all_sitemaps,omitempty"`
	// LinksForbidden is set if the publisher forbids the purpose of the run. It deletes the links
	// of the page, and its statements on images.
	LinksForbidden bool `json:"links_forbidden,omitempty"`
	// Redirect says that Links is the one target of a redirect.
	Redirect bool `json:"redirect,omitempty"`
	// Follow says how the links become part of the run; nil is not at all.
	Follow *Follow `json:"follow,omitempty"`
	// FollowKnown is the same for the links known from the last visit.
	FollowKnown *KnownLinks `json:"follow_known,omitempty"`

	// Images are the images that the page names, in its order, and FollowImages how they become
	// part of the run; nil is not at all. AllImages says that the page names no others now.
	Images       []FoundImage `json:"images,omitempty"`
	FollowImages *Follow      `json:"follow_images,omitempty"`
	AllImages    bool         `json:"all_images,omitempty"`
	// ImagesForbidden likewise deletes all that the page said of its images before.
	ImagesForbidden bool `json:"images_forbidden,omitempty"`
	// Image is what was found out about the image that was fetched; nil is nothing.
	Image *ImageUpdate `json:"image,omitempty"`

	// Robots is what was found out about the origin's robots.txt; nil is nothing.
	Robots *Robots `json:"robots,omitempty"`

	// Index is what the page is found by; nil where it was not read, or is not to be.
	Index *Index `json:"index,omitempty"`

	// Login says that a login page came in place of the page.
	Login bool `json:"-"`

	// URL, Kind and Run are for the log. They are stored with the crawl, or the request, already.
	URL  string     `json:"-"`
	Kind kinds.Kind `json:"-"`
	Run  string     `json:"-"`
}

// bareRobotsFresh is the time for which a robots.txt that could not be stored is not requested
// again.
const bareRobotsFresh = 24 * time.Hour

// Bare is the attempt without all that its answer said: only what the guard, the totals and an
// audit need, and nothing that the database could refuse. A bare robots.txt forbids everything.
func (a Attempt) Bare(why string) Attempt {
	a.Error = CleanText("the database refused the rest of the record: "+why, attemptErrorMax)
	a.ContentType, a.GiveUpReason, a.Unchanged = "", "", ""
	a.Charge, a.Links, a.Follow, a.FollowKnown, a.Index = nil, nil, nil, nil, nil
	a.AllLinks, a.AllSitemaps = false, false
	a.Images, a.FollowImages, a.AllImages, a.ImagesForbidden, a.Image = nil, nil, false, false, nil
	if a.Page != nil {
		page := PageUpdate{Failed: a.Page.Failed, Unlisted: a.Page.Unlisted, Outdated: a.Page.Outdated}
		if a.Page.Visit != nil {
			page.Visit = &VisitUpdate{}
		}
		a.Page = &page
	}
	if a.Robots != nil {
		a.Robots = &Robots{
			Origin: a.Robots.Origin, Domain: a.Robots.Domain, Agent: a.Robots.Agent, CrawlDelay: a.Robots.CrawlDelay,
			Verdict: RobotsUnreachable, Failed: true, Fresh: Millis(bareRobotsFresh),
			Reason: "it was answered, but could not be stored: nothing is fetched until it can be read",
		}
	}
	return a
}

// attemptErrorMax bounds Attempt.Error, in bytes.
const attemptErrorMax = 1000

// Clean is the attempt with errors that are fit to store and to show. Its other texts are cleaned
// where they are read.
func (a Attempt) Clean() Attempt {
	a.Error, a.GiveUpReason = CleanText(a.Error, attemptErrorMax), CleanText(a.GiveUpReason, attemptErrorMax)
	return a
}

// Span is a duration that documents write as whole milliseconds, rounded down.
type Span time.Duration

// MarshalJSON writes whole milliseconds.
func (s Span) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Milliseconds()) }

// PageUpdate is what an attempt has found out about a page.
type PageUpdate struct {
	// Failed says that the page has failed for good.
	Failed bool `json:"failed,omitempty"`
	// Visit is set if the page was read, or is unchanged.
	Visit *VisitUpdate `json:"visit,omitempty"`
	// Signals is set if the page was read, and so are the fields below; those of its use also with
	// Said.
	Signals *Signals `json:"signals,omitempty"`
	// Language is the tag of BCP 47 that the page's text has; empty is undetermined.
	Language string `json:"language,omitempty"`
	// Extractor is the [ExtractorVersion] that has read the page.
	Extractor int `json:"extractor,omitempty"`
	// Images says that its images were recorded, too.
	Images bool `json:"images,omitempty"`
	// IsPage says that it is a page, whatever it was taken for.
	IsPage bool `json:"is_page,omitempty"`
	// Outdated is set if the page must be read at its next visit, changed or not: it is gone.
	Outdated bool `json:"outdated,omitempty"`
	// Unlisted is set if the page must not be found any more.
	Unlisted bool   `json:"unlisted,omitempty"`
	SimHash  *int64 `json:"simhash,omitempty"`
	NoIndex  bool   `json:"noindex,omitempty"`
	NoFollow bool   `json:"nofollow,omitempty"`
	// Usage is the publisher's statement on the page's use, as JSON, if any. Without Signals it
	// counts only if Said is set.
	Usage json.RawMessage `json:"usage,omitempty"`
	Said  bool            `json:"said,omitempty"`
	// Trap is why the page is taken for a part of an endless space; empty is not.
	Trap         TrapRule `json:"trap,omitempty"`
	TrapEvidence string   `json:"trap_evidence,omitempty"`
}

// VisitUpdate is a Visit as a document has it: its time is the attempt's.
type VisitUpdate struct {
	ETag         string      `json:"etag,omitempty"`
	LastModified time.Time   `json:"last_modified,omitzero"`
	Fresh        Millis      `json:"fresh_ms,omitempty"`
	Content      ContentHash `json:"content,omitzero"`
}

// Signals are the statements of a page on itself, as package extract reads them.
type Signals struct {
	// Title is the text of the first title element with any: UTF-8, without control characters,
	// white space collapsed, bounded.
	Title string `json:"title,omitempty"`
	// Canonical is the first valid link rel=canonical, resolved and canonical.
	Canonical string `json:"canonical_url,omitempty"`
	// Generator is the software that the page names as its maker, cleaned as a title is.
	Generator string `json:"generator,omitempty"`
	// Description is what the page says it is about, cleaned as a title is.
	Description string `json:"description,omitempty"`
	// Published and Modified are in UTC, between the years 1980 and 2100; zero means unknown.
	Published time.Time `json:"published,omitzero"`
	Modified  time.Time `json:"modified,omitzero"`
	// Icon is the URL of the site's icon.
	Icon string `json:"icon,omitempty"`
	// Feeds are the URLs of its RSS, Atom and JSON feeds, canonical, at most FeedsMax.
	Feeds []string `json:"feeds,omitempty"`
	// Images counts its images; nil where they were not looked for.
	Images *ImageCounts `json:"images,omitempty"`
}

// ExtractorVersion counts the ways in which pages were read. A page that an earlier one has read is
// read again at its next fetch, even if unchanged. Raise it to find more, or better, on pages.
const ExtractorVersion = 3

// FeedsMax caps Signals.Feeds. Pages have two, one of posts and one of comments.
const FeedsMax = 4

// Charge is what a page counts for in its patterns.
type Charge struct {
	// Patterns are the page's, the widest first.
	Patterns []string `json:"patterns"`
	// Duplicate says that the page brought nothing new, Copy that its canonical URL is another
	// page.
	Duplicate bool `json:"duplicate,omitempty"`
	Copy      bool `json:"copy,omitempty"`
	// Redirect says that the page leads to another, and brings nothing new if that is known
	// already.
	Redirect bool `json:"redirect,omitempty"`
	// Shared and Fingerprints replace the memory of the widest pattern; empty leaves it.
	Shared       []byte `json:"shared,omitempty"`
	Fingerprints []byte `json:"fingerprints,omitempty"`
}

// Rel are marks of a link (rel="ugc", rel="sponsored"), as bits. It is an on-disk format.
type Rel uint8

// The marks of links.
const (
	RelUGC       Rel = 1 << iota // a link that a user of the site has made
	RelSponsored                 // a link that was paid for
	RelCanonical                 // the page's own canonical URL, which no reader sees
	RelAlternate                 // the page in another language, likewise
)

// InHead reports whether a link is one that no reader of its page sees.
func (r Rel) InHead() bool { return r&(RelCanonical|RelAlternate) != 0 }

// Names are the marks as pages write them.
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
	// Registered is the registered domain of Domain; empty if it is Domain itself, or for a link
	// within it.
	Registered string `json:"registered,omitempty"`
	NoFollow   bool   `json:"nofollow,omitempty"`
	// Rel is what it says of who is behind it, and Anchor its text.
	Rel    Rel    `json:"rel,omitempty"`
	Anchor string `json:"anchor,omitempty"`
	// Priority is that of its crawl; nil is what its depth makes of it.
	Priority *int `json:"priority,omitempty"`
	// Trap is why it is not to be crawled; empty where it is.
	Trap         TrapRule `json:"trap,omitempty"`
	TrapEvidence string   `json:"trap_evidence,omitempty"`
}

// Follow says how pages found become part of a run.
type Follow struct {
	Depth     int `json:"depth"`
	Redirects int `json:"redirects,omitempty"`
	// SeedsOnly leaves out domains that the run has not seeded.
	SeedsOnly bool `json:"seeds_only,omitempty"`
	// MaxSubdomains limits the domains of one registered domain in a run; nil is no limit.
	MaxSubdomains *int64 `json:"max_subdomains,omitempty"`
	// Seed makes their domains seeded.
	Seed bool `json:"seed,omitempty"`
}

// KnownLinks says it for the links of each kind that a page had at its last visit.
type KnownLinks struct {
	Link     *Follow `json:"link,omitempty"`
	Redirect *Follow `json:"redirect,omitempty"`
	Sitemap  *Follow `json:"sitemap,omitempty"`
	Feed     *Follow `json:"feed,omitempty"`
	// Image is for the images that it names.
	Image *Follow `json:"image,omitempty"`
}

// Recorded is what became of an attempt.
type Recorded struct {
	// Closed is false if the attempt was closed before, as dead: then nothing was recorded.
	Closed bool
	// News says that other domains have become due, unknown to the dispatcher.
	News bool
	// Facts are the domain's now.
	Facts Facts
	// Ended is for Attempt.Ended, should it have to be recorded again.
	Ended time.Time
}
