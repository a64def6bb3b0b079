package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// SearchQuery is what pages are looked for by, as package search makes it of what
// somebody has typed.
type SearchQuery struct {
	// Terms is what websearch_to_tsquery of Postgres reads, and Loose the same without
	// phrases and negations. Prefixes are those of their terms that stand for all that
	// begin with them.
	Terms, Loose string
	Prefixes     []string
	// Configs are the text search configurations whose pages are looked at.
	Configs []string
	// Language, Domain and Since leave out other pages; zero values do not. Language is
	// the beginning of a tag, of whole subtags.
	Language string
	Domain   string
	Since    time.Time
	// Most is how many are wanted.
	Most int
}

// SearchHit is a page that was found.
type SearchHit struct {
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Language is a tag of BCP 47; empty is undetermined.
	Language    string `json:"language"`
	Title       string `json:"title"`
	Description string `json:"description"`
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

// Outdated is how many pages have to be read again to find what they say.
type Outdated struct {
	// Pages counts pages of the Domains that may be asked. Closed counts pages of domains
	// that are paused, stopped, blocked or given up.
	Pages   int64 `json:"pages"`
	Domains int64 `json:"domains"`
	Closed  int64 `json:"closed"`
}
