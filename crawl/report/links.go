package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// PageLinks has the links of a page and to it.
type PageLinks struct {
	URL  string     `json:"url"`
	Rank crawl.Rank `json:"rank"`
	Out  []Link     `json:"out"`
	In   []Link     `json:"in"`
}

// Link is one link, of the page at its other end.
type Link struct {
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Kind is link, redirect, sitemap or feed. Rel has its marks: see Rel.Names.
	Kind     string   `json:"kind"`
	Rel      []string `json:"rel,omitempty"`
	Anchor   string   `json:"anchor,omitempty"`
	NoFollow bool     `json:"nofollow,omitempty"`
	// FirstSeen and LastSeen are when its page was read with it, and GoneAt when without it.
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen,omitzero"`
	GoneAt    time.Time `json:"gone_at,omitzero"`
}

// DomainLinks has the domains that a domain links to and those that link to it.
type DomainLinks struct {
	Domain string     `json:"domain"`
	Rank   crawl.Rank `json:"rank"`
	Out    []Links    `json:"out"`
	In     []Links    `json:"in"`
}

// Links are the links between a domain and another one, which Domain names.
type Links struct {
	Domain   string `json:"domain"`
	Links    int64  `json:"links"`
	NoFollow int64  `json:"nofollow,omitempty"`
	// Anchors are up to three of their texts.
	Anchors []string `json:"anchors,omitempty"`
}

// Ranks is the progress of the computation of ranks, or its result.
type Ranks struct {
	// Step is the present step; empty at the end. Done of Of is its progress; an Of of 0 is unknown.
	Step string `json:"step,omitempty"`
	Done int64  `json:"-"`
	Of   int64  `json:"-"`
	// Links counts links between domains, and Pairs the pairs of registered domains with links.
	Links int64 `json:"links"`
	Pairs int64 `json:"pairs"`
	// Domains and Pages have a rank now; Changed ranks differ from the ones before.
	Domains int64 `json:"domains"`
	Pages   int64 `json:"pages"`
	Changed int64 `json:"changed"`
	Rounds  int   `json:"rounds"` // of the iteration
	// Moved counts pending crawls with a new priority, Called the pages with new names.
	Moved  int64 `json:"moved"`
	Called int64 `json:"called"`
}

// SearchHit is a page that was found.
type SearchHit struct {
	Page   int64  `json:"page"`
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Language is a tag of BCP 47, and Second that of another language of much of the page; empty
	// is undetermined, and none.
	Language    string `json:"language"`
	Second      string `json:"second"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// NoSnippet is set if the publisher allows to show only the title.
	NoSnippet bool `json:"no_snippet"`
	// Canonical, Published and Modified are as the page says, if it does.
	Canonical string            `json:"canonical_url"`
	Published time.Time         `json:"published,omitzero"`
	Modified  time.Time         `json:"modified,omitzero"`
	FetchedAt time.Time         `json:"fetched_at,omitzero"`
	Content   crawl.ContentHash `json:"content,omitzero"`
	// SimHash is nil for a page of few words.
	SimHash *int64 `json:"simhash"`
	// Score orders hits: more is better.
	Score float64 `json:"score"`
}

// SearchOutline has the headings and terms of a page.
type SearchOutline struct {
	Page int64
	// Text has the terms of the main text, as in a crawl.Index.
	Text    string
	Outline []string
}

// Outdated counts pages that have to be read again to find their contents.
type Outdated struct {
	// Pages counts those of Domains that may be requested, Closed those of domains that are
	// paused, stopped, blocked or given up.
	Pages   int64 `json:"pages"`
	Domains int64 `json:"domains"`
	Closed  int64 `json:"closed"`
}
