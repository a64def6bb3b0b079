package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Recrawl is what an attempt has told of when its page is to be asked for again.
type Recrawl struct {
	// History is a recrawl.History.
	History json.RawMessage `json:"history"`
	// In is how long after the attempt's end; nil is not by itself.
	In *Millis `json:"in_ms,omitempty"`
	// Source is the domain's recrawl.Source, if it has changed.
	Source json.RawMessage `json:"source,omitempty"`
}

// DomainRecrawl holds a recrawl.Plan and a recrawl.Source, for all pages of a domain.
type DomainRecrawl struct {
	Plan   json.RawMessage `json:"plan,omitempty"`
	Source json.RawMessage `json:"source,omitempty"`
}

// RecrawlOf says which pages are asked for again, and where.
type RecrawlOf struct {
	// RunID is the run of the pages, and IntoID the one that requests them, perhaps the same.
	RunID, IntoID int64
	// Domain is the only one whose pages are asked for; empty is all.
	Domain string
	// Before is when they were fetched last.
	Before time.Time
	// Only is what of them is asked for; empty is pages and images.
	Only settings.Only
}

// RecrawlProgress is how far a run has come in asking for its old pages again.
type RecrawlProgress struct {
	// Page is the last that was looked at.
	Page int64 `json:"page"`
	// Pending counts those that are pending by it.
	Pending int `json:"pending"`
}

// News is what a sitemap or a feed says of a page: that it was changed at an instant.
type News struct {
	Domain  string    `json:"domain"`
	URL     string    `json:"url"`
	Changed time.Time `json:"changed"`
}

// NewsMax caps how much of that is taken from one sitemap or feed.
const NewsMax = 1000
