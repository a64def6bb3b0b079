package search

import (
	"cmp"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// perDomain caps the results of a domain.
	perDomain = 2
	// nearDuplicate is the largest distance, in bits, between the fingerprints of near-duplicates
	// (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007).
	nearDuplicate = 3
)

// folder receives hits, the best first. It keeps one of equal pages, and perDomain of a domain.
type folder struct {
	perDomain int  // 0 means any number
	all       bool // also keeps equal pages

	kept []report.SearchHit
	of   map[string]int // kept, by domain
}

func (f *folder) add(h report.SearchHit) {
	if !f.all {
		for i, k := range f.kept {
			if !same(k, h) {
				continue
			}
			if k.Canonical == h.URL && k.URL != h.URL && f.room(h, k.Domain) {
				// the original of the better page
				h.Score = k.Score
				f.of[k.Domain]--
				f.of[h.Domain]++
				f.kept[i] = h
			}
			return
		}
	}
	if f.room(h, "") {
		f.of[h.Domain]++
		f.kept = append(f.kept, h)
	}
}

// full returns the domains with perDomain pages, unless an original can replace one of these.
func (f *folder) full() map[uint32]bool {
	full := map[uint32]bool{}
	for domain, n := range f.of {
		full[crawl.Hash32(domain)] = f.perDomain > 0 && n >= f.perDomain
	}
	for _, k := range f.kept {
		if k.Canonical != "" && k.Canonical != k.URL {
			full[crawl.Hash32(k.Domain)] = false
		}
	}
	return full
}

// room reports whether another page of the hit's domain may be kept, replacing one of without.
func (f *folder) room(h report.SearchHit, without string) bool {
	return f.perDomain == 0 || f.of[h.Domain] < f.perDomain || h.Domain == without
}

// same reports whether two pages are equal. They have the same or nearly the same text, or a page
// names another page of its site as its original. A page cannot claim another site's page.
func same(a, b report.SearchHit) bool {
	switch {
	case a.URL == b.URL,
		a.Content == b.Content && a.Content != (crawl.ContentHash{}),
		a.SimHash != nil && b.SimHash != nil && fingerprint(a).Distance(fingerprint(b)) <= nearDuplicate:
		return true
	}
	original := cmp.Or(a.Canonical, a.URL) == cmp.Or(b.Canonical, b.URL)
	return original && urls.Registered(a.Domain) == urls.Registered(b.Domain)
}

func fingerprint(h report.SearchHit) crawl.SimHash {
	return crawl.SimHash(*h.SimHash) //nolint:gosec // the same 64 bits
}
