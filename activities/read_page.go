package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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
	"github.com/mosey-web/mosey/internal/sitemap"
)

// frontierKind is how one kind of what is in the frontier is requested and read.
type frontierKind struct {
	request.Kind

	// want decides by its media type whether a body is read.
	want func(mediaType string) bool
	// read gets out of a body that is new, or has changed, what there is to record. Nil
	// keeps only what is needed to ask again.
	read func(*pageReader, context.Context, *crawl.Attempt, *fetch.Response, crawl.Visit) error
	// hash says that a body is the same if its bytes are. Of a page only what a reader
	// sees counts, which is known when it was read.
	hash bool
}

// frontierKinds are the kinds that can be in the frontier.
var frontierKinds = map[crawl.Kind]frontierKind{
	crawl.KindPage: {
		// prefers what can be parsed
		Kind: request.Kind{Accept: "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"},
		want: parseable, read: (*pageReader).readBody,
	},
	crawl.KindImage: {
		Kind: request.Kind{
			// names first what its fingerprints can be made of
			Accept: "image/jpeg,image/png,image/webp,image/gif,image/*;q=0.5,*/*;q=0.1", MaxBytes: imageMaxBytes, Large: true,
		},
		want: imageMedia, read: (*pageReader).readImage,
	},
	crawl.KindSitemap: {
		Kind: request.Kind{Accept: "application/xml,text/xml,text/plain;q=0.9,*/*;q=0.1", MaxBytes: sitemap.MaxBytes},
		want: listMedia, read: (*pageReader).readSitemap, hash: true,
	},
	crawl.KindFeed: {
		Kind: request.Kind{
			Accept:   "application/atom+xml,application/rss+xml,application/feed+json,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.1",
			MaxBytes: sitemap.MaxFeedBytes,
		},
		want: listMedia, read: (*pageReader).readFeed, hash: true,
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

// wantBody decides whether a body is read: one of use, unless its header says that
// it is what it was at the last visit.
func (k frontierKind) wantBody(last crawl.Visit) func(*fetch.Response) bool {
	return func(r *fetch.Response) bool {
		return r.Status >= 200 && r.Status < 300 && k.want(r.MediaType) && (!k.Large || !tooLong(r, k.MaxBytes)) &&
			freshness.Unchanged(last, r.Status, freshness.NewVisit(r.Header, time.Now(), crawl.ContentHash{})) == ""
	}
}

func parseable(mediaType string) bool {
	return isHTML(mediaType) || mediaType == "text/plain" || mediaType == ""
}

// isHTML reports whether a body is a page in HTML, whatever was asked for.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// pageReader gets out of an answer what there is to record of a page.
type pageReader struct {
	*Activities

	d    decide.Decision
	kind frontierKind
	url  urls.URL
	// last is what is known from the last visit as far as it still counts.
	last crawl.Visit
	// facts are those that the decision was made from.
	facts crawl.Facts
	// news is what a list says of pages that may have been fetched before.
	news []crawl.ListNews
}

// read reads a successful answer.
func (r *pageReader) read(ctx context.Context, x *request.Exchange) error {
	at, resp := &x.Attempt, x.Response
	if at.Outcome != crawl.OutcomeSuccess {
		return nil
	}
	last := r.last
	switch {
	case resp.Status == http.StatusNotModified && last.At.IsZero():
		at.Outcome, at.Error = crawl.OutcomeFailed, "answered 304 to a request without conditions"
		return nil
	case resp.Status == http.StatusNotModified:
		return r.unchanged(ctx, at, resp, freshness.Revalidated(last, resp.Header, resp.EndedAt))
	case resp.Status >= 300 && resp.Status < 400:
		r.redirect(at, resp)
		return r.keepUsage(at, r.said(resp))
	}
	visit := freshness.NewVisit(resp.Header, resp.EndedAt, crawl.ContentHash{})
	if len(resp.Body) > 0 && r.kind.hash {
		visit.Content = traps.HashContent(resp.Body)
	}
	switch {
	case freshness.Unchanged(last, resp.Status, visit) != "":
		return r.unchanged(ctx, at, resp, visit)
	case r.kind.read == nil || len(resp.Body) == 0 && r.kind.hash:
		at.Page = r.pageUpdate(visit, crawl.Signals{})
		return r.setUsage(at, r.said(resp))
	}
	return r.kind.read(r, ctx, at, resp, visit)
}

// said is what the origin and this answer's header say about the page's use. Every
// answer is read for it, whether or not it has a body.
func (r *pageReader) said(resp *fetch.Response) usage.Usage {
	said := r.d.Usage
	said.AddHeader(resp.Header)
	return said
}

// unchanged takes over what is known of a page that has not changed, but for what
// its header says about its use. A 200 has its whole header; of a 304 what it
// leaves out still holds.
func (r *pageReader) unchanged(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	run, c := *r.d.Run, *r.d.Crawl
	at.Unchanged = freshness.Unchanged(r.last, resp.Status, visit)
	at.Page = &crawl.PageUpdate{Visit: visitUpdate(visit)}
	kept, readable := decide.KeptUsage(c)
	if !readable {
		// what it forbids is not known: it stays, and the links are left alone
		at.Error, at.FollowKnown = "what its publisher said last cannot be read", decide.FollowSkipped(run, c)
		return nil
	}
	said := r.said(resp)
	said.AddKept(kept, resp.Status == http.StatusNotModified)
	at.FollowKnown = decide.FollowKnown(run, c, said)
	if c.Kind == crawl.KindImage {
		r.unchangedImage(at, said)
	} else {
		r.forbidsImages(at, said)
	}
	if r.front() {
		// the site may name other sitemaps now
		if at.Follow, _ = decide.FollowLinks(run, c, said); at.Follow != nil {
			var err error
			if at.Links, err = r.sitemaps(ctx); err != nil {
				return err
			}
		}
	}
	at.Page.Said = true
	at.Page.Unlisted = !listed(said, resp.EndedAt)
	at.Page.Outdated = !at.Page.Unlisted && !listed(kept, resp.EndedAt)
	if c.Kind != crawl.KindImage {
		at.Charge = decide.ChargeUnchanged(c, r.url)
	}
	return r.setUsage(at, said)
}

// pageUpdate is what was read of a page.
func (r *pageReader) pageUpdate(visit crawl.Visit, signals crawl.Signals) *crawl.PageUpdate {
	return &crawl.PageUpdate{
		Visit: visitUpdate(visit), Signals: &signals, Extractor: crawl.ExtractorVersion, Images: r.d.Run.Settings.TakesImages(),
	}
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
	said := r.said(resp)
	for _, m := range page.Metas {
		said.AddMeta(m.Name, m.Content)
	}
	page.Published, page.Modified = notAhead(page.Published, resp.EndedAt), notAhead(page.Modified, resp.EndedAt)
	at.Page = r.pageUpdate(visit, page.Signals)
	if at.Login = page.Login && !extract.LoginURL(r.url); at.Login && *r.d.Run.Settings.BlockOnLogin {
		at.Error = "a login page in place of the page"
	}
	var stored bool
	if at.Follow, stored = decide.FollowLinks(*r.d.Run, *r.d.Crawl, said); stored {
		if at.Links, at.AllLists, err = r.links(ctx, page, said); err != nil {
			return err
		}
		at.AllLinks = at.Error == "" && !at.Truncated && !at.Login && page.LinksDropped == 0
	}
	r.addImages(at, page, said)
	if len(resp.Body) > 0 && !at.Login {
		r.index(at, resp, page, said)
	}
	text := traps.Read(r.url, page.Title, page.Text)
	defer text.Release()
	hash, words := text.SimHash()
	switch {
	case len(resp.Body) == 0:
		return r.setUsage(at, said)
	case words >= traps.SimHashWordsLeast:
		bits := int64(hash) //nolint:gosec // the same 64 bits
		at.Page.SimHash, visit.Content = &bits, page.Content
	default:
		visit.Content = traps.HashContent(resp.Body)
	}
	at.Charge = decide.ChargePage(*r.d.Crawl, r.url, text, page.Canonical)
	at.Page.Visit = visitUpdate(visit)
	// It has been read: its links, for one, may have changed all the same.
	at.Unchanged = freshness.Unchanged(r.d.Crawl.Visit, resp.Status, visit)
	return r.setUsage(at, said)
}

// notAhead is a date that a page gives, if it is not in the future: a day ahead is where
// its clock or its time zone may be.
func notAhead(date, now time.Time) time.Time {
	if date.After(now.Add(24 * time.Hour)) {
		return time.Time{}
	}
	return date
}

// links are the links of a page as they are recorded: what lists pages comes first, and
// what no reader sees comes last. The second value is that of lists.
func (r *pageReader) links(ctx context.Context, page extract.Page, said usage.Usage) ([]crawl.Link, bool, error) {
	now := time.Now()
	links, allLists, err := r.lists(ctx, page, said)
	if err != nil {
		return nil, false, err
	}
	other := make(map[string]bool, len(links)+len(page.Images)) // as pages they are not worth a request
	for _, l := range links {
		other[l.URL] = true
	}
	for _, i := range page.Images {
		other[i.URL.String()] = true
	}
	links = slices.Grow(links, len(page.Links))
	var unseen []crawl.Link
	for _, l := range page.Links {
		if len(other) > 0 && other[l.URL.String()] {
			continue
		}
		link := r.linkTo(l.URL, l.NoFollow || said.NoFollow.Said(), now)
		link.Rel, link.Anchor = l.Rel, l.Anchor
		if l.Rel.InHead() {
			unseen = append(unseen, link)
			continue
		}
		links = append(links, link)
	}
	return append(links, unseen...), allLists, nil
}

// keepUsage keeps what a publisher says.
func (r *pageReader) keepUsage(at *crawl.Attempt, said usage.Usage) error {
	if said == (usage.Usage{}) {
		return nil
	}
	data, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("write the usage of %s: %w", r.url, err)
	}
	at.Page.Usage, at.Page.NoIndex, at.Page.NoFollow = data, said.NoIndex.Said(), said.NoFollow.Said()
	return nil
}

// setUsage also obeys it. Where it forbids what the run is for, nothing of what the
// page says is kept, nor what would make the next answer a mere 304.
func (r *pageReader) setUsage(at *crawl.Attempt, said usage.Usage) error {
	if allowed, why := usage.Allows(*r.d.Run.Settings.Purpose, said); !allowed {
		p := at.Page
		p.Signals, p.SimHash, p.Visit, at.Error = &crawl.Signals{}, nil, &crawl.VisitUpdate{}, why
		p.Language, at.Index = "", nil
		if at.Charge != nil {
			at.Charge.Shared, at.Charge.Fingerprints = nil, nil
		}
	}
	return r.keepUsage(at, said)
}

// linkTo is a link as it is recorded.
func (r *pageReader) linkTo(u urls.URL, nofollow bool, now time.Time) crawl.Link {
	trap, _ := traps.Find(u, now)
	return crawl.Link{
		URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), Patterns: traps.Patterns(u), NoFollow: nofollow,
		Registered: r.registered(u), Trap: trap.Kind, TrapEvidence: trap.Evidence,
	}
}

