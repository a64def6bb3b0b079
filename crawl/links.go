package crawl

import "time"

// PageLinks is what a page links to and what links to it.
type PageLinks struct {
	URL string       `json:"url"`
	Out []LinkReport `json:"out"`
	In  []LinkReport `json:"in"`
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
