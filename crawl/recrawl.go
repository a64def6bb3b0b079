package crawl

import (
	"encoding/json"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Recrawl is an attempt's schedule for its page's next request.
type Recrawl struct {
	// History is a recrawl.History.
	History json.RawMessage `json:"history"`
	// In is the wait after the attempt's end; nil means no automatic request.
	In *Millis `json:"in_ms,omitempty"`
	// Source is the domain's recrawl.Source, if it has changed.
	Source json.RawMessage `json:"source,omitempty"`
}

// DomainRecrawl holds a recrawl.Plan and a recrawl.Source, for all pages of a domain.
type DomainRecrawl struct {
	Plan   json.RawMessage `json:"plan,omitempty"`
	Source json.RawMessage `json:"source,omitempty"`
}

// RecrawlSelection selects the pages to request again, and their run.
type RecrawlSelection struct {
	// RunID is the run of the pages. IntoID is the run that requests them, perhaps the same.
	RunID, IntoID int64
	// Domain limits the pages to one domain; empty means all domains.
	Domain string
	// Before is the upper bound of their last fetch.
	Before time.Time
	// RefreshKind limits the kinds of pages; empty means pages and images.
	RefreshKind settings.RefreshKind
}

// RecrawlProgress is a run's progress in requesting its old pages again.
type RecrawlProgress struct {
	// Page is the last checked page.
	Page int64 `json:"page"`
	// Pending counts the pages that this made pending.
	Pending int `json:"pending"`
}

// ChangeNotice is a page's time of change, declared by a sitemap or a feed.
type ChangeNotice struct {
	Domain  string    `json:"domain"`
	URL     string    `json:"url"`
	Changed time.Time `json:"changed"`
}

// ChangeNoticesMax caps the news read from one sitemap or feed.
const ChangeNoticesMax = 1000
