package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/request"
)

// frontierKind is how one kind of what is in the frontier is requested and read.
type frontierKind struct {
	request.Kind

	// want decides by its media type whether a body is read.
	want func(mediaType string) bool
	// parse says that the body is a page: with signals, links and patterns. Of any
	// other only what is needed to ask again is kept.
	parse bool
}

// frontierKinds are the kinds that can be in the frontier.
var frontierKinds = map[crawl.Kind]frontierKind{
	crawl.KindPage: {
		// prefers what can be parsed
		Kind: request.Kind{Accept: "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"},
		want: parseable, parse: true,
	},
	crawl.KindFavicon: {
		Kind: request.Kind{Accept: "image/*", MaxBytes: 256 << 10},
		want: func(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") },
	},
}

// kindOf is how a crawl is made. One of a kind that a later version has stored is
// taken for a page.
func kindOf(c crawl.CrawlFacts) frontierKind {
	if k, ok := frontierKinds[c.Kind]; ok {
		return k
	}
	return frontierKinds[crawl.KindPage]
}

// recentMax is how many fingerprints a pattern keeps to compare pages with.
const recentMax = 32

// wantBody decides whether a body is read: one of use, unless its header says that
// it is what it was at the last visit.
func (k frontierKind) wantBody(last crawl.Visit) func(*fetch.Response) bool {
	return func(r *fetch.Response) bool {
		return r.Status >= 200 && r.Status < 300 && k.want(r.MediaType) &&
			freshness.Unchanged(last, r.Status, freshness.NewVisit(r.Header, time.Now(), crawl.ContentHash{})) == ""
	}
}

func parseable(mediaType string) bool {
	switch mediaType {
	case "text/html", "application/xhtml+xml", "text/plain", "":
		return true
	}
	return false
}

// pageReader gets out of an answer what there is to record of a page.
type pageReader struct {
	*Activities

	d    decide.Decision
	kind frontierKind
	url  urls.URL
}

// read reads a successful answer.
func (r *pageReader) read(ctx context.Context, x *request.Exchange) error {
	at, resp := &x.Attempt, x.Response
	if at.Outcome != crawl.OutcomeSuccess {
		return nil
	}
	last := r.d.Crawl.Visit
	switch {
	case resp.Status == http.StatusNotModified && last.At.IsZero():
		at.Outcome, at.Error = crawl.OutcomeFailed, "answered 304 to a request without conditions"
		return nil
	case resp.Status == http.StatusNotModified:
		r.unchanged(at, resp, freshness.Revalidated(last, resp.Header, resp.EndedAt))
		return nil
	case resp.Status >= 300 && resp.Status < 400:
		r.redirect(at, resp)
		return nil
	}
	content := crawl.ContentHash{}
	if len(resp.Body) > 0 {
		content = traps.HashContent(resp.Body)
	}
	visit := freshness.NewVisit(resp.Header, resp.EndedAt, content)
	switch {
	case r.unchanged(at, resp, visit):
		return nil
	case !r.kind.parse:
		at.Page = &crawl.PageUpdate{Visit: visitUpdate(visit), Signals: &crawl.Signals{}}
		return nil
	}
	return r.readBody(ctx, at, resp, visit)
}

// unchanged takes over what is known of a page that has not changed, and reports
// whether that is so.
func (r *pageReader) unchanged(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) bool {
	why := freshness.Unchanged(r.d.Crawl.Visit, resp.Status, visit)
	if why == "" {
		return false
	}
	at.Unchanged = why
	at.Page = &crawl.PageUpdate{Visit: visitUpdate(visit)}
	at.FollowKnown = decide.FollowKnown(*r.d.Run, *r.d.Crawl)
	return true
}

func visitUpdate(v crawl.Visit) *crawl.VisitUpdate {
	u := &crawl.VisitUpdate{ETag: v.ETag, LastModified: v.LastModified, Content: v.Content}
	if !v.FreshUntil.IsZero() {
		u.Fresh = crawl.Millis(v.FreshUntil.Sub(v.At))
	}
	return u
}

// readBody reads a page that is new, or has changed.
func (r *pageReader) readBody(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	page, err := r.parse(ctx, at, resp)
	if err != nil {
		return err
	}
	said := r.d.Usage
	said.AddHeader(resp.Header)
	for _, m := range page.Metas {
		said.AddMeta(m.Name, m.Content)
	}
	at.Page = &crawl.PageUpdate{Visit: visitUpdate(visit), Signals: &page.Signals}
	if at.Login = page.Login && !extract.LoginURL(r.url); at.Login && *r.d.Run.Settings.BlockOnLogin {
		at.Error = "a login page in place of the page"
	}
	now := time.Now()
	at.Links = make([]crawl.Link, len(page.Links))
	for i, l := range page.Links {
		at.Links[i] = linkTo(l.URL, l.NoFollow || said.NoFollow.Said(), now)
	}
	if *r.d.Run.Settings.Favicons && page.Icon != (urls.URL{}) {
		icon := linkTo(page.Icon, said.NoFollow.Said(), now)
		icon.Kind = crawl.KindFavicon
		at.Links = append(at.Links, icon)
	}
	at.Follow = decide.FollowLinks(*r.d.Run, *r.d.Crawl)
	var hash *crawl.SimHash
	if h, words := traps.SimHashOf(page.Text); words >= traps.SimHashWordsLeast {
		hash = &h
		bits := int64(h) //nolint:gosec // the same 64 bits
		at.Page.SimHash = &bits
	}
	if len(resp.Body) > 0 {
		r.charge(at, false, hash)
	}
	return r.setUsage(at, said)
}

// charge counts the page for its patterns.
func (r *pageReader) charge(at *crawl.Attempt, noNews bool, hash *crawl.SimHash) {
	at.Charges, at.RecentMax = decide.Charges(traps.Patterns(r.url), r.d.Crawl.Patterns, noNews, hash), recentMax
}

// setUsage keeps what a publisher says. Where that forbids what the run is for,
// nothing of what the page says is kept, nor what would make the next answer a
// mere 304.
func (r *pageReader) setUsage(at *crawl.Attempt, said usage.Usage) error {
	if said == (usage.Usage{}) {
		return nil
	}
	data, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("write the usage of %s: %w", r.url, err)
	}
	p := at.Page
	p.Usage, p.NoIndex, p.NoFollow = data, said.NoIndex.Said(), said.NoFollow.Said()
	if allowed, why := usage.Allows(*r.d.Run.Settings.Purpose, said); !allowed {
		p.Signals, p.SimHash, p.Visit, at.Error = &crawl.Signals{}, nil, &crawl.VisitUpdate{}, why
	}
	return nil
}

