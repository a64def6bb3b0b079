package read

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/request"
)

func (r *reading) handleResponse(ctx context.Context, x *request.Exchange) error {
	if x.Attempt.Outcome != crawl.OutcomeSuccess {
		return nil
	}
	if err := r.read(ctx, x); err != nil || x.Attempt.Skipped == "" {
		return err
	}
	isGuess, err := r.isGuess(ctx)
	if isGuess {
		x.Attempt.Skipped = "" // most sites have no sitemap there
	}
	return err
}

// read reads a response below 400.
func (r *reading) read(ctx context.Context, x *request.Exchange) error {
	at, resp := &x.Attempt, x.Response
	last, c := r.last, r.d.Attempt
	read, sameBytes := r.readerOf(c.Kind), c.Kind.Traits().SameBytes
	switch {
	case resp.Status == http.StatusNotModified && !r.conditional:
		at.Outcome, at.Error = crawl.OutcomeFailed, "answered 304 to a request without conditions"
		return nil
	case resp.Status == http.StatusNotModified:
		return r.unchanged(ctx, at, resp, freshness.UpdateNotModified(last, resp.Header, resp.EndedAt))
	case resp.Status >= 300 && resp.Status < 400:
		r.redirect(at, resp)
		return r.storeUsage(at, r.declaredUsage(resp))
	}
	visit := freshness.NewVisit(resp.Header, resp.EndedAt, crawl.ContentHash{})
	if len(resp.Body) > 0 && sameBytes {
		visit.Content = traps.HashContent(resp.Body)
	}
	switch {
	case freshness.Unchanged(r.comparedVisit(resp), resp.Status, visit) != "":
		return r.unchanged(ctx, at, resp, visit)
	case read == nil || len(resp.Body) == 0 && sameBytes:
		recordNoBody(at, resp, c.Kind)
		at.Page = r.pageUpdate(visit, crawl.Signals{})
		return r.applyUsage(at, r.declaredUsage(resp))
	}
	return read(ctx, at, resp, visit)
}

// unchanged keeps the stored facts of an unchanged page, except the usage that its header declares.
// A 200 has its whole header; fields that a 304 omits still hold.
func (r *reading) unchanged(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	run, c := *r.d.Run, *r.d.Attempt
	at.Unchanged = freshness.Unchanged(r.last, resp.Status, visit)
	at.Page = &crawl.PageUpdate{Visit: visitUpdate(visit)}
	if _, readable := decide.StoredUsage(c); !readable {
		// Its prohibitions are unknown, so they stay, and the links are not followed.
		at.Error, at.FollowKnown = "the stored publisher signals cannot be read", decide.FollowSkipped(run, c)
		return nil
	}
	pageUsage := r.declaredUsage(resp)
	pageUsage.AddStored(r.storedUsage, resp.Status == http.StatusNotModified)
	at.FollowKnown = decide.FollowKnown(run, c, pageUsage)
	if c.Kind.Image() {
		at.Image = &crawl.ImageUpdate{}
		if allowed, reason := usage.AllowsImages(*run.Settings.Purpose, pageUsage); !allowed {
			at.Image.Problem, at.Image.Forget, at.Error = crawl.ImageForbidden, true, reason
			at.Page.Visit = &crawl.VisitUpdate{}
		}
	} else {
		r.forbidsImages(at, pageUsage)
	}
	if r.announcesFeeds() {
		// The site may name other sitemaps now.
		if at.Follow, _ = decide.FollowLinks(run, c, pageUsage); at.Follow != nil {
			var err error
			if at.Links, err = r.sitemapLinks(ctx); err != nil {
				return err
			}
		}
	}
	at.Page.HasUsage = true
	at.Page.RemoveFromIndex = !usage.Listed(pageUsage, resp.EndedAt)
	if !c.Kind.Image() {
		at.Charge = decide.ChargeUnchanged(c, r.url)
	}
	return r.applyUsage(at, pageUsage)
}

func (r *reading) pageUpdate(visit crawl.Visit, signals crawl.Signals) *crawl.PageUpdate {
	return &crawl.PageUpdate{
		Visit: visitUpdate(visit), Signals: &signals, Extractor: crawl.ExtractorVersion, Images: r.d.Run.Settings.TakesImages(),
	}
}

func visitUpdate(v crawl.Visit) *crawl.VisitUpdate {
	u := &crawl.VisitUpdate{ETag: v.ETag, LastModified: v.LastModified, Content: v.Content}
	if !v.FreshUntil.IsZero() {
		u.FreshnessLifetime = crawl.Millis(v.FreshUntil.Sub(v.At))
	}
	return u
}

// redirect turns a redirect into a link to its target, which is crawled later so that the gap
// holds. The page's content from before the redirect is gone.
func (r *reading) redirect(at *crawl.Attempt, resp *fetch.Response) {
	r.withoutContent(at, crawl.Visit{})
	kind := r.d.Attempt.Kind
	if kind.Image() {
		at.Image = &crawl.ImageUpdate{Problem: crawl.ImageUnanswered} // unless the redirect is followed
	}
	location := resp.Header.Get("Location")
	if location == "" {
		recordNoContent(at, reasons.NoTarget, "redirect without a Location")
		return
	}
	to, err := r.base.Resolve(location)
	if err != nil {
		recordNoContent(at, reasons.NoTarget, "redirect not followed: "+err.Error())
		return
	}
	if to.URL == r.url {
		r.redirectToItself(at, location, resp.Header)
		return
	}
	at.Redirect, at.AllLinks = true, true
	at.Login = extract.LoginURL(to.URL) && !extract.LoginURL(r.url)
	at.Links = []crawl.Link{r.linkTo(to, false, time.Now())}
	at.Links[0].Trap, at.Links[0].TrapEvidence = "", ""
	if !kind.Document() {
		at.Links[0].Kind = kind
	}
	at.Follow = decide.FollowRedirect(*r.d.Run, *r.d.Attempt)
	if p := kind.Traits().Priority; p != 0 {
		at.Links[0].Priority = &p
	}
	if kind.Image() {
		if at.Follow != nil {
			at.Image.Problem = ""
		}
		return
	}
	at.Charge = decide.ChargeRedirect(*r.d.Attempt, r.url, to.URL)
}

