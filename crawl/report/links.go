package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// PageLinks is what a page links to and what links to it.
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
	// Kind is link, redirect, sitemap or feed, and Rel what it says of itself: see
	// Rel.Names.
	Kind     string   `json:"kind"`
	Rel      []string `json:"rel,omitempty"`
	Anchor   string   `json:"anchor,omitempty"`
	NoFollow bool     `json:"nofollow,omitempty"`
	// FirstSeen and LastSeen are when its page was read with it. GoneAt is when that was
	// read without it; zero while it is there.
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen,omitzero"`
	GoneAt    time.Time `json:"gone_at,omitzero"`
}

// DomainLinks is which domains a domain links to and which link to it.
type DomainLinks struct {
	Domain string     `json:"domain"`
	Rank   crawl.Rank `json:"rank"`
	Out    []Links    `json:"out"`
	In     []Links    `json:"in"`
}

// Links is the links between one domain and another, named by that.
type Links struct {
	Domain string `json:"domain"`
	// Links counts them, and NoFollow those that say so.
	Links    int64 `json:"links"`
	NoFollow int64 `json:"nofollow,omitempty"`
	// Anchors are up to three of their texts.
	Anchors []string `json:"anchors,omitempty"`
}

// Ranks is how far the computation of ranks is, or what it came to.
type Ranks struct {
	// Step is what is being done; empty once all is. Done of Of is how far it is; an Of of
	// 0 is not known.
	Step string `json:"step,omitempty"`
	Done int64  `json:"-"`
	Of   int64  `json:"-"`
	// Links counts those between domains, and Pairs the registered domains that link to
	// another.
	Links int64 `json:"links"`
	Pairs int64 `json:"pairs"`
	// Domains and Pages have a rank now, of which Changed is another than before.
	Domains int64 `json:"domains"`
	Pages   int64 `json:"pages"`
	Changed int64 `json:"changed"`
	// Rounds are those of the iteration.
	Rounds int `json:"rounds"`
	// Moved are the pending crawls that have another priority, Called the pages that are
	// called something else.
	Moved  int64 `json:"moved"`
	Called int64 `json:"called"`
}
