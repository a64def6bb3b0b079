package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// SearchHit is a page that was found.
type SearchHit struct {
	Page   int64  `json:"page"`
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Language is a tag of BCP 47; empty is undetermined.
	Language string `json:"language"`
	// Second is another language of much of it; empty if there is none.
	Second      string `json:"second"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// NoSnippet is set if the publisher wants nothing of the page shown but its title.
	NoSnippet bool `json:"no_snippet"`
	// Canonical is the URL that the page gives itself; empty where it gives none.
	Canonical string `json:"canonical_url"`
	// Published and Modified are as the page says; zero where it does not.
	Published time.Time         `json:"published,omitzero"`
	Modified  time.Time         `json:"modified,omitzero"`
	FetchedAt time.Time         `json:"fetched_at,omitzero"`
	Content   crawl.ContentHash `json:"content,omitzero"`
	// SimHash is the bits of a [SimHash]; nil for a page of few words.
	SimHash *int64 `json:"simhash"`
	// Score orders hits: more is better.
	Score float64 `json:"score"`
}

// SearchSections is under which headings the terms of a page stand.
type SearchSections struct {
	Page int64
	// Text is the terms of the main text with their places, as in a crawl.Index.
	Text     string
	Sections []crawl.Section
}

// Outdated is how many pages have to be read again to find what they say.
type Outdated struct {
	// Pages counts pages of the Domains that may be asked. Closed counts pages of domains
	// that are paused, stopped, blocked or given up.
	Pages   int64 `json:"pages"`
	Domains int64 `json:"domains"`
	Closed  int64 `json:"closed"`
}