// redirectToItself has the page requested again in the spelling of its Location, once: a site may
// serve it under one spelling only.
func (r *reading) redirectToItself(at *crawl.Attempt, location string, header http.Header) {
	c := *r.d.Attempt
	target, err := r.base.Verbatim(location)
	isFirst := c.Visit.RequestTarget == "" || c.Number == 1 || target == r.url.RequestTarget()
	if err == nil && target != r.base.RequestTarget() && isFirst && !decide.LastAttempt(*r.d.Run, c) {
		requestNext(at, target, "redirect to another spelling of the page, which is requested next: ")
		return
	}
	details := "redirect to itself"
	if header.Get("Set-Cookie") != "" {
		details += ": the site needs a cookie, and Mosey keeps none"
	}
	recordNoContent(at, reasons.NoTarget, details)
}

// requestNext has the page requested again, as soon as its domain allows, with another target. The
// error is reason and target.
func requestNext(at *crawl.Attempt, target, reason string) {
	at.Error = reason + target
	at.Page, at.Image, at.RetryIn = &crawl.PageUpdate{RequestTarget: target}, nil, new(crawl.Millis)
}

// settle marks a page without a retry as failed. It has a missing page requested again in its
// canonical form, once.
func (r *reading) settle(x *request.Exchange) {
	at := &x.Attempt
	if at.RetryIn != nil {
		return
	}
	c, own := *r.d.Attempt, r.url.RequestTarget()
	if at.Outcome != crawl.OutcomeSuccess {
		isGone := decide.IsGone(*at)
		if isGone && r.base.RequestTarget() != own && c.Visit.At.IsZero() && !decide.LastAttempt(*r.d.Run, c) {
			// The spelling of the page's first link may be wrong.
			requestNext(at, own, "no page in this spelling, the canonical one is requested next: ")
			return
		}
		at.Page = &crawl.PageUpdate{Failed: true}
		if isGone {
			decide.RemoveGonePage(c, at)
		}
		if c.Kind.Image() {
			at.Image = &crawl.ImageUpdate{Problem: crawl.ImageUnanswered}
		}
	}
	var err error
	if at.Recrawl, err = decide.ScheduleRevisit(r.facts.Domain, *r.d.Run, c, *at, r.facts.Now); err != nil {
		// The stored history is unreadable, so the page starts anew.
		at.Recrawl = decide.ScheduleSkippedRevisit(r.d, r.facts.Now)
	}
}

// declaredUsage returns the page's usage that the origin and this response's header declare. Every
// response is read for it, with or without a body.
func (r *reading) declaredUsage(resp *fetch.Response) usage.Usage {
	pageUsage := r.d.Usage
	pageUsage.AddHeader(resp.Header)
	pageUsage.AddLinks(r.url, resp.Header)
	return pageUsage
}

func (r *reading) storeUsage(at *crawl.Attempt, pageUsage usage.Usage) error {
	r.pageUsage = &pageUsage
	if pageUsage == (usage.Usage{}) {
		return nil
	}
	data, err := json.Marshal(pageUsage)
	if err != nil {
		return fmt.Errorf("write the usage of %s: %w", r.url, err)
	}
	at.Page.Usage, at.Page.NoIndex, at.Page.NoFollow = data, pageUsage.NoIndex.IsSet(), pageUsage.NoFollow.IsSet()
	return nil
}

// applyUsage also obeys it. If it forbids the run's purpose, the page's present and earlier content
// is dropped, and the validators that would let the next response be a mere 304.
func (r *reading) applyUsage(at *crawl.Attempt, pageUsage usage.Usage) error {
	if allowed, reason := usage.Allows(*r.d.Run.Settings.Purpose, pageUsage); !allowed {
		decide.ForgetContents(*r.d.Attempt, at)
		at.Page.Visit, at.Skipped, at.Error = &crawl.VisitUpdate{}, reasons.Reserved, reason
	}
	return r.storeUsage(at, pageUsage)
}

// archives reports whether the publisher permits that a response that was read is archived: for the
// run's purpose, and as a copy. A wall is no response of the site.
func (r *reading) archives(x *request.Exchange) bool {
	if x.Attempt.Skipped.Row().IsWall {
		return false
	}
	pageUsage := r.declaredUsage(x.Response)
	if r.pageUsage != nil {
		pageUsage = *r.pageUsage
	}
	allows := usage.Allows
	if r.d.Attempt.Kind.Image() {
		allows = usage.AllowsImages
	}
	forPurpose, _ := allows(*r.d.Run.Settings.Purpose, pageUsage)
	asCopy, _ := allows(settings.PurposeArchive, pageUsage)
	return forPurpose && asCopy
}
