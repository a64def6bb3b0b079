package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// PageLinks lists the links of a page and the links to it.
type PageLinks struct {
	URL  string     `json:"url"`
	Rank crawl.Rank `json:"rank"`
	Out  []Link     `json:"out"`
	In   []Link     `json:"in"`
}

// Link is a link and the page at its other end.
type Link struct {
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Kind is link, redirect, sitemap or feed. Rel holds its marks: see Rel.Names.
	Kind     string   `json:"kind"`
	Rel      []string `json:"rel,omitempty"`
	Anchor   string   `json:"anchor,omitempty"`
	NoFollow bool     `json:"nofollow,omitempty"`
	// FirstSeen and LastSeen are readings of its page with it. GoneAt is a reading without it.
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen,omitzero"`
	GoneAt    time.Time `json:"gone_at,omitzero"`
}

// DomainLinks lists the domains that a domain links to, and the domains that link to it.
type DomainLinks struct {
	Domain string     `json:"domain"`
	Rank   crawl.Rank `json:"rank"`
	Out    []Links    `json:"out"`
	In     []Links    `json:"in"`
}

// Links counts the links between a domain and another domain, named by Domain.
type Links struct {
	Domain   string `json:"domain"`
	Links    int64  `json:"links"`
	NoFollow int64  `json:"nofollow,omitempty"`
	// Anchors holds up to three of their texts.
	Anchors []string `json:"anchors,omitempty"`
}

// Ranks is the progress of the computation of ranks, or its result.
type Ranks struct {
	// Step is the present step; empty at the end. Its progress is Done of Total; Total 0 means
	// unknown.
	Step  string `json:"step,omitempty"`
	Done  int64  `json:"-"`
	Total int64  `json:"-"`
	// Links counts links between domains, and Pairs the pairs of registered domains with links.
	Links int64 `json:"links"`
	Pairs int64 `json:"pairs"`
	// Domains and Pages count new ranks; Changed counts the ranks that differ from before.
	Domains int64 `json:"domains"`
	Pages   int64 `json:"pages"`
	Changed int64 `json:"changed"`
	Rounds  int   `json:"rounds"` // of the iteration
	// Reprioritized counts pending attempts with a new priority, AnchorsChanged the pages with new
	// names.
	Reprioritized  int64 `json:"reprioritized_crawls"`
	AnchorsChanged int64 `json:"pages_with_new_anchors"`
}

// SearchHit is a found page.
type SearchHit struct {
	Page   int64  `json:"page"`
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Language is a tag of BCP 47; empty means undetermined. Second is the tag of another language of
	// much of the page; empty means no such language.
	Language    string `json:"language"`
	Second      string `json:"second_language"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// NoSnippet is set if the publisher allows showing only the title.
	NoSnippet bool `json:"no_snippet"`
	// Canonical, Published and Modified are declared by the page, if at all.
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

// SearchOutline holds the headings and terms of a page.
type SearchOutline struct {
	Page int64
	// Text holds the terms of the main text, as in a crawl.Index.
	Text    string
	Outline []string
}

// OutdatedCounts counts pages that must be read again to find their contents.
type OutdatedCounts struct {
	// Pages counts requestable pages, of Domains. Closed counts pages of closed or abandoned domains.
	Pages   int64 `json:"pages"`
	Domains int64 `json:"domains"`
	Closed  int64 `json:"closed"`
}
