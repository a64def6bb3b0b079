package model

import (
	"math"

	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// want adds a page to a run, once.
func (r *Run) want(url string, p *Page) {
	if r.Pages[url] == nil {
		r.Pages[url] = p
	}
}

// Found is a page's reference to another.
type Found struct {
	URL, Domain string
	Image       bool
	// Moved is set for the target of a redirect.
	Moved bool
}

// follow adds a page's references to its run, as far as the settings allow.
func (r *Run) follow(from *Page, found []Found, late bool) {
	set := r.Settings
	for _, f := range found {
		depth := from.Depth + 1
		if f.Moved {
			depth = from.Depth
		}
		switch {
		case f.Moved && depth == 0 && !from.Image: // the target of a seed is in scope, too
			r.Seeded[f.Domain] = true
			if p := r.Pages[f.URL]; p != nil && p.Skip == string(reasons.Scheme) {
				p.reopen() // https did not reach it
			}
			r.want(f.URL, &Page{Domain: f.Domain, Late: late})
		case from.Image && !f.Moved:
		case f.Image || from.Image:
			if set.TakesImages() && (*set.ImageScope == settings.ImageScopeAny || r.Seeded[f.Domain]) {
				r.want(f.URL, &Page{Domain: f.Domain, Image: true, Depth: depth, Late: late})
			}
		case *set.MaxDepth >= 0 && depth > *set.MaxDepth:
		case *set.Scope == settings.ScopeWeb || r.Seeded[f.Domain]:
			r.want(f.URL, &Page{Domain: f.Domain, Depth: depth, Late: late})
		}
	}
}

// reopen makes a skipped page pending again.
func (p *Page) reopen() { p.Closed, p.Outcome, p.Skip = false, Open, "" }

// again reopens a closed page if there may be a cause for it: changed settings, or a further visit.
// Otherwise it returns false.
func (p *Page) again(r *Run) bool {
	switch {
	case r.Settings.Recrawls() || r.Recrawled:
		p.reopen()
		p.Tried, p.Again = 0, true
		p.Visits++
	case p.Outcome == Skipped:
		p.reopen()
	default:
		return false
	}
	return true
}

// deeper converts a depth to a comparable number; -1 means no limit.
func deeper(depth int) int {
	if depth < 0 {
		return math.MaxInt
	}
	return depth
}

// widen adds the references of the run's pages as far as its present settings allow. It runs beside
// the crawl, because there may be many.
func (r *Run) widen() {
	for more := true; more; {
		known := len(r.Pages)
		for _, p := range r.Pages {
			if p.Good && !p.Image {
				r.follow(p, p.found, true)
			}
		}
		more = len(r.Pages) > known
	}
}
