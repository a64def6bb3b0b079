package crawl

import "time"

// PageLinks is what a page links to and what links to it.
type PageLinks struct {
	URL  string       `json:"url"`
	Rank Rank         `json:"rank"`
	Out  []LinkReport `json:"out"`
	In   []LinkReport `json:"in"`
}

// LinkReport is one link, of the page at its other end.
type LinkReport struct {
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
	Domain string        `json:"domain"`
	Rank   Rank          `json:"rank"`
	Out    []LinksReport `json:"out"`
	In     []LinksReport `json:"in"`
}

// LinksReport is the links between one domain and another, named by that.
type LinksReport struct {
	Domain string `json:"domain"`
	// Links counts them, and NoFollow those that say so.
	Links    int64 `json:"links"`
	NoFollow int64 `json:"nofollow,omitempty"`
	// Anchors are up to three of their texts.
	Anchors []string `json:"anchors,omitempty"`
}

// Rank is what a domain or a page is worth by who links to it, when that was computed
// last.
type Rank struct {
	// Domains counts the registered domains that link to it.
	Domains int `json:"domains"`
	// Score is from 0 to 1; each 0.2 is ten times as much.
	Score float64 `json:"score"`
}

// RankedDomain is a domain and what it is worth.
type RankedDomain struct {
	Domain string `json:"domain"`
	Rank
}

// RankedPage is a page and what it is worth.
type RankedPage struct {
	ID int64
	Rank
}

// PageRanks are what the pages are worth with ids after one and up to another: those that
// are not named are worth nothing.
type PageRanks struct {
	After, Upto int64
	Pages       []RankedPage
}

// IDs are those of the pages that are worth something.
func (p PageRanks) IDs() []int64 {
	ids := make([]int64, len(p.Pages))
	for i, r := range p.Pages {
		ids[i] = r.ID
	}
	return ids
}

// Anchors are what other domains call a page of a domain.
type Anchors struct {
	Page   int64
	Domain string
	Said   []Anchor
}

// Anchor is the text of a link from a domain.
type Anchor struct{ Domain, Text string }

// AnchorTerms are the terms of what others call a page.
type AnchorTerms struct {
	Page  int64  `json:"page_id"`
	Terms string `json:"terms"`
}

// RankReport is how far the computation of ranks is, or what it came to.
type RankReport struct {
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
