package read

import (
	"context"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extra"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/placeholders"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/internal/walls"
)

func (r *reading) page(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	page, err := r.parse(ctx, at, resp)
	if err != nil || at.Skipped.Row().IsWall {
		return err
	}
	text := traps.Read(r.url, page.Title, page.Text)
	defer text.Release()
	if r.isMissing(page, resp, text) {
		recordNoContent(at, reasons.SoftNotFound, "its text is the one of "+kinds.MissingPath+", which does not exist")
	}
	if at.Skipped.Row().IsPlaceholder {
		r.withoutContent(at, visit)
		return r.applyUsage(at, r.declaredUsage(resp))
	}
	r.addRefresh(&page, resp)
	r.addCanonical(&page, resp)
	pageUsage := r.declaredUsage(resp)
	for _, m := range page.Metas {
		pageUsage.AddMeta(m.Name, m.Content)
	}
	pageUsage.AddLicense(page.License, usage.SourceLinkLicense)
	page.Published, page.Modified = dropFutureDate(page.Published, resp.EndedAt), dropFutureDate(page.Modified, resp.EndedAt)
	at.Page = r.pageUpdate(visit, page.Signals)
	if at.Login = page.Login && !extract.LoginURL(r.url); at.Login {
		at.Error = "the server returned a login page instead of the page"
	}
	if walls.AsksForScript(page.Text) {
		recordNoContent(at, reasons.NeedsScript, "the page only asks for JavaScript")
	}
	var stored bool
	if at.Follow, stored = decide.FollowLinks(*r.d.Run, *r.d.Attempt, pageUsage); stored {
		if at.Links, at.AllSitemaps, err = r.links(ctx, page, pageUsage); err != nil {
			return err
		}
		at.AllLinks = at.Error == "" && !at.Truncated && !at.Login && page.LinksDropped == 0
	}
	r.addImages(at, page, pageUsage)
	if len(resp.Body) > 0 && !at.Login && at.Skipped == "" {
		r.index(at, resp, page, pageUsage)
		r.addExtra(at, resp, page, pageUsage)
	}
	r.checkOwner(ctx, at, page, resp, pageUsage)
	if page.Text == "" && len(page.Links)+len(page.Feeds)+len(page.Images) == 0 {
		recordNoPage(at, resp) // only now, because with an error, links that are gone would stay
	}
	if len(resp.Body) == 0 {
		return r.applyUsage(at, pageUsage)
	}
	at.Page.SimHash, visit.Content = fingerprint(page, resp, text)
	at.Charge = decide.ChargePage(*r.d.Attempt, r.url, text, page.Canonical)
	at.Page.Visit = visitUpdate(visit)
	// The page has been read, because its links, for example, may have changed.
	at.Unchanged = freshness.Unchanged(r.d.Attempt.Visit, resp.Status, visit)
	return r.applyUsage(at, pageUsage)
}

// fingerprint returns the fingerprints of a page. A text of few words has no SimHash.
func fingerprint(page extract.Page, resp *fetch.Response, text *traps.PageText) (similar *int64, content crawl.ContentHash) {
	hash, words := text.SimHash()
	if words >= traps.SimHashWordsMin {
		return new(int64(hash)), page.Content //nolint:gosec // the same 64 bits
	}
	return nil, traps.HashContent(resp.Body)
}

// withoutContent makes the record forget the content of a page.
func (r *reading) withoutContent(at *crawl.Attempt, visit crawl.Visit) {
	at.Page = r.pageUpdate(visit, crawl.Signals{})
	decide.RemoveGonePage(*r.d.Attempt, at)
}

// dropFutureDate drops a date in the future. It allows a day for the page's clock or time zone.
func dropFutureDate(date, now time.Time) time.Time {
	if date.After(now.Add(24 * time.Hour)) {
		return time.Time{}
	}
	return date
}

// parse reads the page, or records a wall or a placeholder. It returns an empty page if the body is
// empty or not read.
func (r *reading) parse(ctx context.Context, at *crawl.Attempt, resp *fetch.Response) (extract.Page, error) {
	mediaType := documentType(resp)
	if len(resp.Body) == 0 || mediaType == "" {
		return extract.Page{}, nil
	}
	// The page is bounded, so this ends. Its record must not be lost if the worker stops.
	if err := r.parses.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return extract.Page{}, err
	}
	defer r.parses.Release(1)
	page, text, err := extractPage(resp, mediaType, r.base, extract.Limits{Images: r.d.Run.Settings.TakesImages()})
	if err != nil {
		at.Error = err.Error()
	}
	if wall, evidence := walls.InPage(text, page.Title, page.Text); wall != "" {
		crawl.RecordWall(at, wall, evidence)
	} else if reason, evidence := placeholders.Find(text, page.Title, page.Text); reason != "" {
		recordNoContent(at, reason, evidence)
	}
	return page, nil
}

