package read

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/sitemap"
)

// sitemapPath is the guessed location of a sitemap that robots.txt does not name.
const sitemapPath = "/sitemap.xml"

// recordSitemap records the pages of a sitemap, the most important and recently changed first, or
// the sitemaps of an index. A sitemap may list pages of its own domain and of domains that have
// named it as theirs (sitemaps.org, "Sitemap file location"). Otherwise strangers could fill a
// frontier.
func (r *reading) recordSitemap(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	var entries []announcement
	var rejected int
	kind, err := sitemap.Read(resp.Body, resp.ContentType, func(e sitemap.Entry) bool {
		for _, raw := range append([]string{e.Loc}, e.Alternates...) {
			u, err := r.base.Resolve(raw)
			switch {
			case err != nil:
			case !r.canName(u.URL):
				rejected++
			default:
				entries = append(entries, announcement{u, dropFutureDate(e.LastMod, resp.EndedAt), e.Priority})
			}
		}
		return len(entries) < announcedMax
	})
	if kind == sitemap.Feed {
		return r.recordFeed(at, resp, visit)
	}
	slices.SortStableFunc(entries, func(a, b announcement) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), b.changed.Compare(a.changed))
	})
	switch {
	case err != nil:
		at.Error = "as a sitemap: " + err.Error()
	case rejected > 0:
		at.Error = fmt.Sprintf("as a sitemap: %d URLs are ignored, because robots.txt of their domains does not name the sitemap", rejected)
		// They may name it by the next visit, which must read it then.
		visit = crawl.Visit{At: visit.At}
	}
	all := announcements{entries: entries, follow: decide.FollowAnnounced, complete: err == nil && len(entries) < announcedMax}
	if kind == sitemap.Index {
		all.follow = decide.FollowSitemapIndex
	}
	return r.recordAnnounced(at, visit, r.declaredUsage(resp), all, func(u urls.Spelt) crawl.Link {
		if kind == sitemap.Index {
			return r.sitemapLink(u)
		}
		return r.linkTo(u, false, resp.EndedAt)
	})
}

// feedPriority is the priority of a feed's pages: before pages of any depth.
const feedPriority = 1

// recordFeed records the pages of a feed. Pages of its own domain come first, because they are
// news.
func (r *reading) recordFeed(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	announced, err := sitemap.ReadFeed(resp.Body, resp.ContentType, r.base)
	if err != nil {
		at.Error = "as a feed: " + err.Error()
	}
	var entries []announcement
	for _, e := range announced {
		if r.canName(e.Link.URL) {
			entries = append(entries, announcement{url: e.Link, changed: dropFutureDate(e.Published, resp.EndedAt)})
		}
	}
	all := announcements{entries: entries, follow: decide.FollowAnnounced, complete: err == nil}
	return r.recordAnnounced(at, visit, r.declaredUsage(resp), all, func(u urls.Spelt) crawl.Link {
		link := r.linkTo(u, false, resp.EndedAt)
		if u.Domain() == r.url.Domain() {
			link.Priority = new(feedPriority)
		}
		return link
	})
}

const (
	// announcedBytesMax caps the total size of the URLs from one sitemap, because they are recorded in
	// one transaction, and as one document.
	announcedBytesMax = 8 << 20
	// announcedMax caps the entries of a sitemap in memory, before the best are selected.
	announcedMax = 2 * sitemap.MaxEntries
)

// readAnnounced reads a sitemap or a feed, unless the response is a page.
func (r *reading) readAnnounced(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	if resp.MediaType == "text/html" || resp.MediaType == "application/xhtml+xml" {
		// Many servers label a sitemap or a feed as HTML.
		format, _ := sitemap.Read(resp.Body, resp.ContentType, func(sitemap.Entry) bool { return false })
		if format == sitemap.Unknown {
			return r.readAsPage(ctx, at, resp, visit)
		}
	}
	if err := r.parses.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return err
	}
	defer r.parses.Release(1)
	record := r.recordSitemap
	if r.d.Attempt.Kind == kinds.Feed {
		record = r.recordFeed
	}
	if err := record(at, resp, visit); err != nil || len(r.news) == 0 {
		return err
	}
	return r.Store.HintRecrawl(ctx, r.d.Run.ID, r.news, func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error) {
		return decide.ApplyChangeNotice(r.facts.Domain, history, fetched, r.facts.Now)
	})
}

