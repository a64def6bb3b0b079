package search

import (
	"cmp"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
)

// maxPerDomain caps the results of a domain.
const maxPerDomain = 2

// folder receives hits, the best first. It keeps one of equal pages, and maxPerDomain of a domain.
type folder struct {
	perDomain int  // 0 means any number
	all       bool // also keeps equal pages

	hits     []report.SearchHit
	hitIndex map[string]int // the number of hits, by domain
}

func (f *folder) add(h report.SearchHit) {
	if !f.all {
		for i, k := range f.hits {
			if !isDuplicate(k, h) {
				continue
			}
			if k.Canonical == h.URL && k.URL != h.URL && f.canAdd(h, k.Domain) {
				// the original of the better page
				h.Score = k.Score
				f.hitIndex[k.Domain]--
				f.hitIndex[h.Domain]++
				f.hits[i] = h
			}
			return
		}
	}
	if f.canAdd(h, "") {
		f.hitIndex[h.Domain]++
		f.hits = append(f.hits, h)
	}
}

// full returns the domains with maxPerDomain pages, unless an original can replace one of these.
func (f *folder) full() map[uint32]bool {
	full := map[uint32]bool{}
	for domain, n := range f.hitIndex {
		full[crawl.Hash32(domain)] = f.perDomain > 0 && n >= f.perDomain
	}
	for _, k := range f.hits {
		if k.Canonical != "" && k.Canonical != k.URL {
			full[crawl.Hash32(k.Domain)] = false
		}
	}
	return full
}

// canAdd reports whether another page of the hit's domain may be added, replacing one of without.
func (f *folder) canAdd(h report.SearchHit, without string) bool {
	return f.perDomain == 0 || f.hitIndex[h.Domain] < f.perDomain || h.Domain == without
}

// isDuplicate reports whether two pages are equal. They have the same or nearly the same text, or a
// page names another page of its site as its original. A page cannot claim another site's page.
func isDuplicate(a, b report.SearchHit) bool {
	switch {
	case a.URL == b.URL,
		a.Content == b.Content && a.Content != (crawl.ContentHash{}),
		a.SimHash != nil && b.SimHash != nil && fingerprint(a).Distance(fingerprint(b)) <= traps.NearDuplicate:
		return true
	}
	original := cmp.Or(a.Canonical, a.URL) == cmp.Or(b.Canonical, b.URL)
	return original && urls.Registered(a.Domain) == urls.Registered(b.Domain)
}

func fingerprint(h report.SearchHit) crawl.SimHash {
	return crawl.SimHash(*h.SimHash) //nolint:gosec // the same 64 bits
}
