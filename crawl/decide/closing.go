package decide

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
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

// refused records that a page is not asked for. Only what its publisher says of it has it leave
// the index: it stays there if that cannot be known for now.
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