// extractPage reads a body as a page. It returns the body as UTF-8, too.
func extractPage(
	resp *fetch.Response, mediaType string, base urls.Spelt, limits extract.Limits,
) (page extract.Page, text []byte, err error) {
	text, charset, err := fetch.ToUTF8(resp.Body, resp.ContentType)
	limits.Charset = charset
	switch {
	case err != nil:
	case mediaType == "text/plain":
		page = extract.Plain(text, limits)
	case mediaType == "application/xhtml+xml":
		page, err = extract.XHTML(text, base, limits)
	default:
		page, err = extract.HTML(text, base, limits)
	}
	return page, text, err
}

// addExtra adds the data of the operator's program to the page's signals, unless its publisher
// forbids the purpose of the run.
func (r *reading) addExtra(at *crawl.Attempt, resp *fetch.Response, page extract.Page, pageUsage usage.Usage) {
	if allowed, _ := usage.Allows(*r.d.Run.Settings.Purpose, pageUsage); r.Program == nil || !allowed {
		return
	}
	asked := extra.Page{
		URL: r.url.String(), Run: r.d.Run.Name, Status: resp.Status, ContentType: resp.ContentType, Language: at.Page.Language,
		NoIndex: !usage.Listed(pageUsage, resp.EndedAt), Headings: page.Headings, Text: page.Text, Main: page.Main,
		Signals: *at.Page.Signals,
	}
	for _, l := range at.Links {
		asked.Links = append(asked.Links, l.URL)
	}
	at.Page.Signals.Extra = r.Program.Ask(asked)
}

// index adds the page's language and search terms to an attempt, unless its publisher forbids that
// it is found.
func (r *reading) index(at *crawl.Attempt, resp *fetch.Response, page extract.Page, pageUsage usage.Usage) {
	declared := slices.Concat(page.Declared, resp.Header.Values("Content-Language"))
	var second string
	at.Page.Language, second = r.Languages.Languages(page.Prose, declared...)
	if !usage.Listed(pageUsage, resp.EndedAt) {
		return
	}
	at.Index = terms.Index(terms.Page{
		Language: at.Page.Language, Second: second, Title: page.Title, Headings: page.Headings,
		Description: page.Description, Text: page.Main, URL: r.url.String(), NoArchive: pageUsage.NoArchive.IsSet(),
	})
}

// images returns the images of a page to record: at most the run's number for one page, and the
// icons of the site. all reports whether the list is complete.
func (r *reading) images(page extract.Page) (found []crawl.FoundImage, all bool) {
	left := *r.d.Run.Settings.MaxImagesPerPage
	all = page.ImagesDropped == 0
	for _, i := range page.Images {
		if i.URL == r.url || i.Width > 0 && i.Width <= maxSpacerSide || i.Height > 0 && i.Height <= maxSpacerSide {
			continue
		}
		if i.Discovery != crawl.DiscoveryIcon {
			if left == 0 {
				all = false
				continue
			}
			left--
		}
		image := crawl.FoundImage{
			URL: i.URL.String(), Domain: i.URL.Domain(), Origin: i.URL.Origin(), RequestTarget: i.Target, Discovery: i.Discovery,
			Registered: r.registered(i.URL), Alt: i.Alt, Caption: i.Caption, Width: i.Width, Height: i.Height,
		}
		for _, v := range i.Variants {
			image.Variants = append(image.Variants, v.String())
		}
		found = append(found, image)
	}
	return found, all
}

// maxSpacerSide is the side, in CSS pixels, of an image too small to be seen, such as a tracking
// pixel.
const maxSpacerSide = 2

func (r *reading) addImages(at *crawl.Attempt, page extract.Page, pageUsage usage.Usage) {
	if r.forbidsImages(at, pageUsage) {
		return
	}
	follow, stored := decide.FollowImages(*r.d.Run, *r.d.Attempt, pageUsage)
	if !stored {
		return
	}
	var all bool
	at.Images, all = r.images(page)
	at.FollowImages = follow
	at.AllImages = all && at.Error == "" && !at.Truncated && !at.Login
	named := len(page.Images) + page.ImagesDropped + page.ImagesInvalid
	at.Page.Signals.Images = &crawl.ImageCounts{
		Named: named, Data: page.ImagesData, SVG: page.ImagesSVG, Dropped: named - len(at.Images),
	}
}

// forbidsImages reports whether a page's publisher forbids the run's purpose for its images, and
// makes the record forget the images.
func (r *reading) forbidsImages(at *crawl.Attempt, pageUsage usage.Usage) bool {
	set := r.d.Run.Settings
	if allowed, _ := usage.AllowsImages(*set.Purpose, pageUsage); allowed || !set.TakesImages() {
		return false
	}
	at.AllImages, at.ImagesForbidden = true, true
	return true
}
