package decide

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
)

// ClosingAttempt returns the record of a crawl that ends now, permanently, without a request.
func ClosingAttempt(d Decision, domain string, now time.Time) crawl.Attempt {
	attempt := crawl.Attempt{
		ID: d.Attempt.ID, Domain: domain, Outcome: d.Outcome, Error: d.Explanation, EndedAt: now,
		URL: d.Attempt.URL, Kind: d.Attempt.Kind, Run: d.Run.Name,
	}
	attempt.Recrawl = ScheduleSkippedRevisit(d, now)
	if d.Action == Refuse {
		applyRefusal(d, &attempt)
		return attempt
	}
	attempt.Skipped = d.Reason
	if d.Trap.Rule != "" {
		attempt.Page = &crawl.PageUpdate{Trap: d.Trap.Rule, TrapEvidence: d.Trap.Evidence}
		return attempt
	}
	// Links from a response of 4xx, if any, are gone with it.
	if d.Reason.Row().Unwanted || d.Attempt.FinalResponse != nil {
		return attempt
	}
	attempt.Error = ""
	attempt.FollowKnown = FollowSkipped(*d.Run, *d.Attempt)
	return attempt
}

// applyRefusal records that a page is forbidden. Only a statement of its publisher removes it from
// the index. An unknown statement does not.
func applyRefusal(d Decision, attempt *crawl.Attempt) {
	c := *d.Attempt
	attempt.Page = &crawl.PageUpdate{Failed: true}
	switch {
	case c.Kind.Image():
		attempt.Image = &crawl.ImageUpdate{Problem: crawl.ImageForbidden, Forget: d.ByUsage}
	case d.ByUsage && mayBeIndexed(c):
		ForgetContents(c, attempt)
		statement, _ := StoredUsage(c) // the page itself made no new statement
		attempt.Page.Usage, attempt.Page.NoIndex, attempt.Page.NoFollow = c.Usage, statement.NoIndex.IsSet(), statement.NoFollow.IsSet()
	case d.ByRule:
		RemoveGonePage(c, attempt)
	}
}

// RemoveGonePage removes a page from the index, with its links and images. Its next successful
// fetch is read, even if unchanged. RemoveGonePage ignores images and pages that were never read.
func RemoveGonePage(c crawl.AttemptFacts, attempt *crawl.Attempt) {
	if !mayBeIndexed(c) {
		return
	}
	attempt.AllLinks, attempt.AllSitemaps, attempt.AllImages = true, true, true
	attempt.Page.RemoveFromIndex, attempt.Page.Outdated = true, true
}

// IsGone reports whether a response is final: the page is gone, or forbidden to us. A wall says
// nothing about the page.
func IsGone(attempt crawl.Attempt) bool {
	return attempt.Outcome == crawl.OutcomeBlocked4xx && freshness.IsFinalStatus(attempt.StatusCode) && !attempt.Skipped.Row().IsWall
}

// ForgetContents deletes all contents of a page whose publisher forbids the run's purpose.
func ForgetContents(c crawl.AttemptFacts, attempt *crawl.Attempt) {
	p := attempt.Page
	p.Signals, p.SimHash, p.Language = &crawl.Signals{}, nil, ""
	attempt.Index, attempt.Links, attempt.Images = nil, nil, nil
	if attempt.Charge != nil {
		attempt.Charge.Shared, attempt.Charge.Fingerprints = nil, nil
	}
	if mayBeIndexed(c) {
		p.RemoveFromIndex, attempt.LinksForbidden, attempt.AllImages, attempt.ImagesForbidden = true, true, true, true
	}
}

// mayBeIndexed reports whether a crawl's page may have something in the index.
func mayBeIndexed(c crawl.AttemptFacts) bool { return !c.Visit.At.IsZero() && !c.Kind.Image() }
