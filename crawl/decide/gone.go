package decide

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
)

// Gone has a page leave the index: nobody finds it, and its links and its images are closed.
// Once it is back it is read anew, even if it has not changed. It does nothing for a page that
// was never read, or for an image.
func Gone(c crawl.CrawlFacts, at *crawl.Attempt) {
	if !leaves(c) {
		return
	}
	at.AllLinks, at.AllSitemaps, at.AllImages = true, true, true
	at.Page.Unlisted, at.Page.Outdated = true, true
}

// GoneFor reports whether the answer to an attempt means that its page is gone, or is not for
// us. What is refused for a while is not: trouble of the site, or of ours.
func GoneFor(at crawl.Attempt) bool {
	return at.Outcome == crawl.OutcomeBlocked4xx && freshness.FinalAnswer(at.StatusCode)
}

// Forget has nothing kept of what a page says: its publisher forbids the purpose of the run.
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
