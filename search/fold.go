package search

import (
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/search/index"
)

const (
	// perDomain is how many results there are of a domain at the most.
	perDomain = 2
	// nearDuplicate is the most bits in which fingerprints of near-duplicates differ
	// (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW
	// 2007).
	nearDuplicate = 3
)

// folder takes hits, the best first, and keeps one of those that are the same page, and at most
// so many of a domain.
type folder struct {
	// perDomain is how many of a domain are kept; 0 is any number.
	perDomain int
	// all keeps pages that are the same, too.
	all bool

	kept []report.SearchHit
	of   map[string]int
}

func (f *folder) add(h report.SearchHit) {
	if !f.all {
		for i, k := range f.kept {
			if !same(k, h) {
				continue
			}
			if k.Canonical == h.URL && k.URL != h.URL && f.room(h, k.Domain) {
				// the original, which the better one names
				h.Score = k.Score
				f.count(k.Domain, -1)
				f.count(h.Domain, 1)
				f.kept[i] = h
			}
			return
		}
	}
	if f.room(h, "") {
		f.count(h.Domain, 1)
		f.kept = append(f.kept, h)
	}
}

// full are the domains of which no further page can change what is kept: they have as many as
// they may, and none of these may give way to its original.
func (f *folder) full() map[uint32]bool {
	full := map[uint32]bool{}
	for domain, n := range f.of {
		full[index.DomainHash(domain)] = f.perDomain > 0 && n >= f.perDomain
	}
	for _, k := range f.kept {
		if k.Canonical != "" && k.Canonical != k.URL {
			full[index.DomainHash(k.Domain)] = false
		}
	}
	return full
}

func (f *folder) count(domain string, n int) {
	if f.of == nil {
		f.of = map[string]int{}
	}
	f.of[domain] += n
}

// room reports whether another page of the hit's domain may be kept, in place of one of
// a domain.
func (f *folder) room(h report.SearchHit, without string) bool {
	return f.perDomain == 0 || f.of[h.Domain] < f.perDomain || h.Domain == without
}

// same reports whether two pages are one: they say the same, or nearly, or one of a site
// names another of it as its original. What a page says of another site's is believed only
// if both say the same.
func same(a, b report.SearchHit) bool {
	switch {
	case a.URL == b.URL,
		a.Content == b.Content && a.Content != (crawl.ContentHash{}),
		a.SimHash != nil && b.SimHash != nil && fingerprint(a).Distance(fingerprint(b)) <= nearDuplicate:
		return true
	}
	return identity(a) == identity(b) && urls.Registered(a.Domain) == urls.Registered(b.Domain)
}

func fingerprint(h report.SearchHit) crawl.SimHash {
	return crawl.SimHash(*h.SimHash) //nolint:gosec // the same 64 bits
}

func identity(h report.SearchHit) string {
	if h.Canonical != "" {
		return h.Canonical
	}
	return h.URL
}

// pages are results from one place on, at most so many.
func (f *folder) pages(offset, limit int) []report.SearchHit {
	from := min(offset, len(f.kept))
	return slices.Clone(f.kept[from:min(len(f.kept), from+limit)])
}
