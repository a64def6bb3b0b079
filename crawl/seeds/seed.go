// Package seeds defines the pages that a crawl begins with.
package seeds

import (
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Source is the kind of list that named a domain. The values are stored.
type Source string

// The kinds of lists.
const (
	URLs     Source = "urls"     // given one by one, or one a line
	CSV      Source = "csv"      // a table with a column of URLs
	Tranco   Source = "tranco"   // the list of https://tranco-list.eu: rank and domain
	Majestic Source = "majestic" // the list of https://majestic.com/reports/majestic-million
	OPML     Source = "opml"     // a list of feeds and their sites
	Sitemap  Source = "sitemap"  // a file or index of a site's pages (sitemaps.org)
)

// Seed is a page to begin with. The database receives this document.
type Seed struct {
	URL    string `json:"url"`
	Domain string `json:"domain"`
	// Registered is the registered domain above Domain; empty if Domain is registered itself.
	Registered string `json:"registered_domain,omitempty"`
	Origin     string `json:"origin"`
	// Kind is empty for a page.
	Kind     kinds.Kind `json:"kind,omitempty"`
	Patterns []string   `json:"patterns,omitempty"`
	// RequestTarget is the Visit.RequestTarget of a new page.
	RequestTarget string `json:"request_target,omitempty"`
	// Rank is the domain's position on its list, from 1; 0 means no list.
	Rank int32 `json:"rank,omitempty"`
	// Schemeless is set without a scheme: http is used if https cannot be reached.
	Schemeless bool `json:"schemeless,omitempty"`
}

// Of returns the seed of a page.
func Of(u urls.URL) Seed {
	return Seed{
		URL: u.String(), Domain: u.Domain(), Registered: u.RegisteredParent(), Origin: u.Origin(), Patterns: traps.Patterns(u),
	}
}

// Parse reads a typed seed, see urls.ParseSeed.
func Parse(raw string) (Seed, error) {
	u, err := urls.ParseSeed(raw)
	if err != nil {
		return Seed{}, err
	}
	return Typed(u, raw), nil
}

// Typed returns the seed that raw names, whose URL is u.
func Typed(u urls.URL, raw string) Seed {
	s := Of(u)
	s.Schemeless, s.RequestTarget = urls.IsSchemeless(raw), urls.SpeltSeed(raw, u).Target
	return s
}

// WithHTTP returns a bare seed over HTTP. Its port stays, unless it is the default.
func (s Seed) WithHTTP() (Seed, error) {
	u, err := urls.Parse(s.URL)
	if err != nil {
		return s, err
	}
	if u, err = u.WithHTTP(); err != nil {
		return s, err
	}
	plain := Of(u)
	plain.Kind, plain.Rank, plain.Schemeless, plain.RequestTarget = s.Kind, s.Rank, s.Schemeless, s.RequestTarget
	return plain, nil
}

// StoreResult counts stored and rejected seeds.
type StoreResult struct {
	// Added counts seeds new to the run, Known the run's earlier seeds.
	Added int `json:"added"`
	Known int `json:"known"`
	// Listed counts seeds of domains that a list forbids.
	Listed int `json:"listed,omitempty"`
}

// Add adds the counts of t.
func (s *StoreResult) Add(t StoreResult) {
	s.Added += t.Added
	s.Known += t.Known
	s.Listed += t.Listed
}
