package decide

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
)

// Closing returns the record of a crawl that ends now, permanently, without a request.
func Closing(d Decision, domain string, now time.Time) crawl.Attempt {
	at := crawl.Attempt{
		CrawlID: d.Crawl.ID, Domain: domain, Outcome: d.Outcome, Error: d.Why, EndedAt: now,
		URL: d.Crawl.URL, Kind: d.Crawl.Kind, Run: d.Run.Name,
	}
	at.Recrawl = AgainUnasked(d, now)
	if d.Do == Refuse {
		refused(d, &at)
		return at
	}
	at.Skipped = d.Reason
	if d.Trap.Rule != "" {
		at.Page = &crawl.PageUpdate{Trap: d.Trap.Rule, TrapEvidence: d.Trap.Evidence}
		return at
	}
	// Links from an answer of 4xx, if any, are gone with it.
	if d.Reason.Row().Unwanted || d.Crawl.Answered != nil {
		return at
	}
	at.Error = ""
	at.FollowKnown = FollowSkipped(*d.Run, *d.Crawl)
	return at
}

// refused records that a page is forbidden. Only a statement of its publisher removes it from the
// index. An unknown statement does not.
func refused(d Decision, at *crawl.Attempt) {
	c := *d.Crawl
	at.Page = &crawl.PageUpdate{Failed: true}
	switch {
	case c.Kind.Image():
		at.Image = &crawl.ImageUpdate{Problem: crawl.ImageForbidden, Forget: d.ByUse}
	case d.ByUse && leaves(c):
		Forget(c, at)
		said, _ := KeptUsage(c) // the page itself made no new statement
		at.Page.Usage, at.Page.NoIndex, at.Page.NoFollow = c.Usage, said.NoIndex.Said(), said.NoFollow.Said()
	case d.ByRule:
		Gone(c, at)
	}
}

// Gone removes a page from the index, with its links and images. Its next successful fetch is read,
// even if unchanged. Gone ignores images and pages that were never read.
func Gone(c crawl.CrawlFacts, at *crawl.Attempt) {
	if !leaves(c) {
		return
	}
	at.AllLinks, at.AllSitemaps, at.AllImages = true, true, true
	at.Page.Unlisted, at.Page.Outdated = true, true
}

// GoneFor reports whether an answer is final: the page is gone, or forbidden to us.
func GoneFor(at crawl.Attempt) bool {
	return at.Outcome == crawl.OutcomeBlocked4xx && freshness.FinalAnswer(at.StatusCode)
}

// Forget deletes all contents of a page whose publisher forbids the run's purpose.
func Forget(c crawl.CrawlFacts, at *crawl.Attempt) {
	p := at.Page
	p.Signals, p.SimHash, p.Language = &crawl.Signals{}, nil, ""
	at.Index, at.Links, at.Images = nil, nil, nil
	if at.Charge != nil {
		at.Charge.Shared, at.Charge.Fingerprints = nil, nil
	}
	if leaves(c) {
		p.Unlisted, at.LinksForbidden, at.AllImages, at.ImagesForbidden = true, true, true, true
	}
}

// leaves reports whether a crawl's page may have something in the index.
func leaves(c crawl.CrawlFacts) bool { return !c.Visit.At.IsZero() && !c.Kind.Image() }