// noteChange records a page's change, if it is newer than the last visit of this sitemap or feed.
func (r *reading) noteChange(e announcement) {
	last := r.d.Attempt.Visit.At
	if r.d.Run.Settings.Recrawls() && !last.IsZero() && e.changed.After(last) && len(r.news) < crawl.ChangeNoticesMax {
		r.news = append(r.news, crawl.ChangeNotice{Domain: e.url.Domain(), URL: e.url.String(), Changed: e.changed})
	}
}

// canName reports whether the file may name a page. A sitemap may name pages of its own domain and
// of the domains that have named it.
func (r *reading) canName(u urls.URL) bool {
	return !r.d.Attempt.Kind.Traits().Nested || u.Domain() == r.url.Domain() || slices.Contains(r.d.Attempt.DeclaringDomains, u.Domain())
}

// readAsPage reads a page that a server has sent for a sitemap or a feed. At the guessed place of
// a sitemap it is only the server's page for missing files.
func (r *reading) readAsPage(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	if r.url.RequestTarget() == sitemapPath {
		recordNoContent(at, reasons.Malformed, "as a sitemap: the file is an HTML page")
		at.Page = r.pageUpdate(visit, crawl.Signals{})
		return r.applyUsage(at, r.declaredUsage(resp))
	}
	c := *r.d.Attempt
	c.Kind, r.d.Attempt = kinds.Page, &c
	visit.Content = crawl.ContentHash{}
	if err := r.page(ctx, at, resp, visit); err != nil || at.Skipped.Row().IsWall {
		return err
	}
	at.Page.IsPage = true
	return nil
}

type announcement struct {
	url      urls.Spelt
	changed  time.Time
	priority float64
}

type announcements struct {
	entries []announcement
	follow  func(crawl.RunFacts, crawl.AttemptFacts, usage.Usage) (*crawl.Follow, bool)
	// complete is set if the file was read completely, so that earlier entries not in it are gone.
	complete bool
}

// recordAnnounced records the announced pages. link makes a link of a URL.
func (r *reading) recordAnnounced(
	at *crawl.Attempt, visit crawl.Visit, pageUsage usage.Usage, all announcements, link func(u urls.Spelt) crawl.Link,
) error {
	at.Page = r.pageUpdate(visit, crawl.Signals{})
	switch {
	case len(all.entries) > 0:
	case all.complete:
		recordNoContent(at, reasons.Empty, "the file lists no page")
	default:
		recordNoContent(at, reasons.Malformed, "")
	}
	var stored bool
	if at.Follow, stored = all.follow(*r.d.Run, *r.d.Attempt, pageUsage); stored {
		seen := make(map[urls.URL]bool, len(all.entries))
		at.Links = make([]crawl.Link, 0, min(len(all.entries), sitemap.MaxEntries))
		bytesLeft := announcedBytesMax
		for _, e := range all.entries {
			if e.url.URL == r.url || seen[e.url.URL] {
				continue
			}
			if bytesLeft -= len(e.url.String()) + len(e.url.Target); bytesLeft < 0 || len(at.Links) == sitemap.MaxEntries {
				all.complete = false
				break
			}
			seen[e.url.URL] = true
			r.noteChange(e)
			at.Links = append(at.Links, link(e.url))
		}
		at.AllLinks = all.complete && !at.Truncated
		at.AllSitemaps = at.AllLinks
	}
	return r.applyUsage(at, pageUsage)
}