// linkTo is a link as it is recorded.
func linkTo(u urls.URL, nofollow bool, now time.Time) crawl.Link {
	trap, _ := traps.Find(u, now)
	return crawl.Link{
		URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), Patterns: traps.Patterns(u), NoFollow: nofollow,
		Trap: trap.Kind, TrapEvidence: trap.Evidence,
	}
}

// parse reads the page, which is empty where there is none.
func (r *pageReader) parse(ctx context.Context, at *crawl.Attempt, resp *fetch.Response) (extract.Page, error) {
	var page extract.Page
	if len(resp.Body) == 0 {
		return page, nil
	}
	html := resp.MediaType
	if html == "" {
		html, _, _ = strings.Cut(http.DetectContentType(resp.Body), ";")
	}
	if html != "text/html" && html != "application/xhtml+xml" {
		return page, nil
	}
	// The page is bounded, so this ends; and its record must not be lost because
	// the worker is told to stop meanwhile.
	if err := r.parses.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return page, err
	}
	defer r.parses.Release(1)
	text, _, err := fetch.ToUTF8(resp.Body, resp.ContentType)
	if err == nil {
		page, err = extract.HTML(text, r.url, r.limits)
	}
	if err != nil {
		at.Error = err.Error()
	}
	return page, nil
}

// redirect turns a redirect into a link to its target: it is crawled in its own
// time, so that the gap holds.
func (r *pageReader) redirect(at *crawl.Attempt, resp *fetch.Response) {
	at.Page = &crawl.PageUpdate{Visit: &crawl.VisitUpdate{}, Signals: &crawl.Signals{}}
	location := resp.Header.Get("Location")
	if location == "" {
		return
	}
	to, err := r.url.Resolve(location)
	if err != nil {
		at.Error = "redirect not followed: " + err.Error()
		return
	}
	if to == r.url {
		at.Error = "redirect to itself"
		return
	}
	at.Redirect = true
	at.Login = extract.LoginURL(to) && !extract.LoginURL(r.url)
	at.Links = []crawl.Link{linkTo(to, false, time.Now())}
	at.Links[0].Trap, at.Links[0].TrapEvidence = "", ""
	at.Follow = decide.FollowRedirect(*r.d.Run, *r.d.Crawl)
	// where it leads is what it brings; to one of its own kind, it brings nothing
	if traps.Pattern(to) == traps.Pattern(r.url) {
		r.charge(at, true, nil)
	}
}

// settle marks a page that is not tried again as failed.
func (r *pageReader) settle(x *request.Exchange) {
	at := &x.Attempt
	if at.Outcome != crawl.OutcomeSuccess && at.RetryIn == nil {
		at.Page = &crawl.PageUpdate{Failed: true}
	}
}
