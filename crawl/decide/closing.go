package decide

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
)

// Closing is what to record of a crawl that ends now, for good, without a request.
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
	// What an answer of 4xx linked to, if it ever did, is gone with it.
	if d.Reason.Row().Unwanted || d.Crawl.Answered != nil {
		return at
	}
	at.Error = ""
	at.FollowKnown = FollowSkipped(*d.Run, *d.Crawl)
	return at
}

// refused records that a page is forbidden. It leaves the index only for a statement of its
// publisher, and stays if that cannot be known for now.
func refused(d Decision, at *crawl.Attempt) {
	c := *d.Crawl
	at.Page = &crawl.PageUpdate{Failed: true}
	switch {
	case c.Kind.Image():
		at.Image = &crawl.ImageUpdate{Problem: crawl.ImageForbidden, Forget: d.ByUse}
	case d.ByUse && leaves(c):
		Forget(c, at)
		said, _ := KeptUsage(c) // the page itself has said nothing new
		at.Page.Usage, at.Page.NoIndex, at.Page.NoFollow = c.Usage, said.NoIndex.Said(), said.NoFollow.Said()
	case d.ByRule:
		Gone(c, at)
	}
}

// Gone removes a page from the index, with its links and its images. Once it is back it is read
// anew, even if unchanged. It does nothing for a page that was never read, or for an image.
func Gone(c crawl.CrawlFacts, at *crawl.Attempt) {
	if !leaves(c) {
		return
	}
	at.AllLinks, at.AllSitemaps, at.AllImages = true, true, true
	at.Page.Unlisted, at.Page.Outdated = true, true
}

// GoneFor reports whether an answer says for good that the page is gone, or forbidden to us.
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