// registered is the registered domain that what a page leads to is part of; empty where it
// is one, or where the page's own domain is led to.
func (r *pageReader) registered(u urls.URL) string {
	if u.Domain() == r.url.Domain() {
		return ""
	}
	return u.PartOf()
}

// parse reads the page, which is empty where there is none.
func (r *pageReader) parse(ctx context.Context, at *crawl.Attempt, resp *fetch.Response) (extract.Page, error) {
	var page extract.Page
	if len(resp.Body) == 0 {
		return page, nil
	}
	mediaType := resp.MediaType
	if mediaType == "" {
		mediaType, _, _ = strings.Cut(http.DetectContentType(resp.Body), ";")
	}
	if !parseable(mediaType) {
		return page, nil
	}
	// The page is bounded, so this ends; and its record must not be lost because
	// the worker is told to stop meanwhile.
	if err := r.parses.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return page, err
	}
	defer r.parses.Release(1)
	limits := r.limits
	limits.Images = r.d.Run.Settings.TakesImages()
	text, _, err := fetch.ToUTF8(resp.Body, resp.ContentType)
	switch {
	case err != nil:
	case mediaType == "text/plain":
		page = extract.Plain(text, limits)
	default:
		page, err = extract.HTML(text, r.url, limits)
	}
	if err != nil {
		at.Error = err.Error()
	}
	return page, nil
}

