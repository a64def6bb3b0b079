package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Facts is what is stored about a domain that bears on what to do next. The
// database hands it out as one document.
type Facts struct {
	// Now is when this was read, on the database's clock.
	Now    time.Time   `json:"now"`
	Domain DomainFacts `json:"domain"`
	// Runs are the running runs that have something pending there.
	Runs []RunFacts `json:"runs"`
}

// Spared is for how long the domain's attempts have been taken back.
func (f Facts) Spared() time.Duration {
	if f.Domain.SparedSince.IsZero() {
		return 0
	}
	return f.Now.Sub(f.Domain.SparedSince)
}

// Worked reports whether the domain answered when it was last asked.
func (f Facts) Worked() bool {
	last := len(f.Domain.Health.Samples) - 1
	return f.Domain.Reachable > 0 && (last < 0 || !f.Domain.Health.Samples[last].Error)
}

// DomainFacts is what is stored about a domain itself.
type DomainFacts struct {
	Name string `json:"name"`
	// Status is empty for a domain that is not known.
	Status DomainStatus `json:"status"`
	Reason string       `json:"reason,omitempty"`
	// DeferredUntil is until when the domain is not asked: deferred, or given up. Zero means
	// that it is not deferred. For a blocked or unreachable domain, zero means: until a
	// person lifts it.
	DeferredUntil time.Time `json:"deferred_until,omitzero"`
	// Bare says that pages of it were seeded without a scheme.
	Bare bool `json:"bare,omitempty"`
	// RefusedSince is since when none of its addresses may be asked by our own rule;
	// zero where that is not so.
	RefusedSince time.Time `json:"refused_since,omitzero"`
	Controls     Controls  `json:"controls,omitempty"`
	// CrawlDelay is the largest among the domain's origins.
	CrawlDelay Millis `json:"crawl_delay_ms,omitempty"`
	// VisitTimes are when its origins want to be visited, of each that says so: eight at the most.
	VisitTimes []VisitTimes `json:"visit_times,omitempty"`
	Health     Health       `json:"health"`
	// Recrawl is a DomainRecrawl as stored; empty means none.
	Recrawl json.RawMessage `json:"recrawl,omitempty"`
	// Reachable counts the domain's origins whose robots.txt was read when last asked
	// for.
	Reachable int `json:"reachable_origins,omitempty"`
	// SparedSince is since when attempts have been taken back, for nothing told whether
	// it is the domain's fault or ours that it cannot be reached; zero once it was.
	SparedSince time.Time `json:"spared_since,omitzero"`
	// SlotFree is the instant before which no request may be made, for SlotReason.
	SlotFree   time.Time      `json:"slot_free_at,omitzero"`
	SlotReason reasons.Reason `json:"slot_reason,omitempty"`
}

// VisitTimes are when a site wants to be visited, as its robots.txt says (Visit-time).
type VisitTimes struct {
	// Windows is read by settings.ParseWindows.
	Windows string `json:"windows"`
	// Until is when they hold no longer, unless robots.txt is read again before.
	Until time.Time `json:"until"`
}

// RunFacts is a run's part in a domain.
type RunFacts struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	// Status is empty, for running, unless a page was asked about.
	Status RunStatus `json:"status,omitempty"`
	// Document is Settings as stored; every field of Settings is set.
	Document json.RawMessage   `json:"settings"`
	Settings settings.Settings `json:"-"`
	// Seed says that the run has seeds on the domain.
	Seed bool `json:"seed"`
	// Spent is which requests the budgets of the run, and of the domain in it, leave none of, as
	// the database says (functions/due.sql).
	Spent Spent `json:"spent,omitempty"`
	// DomainStarted counts requests for pages to the domain, and ImagesStarted those for images.
	DomainStarted int64 `json:"domain_started"`
	ImagesStarted int64 `json:"images_started,omitempty"`
	// Budget is how many pages of the domain the run may ask for, as it is set or as a
	// person has said for the domain; nil is no limit.
	Budget *int64 `json:"budget,omitempty"`
	// Crowded says that the run has more domains that are due than may be active, and
	// TurnStarted what DomainStarted was when its dispatcher claimed the domain. Yielded says
	// that the domain has made room for others, and has not had its turn since.
	Crowded     bool  `json:"crowded,omitempty"`
	TurnStarted int64 `json:"turn_started,omitempty"`
	Yielded     bool  `json:"yielded,omitempty"`
	// Crawl is first in line among those whose time has come; nil where none is. LockedAt is
	// since when one is in flight; zero where none is.
	Crawl    *CrawlFacts `json:"crawl"`
	LockedAt time.Time   `json:"locked_at,omitzero"`
	// Due is when the domain is due for what the budgets of the run leave, as the database
	// says, and Waits why it is not yet. It is set where no Crawl is, or the budgets leave none
	// but an image; zero is not before something changes.
	Due   time.Time      `json:"due,omitzero"`
	Waits reasons.Reason `json:"waits,omitempty"`
}

// Spent is which requests budgets leave none of; empty is neither.
type Spent string

// What budgets may leave none of.
const (
	SpentPages Spent = "pages"
	SpentAll   Spent = "all" // requests of every kind
)

