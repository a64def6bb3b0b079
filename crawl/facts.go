package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Facts holds the stored state of a domain that bears on what to do next, as one document.
type Facts struct {
	// Now is when this was read, on the database's clock.
	Now    time.Time   `json:"now"`
	Domain DomainFacts `json:"domain"`
	// Runs are the running runs that have something pending there. They take turns: the first has waited
	// longest for a request.
	Runs []RunFacts `json:"runs"`
}

// Spared is for how long the domain's attempts have been taken back.
func (f Facts) Spared() time.Duration {
	if f.Domain.SparedSince.IsZero() {
		return 0
	}
	return f.Now.Sub(f.Domain.SparedSince)
}

// CrawlOf is a run's first due crawl that is of an origin, nil if no run has such a crawl.
func (f Facts) CrawlOf(origin string) *CrawlFacts {
	for i := range f.Runs {
		if c := f.Runs[i].Crawl; c != nil && c.Origin == origin {
			return c
		}
	}
	return nil
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
	// DeferredUntil ends a deferral, or the time for which a domain is given up. Zero means not
	// deferred, or given up until a person lifts it.
	DeferredUntil time.Time `json:"deferred_until,omitzero"`
	// Bare says that pages of it were seeded without a scheme.
	Bare bool `json:"bare,omitempty"`
	// RefusedSince is the time since which our own rule forbids all of its addresses; zero if it
	// does not.
	RefusedSince time.Time `json:"refused_since,omitzero"`
	Controls     Controls  `json:"controls,omitempty"`
	// CrawlDelay is the largest among the domain's origins.
	CrawlDelay Millis `json:"crawl_delay_ms,omitempty"`
	// VisitTimes are when its origins want to be visited, of each that says so: eight at the most.
	VisitTimes []VisitTimes `json:"visit_times,omitempty"`
	Health     Health       `json:"health"`
	// Recrawl is a DomainRecrawl as stored; empty means none.
	Recrawl json.RawMessage `json:"recrawl,omitempty"`
	// Origins counts the domain's origins whose robots.txt was requested, and Reachable those that
	// answered the last request for it.
	Origins   int `json:"origins,omitempty"`
	Reachable int `json:"reachable_origins,omitempty"`
	// SparedSince is the time since which attempts are taken back, because nothing tells whether
	// the domain or our network fails; zero if they are not.
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
	// Document is Settings as the database sends them, nil once they are read; every field of Settings is set.
	Document json.RawMessage   `json:"settings"`
	Settings settings.Settings `json:"-"`
	// Seed says that the run has seeds on the domain.
	Seed bool `json:"seed"`
	// Spent names the requests for which the budgets of the run, and of the domain in it, are used
	// up (functions/due.sql).
	Spent Spent `json:"spent,omitempty"`
	// DomainStarted counts requests for pages to the domain, and ImagesStarted those for images.
	DomainStarted int64 `json:"domain_started"`
	ImagesStarted int64 `json:"images_started,omitempty"`
	// Budget limits the pages of the domain that the run may request; nil is no limit.
	Budget *int64 `json:"budget,omitempty"`
	// Crowded says that the run has more domains that are due than may be active, and
	// TurnStarted what DomainStarted was when its dispatcher claimed the domain. Yielded says
	// that the domain has made room for others, and has not had its turn since.
	Crowded     bool  `json:"crowded,omitempty"`
	TurnStarted int64 `json:"turn_started,omitempty"`
	Yielded     bool  `json:"yielded,omitempty"`
	// Crawl is the first crawl whose time has come, if any. LockedAt is the start of the one in
	// flight, if any.
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
	// Bare says that it is a seed without a scheme: http is meant if https cannot be reached.
	Bare bool `json:"bare,omitempty"`
	// Depth is the number of links from a seed, Redirects those since the last link.
	Depth        int       `json:"depth"`
	Redirects    int       `json:"redirects"`
	Priority     int       `json:"priority"`
	ScheduledFor time.Time `json:"scheduled_for"`
	LockedAt     time.Time `json:"locked_at,omitzero"`
	Outcome      Outcome   `json:"outcome,omitempty"`
	// Visit is the state at the last visit, and Usage the publisher's statement on its use then, as
	// JSON.
	Visit Visit `json:"visit"`
	// Extractor is the ExtractorVersion that has read the page; 0 where none has.
	Extractor int             `json:"extractor,omitempty"`
	Usage     json.RawMessage `json:"usage,omitempty"`
	// History is how often visits found the page changed, as stored (Recrawl). Again is set if its
	// time has come, or if a person wants it again.
	History json.RawMessage `json:"history,omitempty"`
	Again   bool            `json:"again,omitempty"`
	// Images says that the images of the page were recorded when it was read last.
	Images bool `json:"images,omitempty"`
	// Image is what is stored of the image that it is; nil is nothing.
	Image *ImageFacts `json:"image,omitempty"`
	// Duplicate says that its last visit brought nothing that another page had not.
	Duplicate bool `json:"duplicate,omitempty"`
	// Patterns are the page's, the widest first: see traps.Patterns.
	Patterns []PatternFacts `json:"patterns,omitempty"`
	// Worked is the last page or image of the origin that was answered well, while its
	// domain is to be probed; empty where none is known. Pages then says, of an image, that
	// the origin has pages, too: pending ones, or such as were fetched lately.
	Worked string `json:"worked,omitempty"`
	Pages  bool   `json:"pages,omitempty"`
	// Answered is set if the last request had a final answer that was no success.
	Answered *Answered `json:"answered,omitempty"`
	// Vouched are the domains, at most 100, that name the sitemap as theirs: it may list their
	// pages.
	Vouched []string `json:"vouched,omitempty"`
	// Robots is nil while the origin's robots.txt has never been fetched.
	Robots *RobotsFacts `json:"robots"`
}

// ImageFacts says whether the bytes and a small picture of a known image are stored.
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
	// Seen counts the pages that were read, Duplicates those that brought nothing new, Copies the
	// duplicates with another canonical URL.
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
	// Version identifies the fetch: it is when that was made, in microseconds since the epoch.
	Version   int64     `json:"version"`
	ExpiresAt time.Time `json:"expires_at"`
	Reason    string    `json:"reason,omitempty"`
	// Agent is the product token that the rules were read for.
	Agent string `json:"agent,omitempty"`
	// TDMKnown says that the origin's tdmrep.json has been asked for.
	TDMKnown bool `json:"tdm_known,omitempty"`
	// Unreached counts the requests in a row without an answer; Read says that one was ever read.
	Unreached int  `json:"unreached,omitempty"`
	Read      bool `json:"read,omitempty"`
}

// StagedSeed is a raw seed from a command line that is not stored yet.
type StagedSeed struct {
	ID  int64
	URL string
}

// Widening is the last page whose links were checked again for a run with wider settings.
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
