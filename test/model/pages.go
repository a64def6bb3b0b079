package model

import (
	"math"

	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// want makes a page part of a run, once.
func (r *Run) want(url string, p *Page) {
	if r.Pages[url] == nil {
		r.Pages[url] = p
	}
}

// Found is what a page says of another.
type Found struct {
	URL, Domain string
	Image       bool
	// Moved is set if the page is there now.
	Moved bool
}

// follow makes what a page has named part of its run, as far as the settings let it be.
func (r *Run) follow(from *Page, found []Found, late bool) {
	set := r.Settings
	for _, f := range found {
		depth := from.Depth + 1
		if f.Moved {
			depth = from.Depth
		}
		switch {
		case f.Moved && depth == 0 && !from.Image: // a seed takes its scope along
			r.Seeded[f.Domain] = true
			r.meant(f.URL)
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

// meant has a page asked for after all that was passed over as not reached by https.
func (r *Run) meant(url string) {
	if p := r.Pages[url]; p != nil && p.Skip == string(reasons.Scheme) {
		p.reopen()
	}
}

// reopen has a page asked for that was passed over.
func (p *Page) reopen() { p.Closed, p.Outcome, p.Skip = false, Open, "" }

// revisit is the beginning of a further visit of a page.
func (p *Page) revisit() {
	p.reopen()
	p.Tried, p.Again = 0, true
	p.Visits++
}

// again takes over that a closed page is asked for again, if there may be a cause for it:
// settings that want it now, or a further visit. It returns false if there is none.
func (p *Page) again(r *Run) bool {
	switch {
	case r.Settings.Recrawls() || r.Recrawled:
		p.revisit()
	case p.Outcome == Skipped:
		p.reopen()
	default:
		return false
	}
	return true
}

// deeper is a depth as a number that grows; -1 is no limit.
func deeper(depth int) int {
	if depth < 0 {
		return math.MaxInt
	}
	return depth
}

// widen takes up what the run's pages have named, as far as its present settings let it.
// It goes on beside the crawl, since there may be much of it.
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