// CrawlFacts is what is stored about a crawl and its page.
type CrawlFacts struct {
	ID     int64      `json:"id"`
	URL    string     `json:"url"`
	Kind   kinds.Kind `json:"kind"`
	Origin string     `json:"origin"`
	// Attempt counts from 1 in a run.
	Attempt int `json:"attempt"`
	// Bare says that it is a seed without a scheme: where https cannot be reached, http is
	// meant.
	Bare bool `json:"bare,omitempty"`
	// Depth is the number of links from a seed, Redirects those since the last link.
	Depth        int       `json:"depth"`
	Redirects    int       `json:"redirects"`
	Priority     int       `json:"priority"`
	ScheduledFor time.Time `json:"scheduled_for"`
	LockedAt     time.Time `json:"locked_at,omitzero"`
	Outcome      Outcome   `json:"outcome,omitempty"`
	// Visit is what is known of the page from the last time, and Usage what its
	// publisher said then about its use, as JSON; empty is nothing.
	Visit Visit `json:"visit"`
	// Extractor is the ExtractorVersion that has read the page; 0 where none has.
	Extractor int             `json:"extractor,omitempty"`
	Usage     json.RawMessage `json:"usage,omitempty"`
	// History is how often visits found the page changed, as stored (Recrawl). Again is
	// true if the run asks for the page again: its time has come, or a person wants it.
	History json.RawMessage `json:"history,omitempty"`
	Again   bool            `json:"again,omitempty"`
	// Images says that the images of the page were recorded when it was read last.
	Images bool `json:"images,omitempty"`
	// Image is what is stored of the image that it is; nil is nothing.
	Image *ImageFacts `json:"image,omitempty"`
	// Duplicate says that its last visit brought nothing that another page had not.
	Duplicate bool `json:"duplicate,omitempty"`
	// Patterns are those that the page belongs to, see traps.Patterns, the widest
	// first.
	Patterns []PatternFacts `json:"patterns,omitempty"`
	// Worked is the last page or image of the origin that was answered well, while its
	// domain is to be probed; empty where none is known. Pages then says, of an image, that
	// the origin has pages, too: pending ones, or such as were fetched lately.
	Worked string `json:"worked,omitempty"`
	Pages  bool   `json:"pages,omitempty"`
	// Answered is set where the last request for the page had a final answer that was
	// no success.
	Answered *Answered `json:"answered,omitempty"`
	// Vouched are the domains that have named a sitemap as theirs: it may list their
	// pages. At most 100.
	Vouched []string `json:"vouched,omitempty"`
	// Robots is nil while the origin's robots.txt has never been fetched.
	Robots *RobotsFacts `json:"robots"`
}

// ImageFacts is what is stored of an image whose content is known: its bytes, and a small
// picture of it.
type ImageFacts struct {
	Stored bool `json:"stored,omitempty"`
	// Thumbnail is also set where there can be none.
	Thumbnail bool `json:"thumbnail,omitempty"`
}

// Answered is an answer from 400 to 499.
type Answered struct {
	At     time.Time `json:"at"`
	Status int       `json:"status"`
}

// PatternFacts is how much news the pages of a pattern of URLs have brought, as a run sees it:
// each further run forgets half of it (pattern_count in the database).
type PatternFacts struct {
	Pattern string `json:"pattern"`
	// Seen counts its pages that were read, Duplicates those that brought nothing new,
	// Copies those that brought nothing new and name another page as their canonical
	// URL.
	Seen       int `json:"seen"`
	Duplicates int `json:"duplicates"`
	Copies     int `json:"copies,omitempty"`
	// Shared and Fingerprints are what a page of it is compared with, see traps.Memory;
	// only the widest pattern of a page that is to be judged has them.
	Shared       []byte `json:"shared,omitempty"`
	Fingerprints []byte `json:"fingerprints,omitempty"`
}

// RobotsFacts is what is known of an origin's robots.txt but its rules.
type RobotsFacts struct {
	Verdict RobotsVerdict `json:"verdict"`
	// Version identifies the stored rules; it changes with every fetch.
	Version   int64     `json:"version"`
	ExpiresAt time.Time `json:"expires_at"`
	Reason    string    `json:"reason,omitempty"`
	// Agent is the product token that the rules were read for.
	Agent string `json:"agent,omitempty"`
	// TDMKnown says that the origin's tdmrep.json has been asked for.
	TDMKnown bool `json:"tdm_known,omitempty"`
	// Unreached counts the requests in a row that had no answer, see Robots, and Read says
	// that one was ever read.
	Unreached int  `json:"unreached,omitempty"`
	Read      bool `json:"read,omitempty"`
}

// StagedSeed is a raw seed that a command line has handed over and that is yet to
// be stored.
type StagedSeed struct {
	ID  int64
	URL string
}

// Widening is how far the links of what a run has crawled have been looked at again:
// up to a page of a domain.
type Widening struct {
	Domain string `json:"domain,omitempty"`
	Page   int64  `json:"page,omitempty"`
}

// SeedCrawl is a seed's crawl.
type SeedCrawl struct {
	Domain string
	// Now is when it was read, on the database's clock.
	Now time.Time
	CrawlFacts
}