// redirect turns a redirect into a link to its target: it is crawled in its own
// time, so that the gap holds.
func (r *pageReader) redirect(at *crawl.Attempt, resp *fetch.Response) {
	at.Page = r.pageUpdate(crawl.Visit{}, crawl.Signals{})
	image := r.d.Crawl.Kind == crawl.KindImage
	if image {
		at.Image = &crawl.ImageUpdate{Problem: crawl.ImageUnanswered} // unless the redirect is followed
	}
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
	at.Redirect, at.AllLinks = true, true
	at.Login = extract.LoginURL(to) && !extract.LoginURL(r.url)
	at.Links = []crawl.Link{r.linkTo(to, false, time.Now())}
	at.Links[0].Trap, at.Links[0].TrapEvidence = "", ""
	if kind := r.d.Crawl.Kind; kind != crawl.KindPage {
		at.Links[0].Kind = kind
	}
	at.Follow = decide.FollowRedirect(*r.d.Run, *r.d.Crawl)
	if image {
		at.Links[0].Priority = new(decide.ImagePriority)
		if at.Follow != nil {
			at.Image.Problem = ""
		}
		return
	}
	at.Charge = decide.ChargeRedirect(*r.d.Crawl, r.url, to)
}

// settle marks a page that is not tried again as failed, and has one that is come
// after the others.
func (r *pageReader) settle(x *request.Exchange) {
	at := &x.Attempt
	if at.RetryIn != nil {
		at.RetryPriority = decide.RetryPriority(*r.d.Crawl)
		return
	}
	if at.Outcome != crawl.OutcomeSuccess {
		at.Page = &crawl.PageUpdate{Failed: true}
		if r.d.Crawl.Kind == crawl.KindImage {
			at.Image = &crawl.ImageUpdate{Problem: crawl.ImageUnanswered}
		}
	}
	var err error
	if at.Recrawl, err = decide.Again(r.facts.Domain, *r.d.Run, *r.d.Crawl, *at, r.facts.Now); err != nil {
		// what is stored cannot be read: the page begins anew
		at.Recrawl = decide.AgainUnasked(r.d, r.facts.Now)
	}
}
