package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/sitemap"
)

const (
	// sitemapPath is where a site may have a sitemap that its robots.txt does not name.
	sitemapPath = "/sitemap.xml"
	// newsPriority is that of the pages that a feed lists: before those of any depth.
	newsPriority = 1
	// priorityLeast bounds that of the last sitemaps of a long index: what is tried again
	// comes after them (decide.RetryPriority).
	priorityLeast = -5_000
	// listURLBytesMax bounds the URLs that are taken from one list, together: they are
	// recorded in one transaction, and as one document.
	listURLBytesMax = 8 << 20
	// listEntriesMax bounds what is held of a list before that is cut to its best.
	listEntriesMax = 2 * sitemap.MaxEntries
)

// listMedia decides whether what may be a sitemap or a feed is read. Many servers call
// them something else.
func listMedia(mediaType string) bool {
	family, _, _ := strings.Cut(mediaType, "/")
	switch family {
	case "image", "audio", "video", "font":
		return false
	}
	return true
}

// front reports whether the page may name what lists the pages of its site: it is a seed,
// or the front page of its origin. Others name the same, or lists of a few pages.
func (r *pageReader) front() bool {
	return r.d.Crawl.Kind == crawl.KindPage && (r.d.Crawl.Depth == 0 || r.url.RequestTarget() == "/")
}

// lists are the sitemaps and feeds that a page leads to, and whether they are all that it
// has.
func (r *pageReader) lists(ctx context.Context, page extract.Page, said usage.Usage) (links []crawl.Link, all bool, err error) {
	if !r.front() {
		return nil, false, nil
	}
	links, err = r.sitemaps(ctx)
	if err != nil || !*r.d.Run.Settings.Feeds {
		return links, false, err
	}
	for _, raw := range page.Feeds {
		u, err := urls.Parse(raw)
		if err != nil || slices.ContainsFunc(links, func(l crawl.Link) bool { return l.URL == u.String() }) {
			continue
		}
		link := r.linkTo(u, said.NoFollow.Said(), time.Now())
		link.Kind = crawl.KindFeed
		links = append(links, link)
	}
	return links, *r.d.Run.Settings.Sitemaps, nil
}

// sitemaps are those that the robots.txt of the page's origin names, or the one that may
// be there where it names none.
func (r *pageReader) sitemaps(ctx context.Context) ([]crawl.Link, error) {
	if !*r.d.Run.Settings.Sitemaps {
		return nil, nil
	}
	rules, err := r.store.Robots(ctx, r.url.Origin())
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		return nil, nil // lost since: the next visit will know
	case err != nil:
		return nil, err
	}
	names := rules.Sitemaps
	if len(names) == 0 {
		names = []string{r.url.Origin() + sitemapPath}
	}
	links := make([]crawl.Link, 0, len(names))
	for _, name := range names {
		u, err := urls.Parse(name)
		if err != nil || u == r.url || slices.ContainsFunc(links, func(l crawl.Link) bool { return l.URL == u.String() }) {
			continue
		}
		links = append(links, r.sitemap(u, len(links)))
	}
	return links, nil
}

// sitemap is a link to a sitemap, the nth of those that are named in one place. The first
// comes with the pages that are linked to there, each further one after all pages that
// are a link deeper: a site with hundreds of them is not asked for all before its pages.
func (r *pageReader) sitemap(u urls.URL, n int) crawl.Link {
	link := r.linkTo(u, false, time.Now())
	link.Kind, link.Trap, link.TrapEvidence = crawl.KindSitemap, "", ""
	depth := r.d.Crawl.Depth
	if r.d.Crawl.Kind == crawl.KindPage {
		depth++
	}
	link.Priority = new(max(-depth-n, priorityLeast))
	return link
}

// readSitemap and readFeed read lists of pages.
func (r *pageReader) readSitemap(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	return r.readList(ctx, at, resp, visit, r.recordSitemap)
}

func (r *pageReader) readFeed(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	return r.readList(ctx, at, resp, visit, r.recordFeed)
}

// readList has a list recorded, unless a page came in its place.
func (r *pageReader) readList(
	ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit,
	record func(*crawl.Attempt, *fetch.Response, crawl.Visit) error,
) error {
	if isHTML(resp.MediaType) {
		return r.readInstead(ctx, at, resp, visit)
	}
	if err := r.parses.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return err
	}
	defer r.parses.Release(1)
	if err := record(at, resp, visit); err != nil || len(r.news) == 0 {
		return err
	}
	return r.store.HintRecrawl(ctx, r.d.Run.ID, r.news, func(history json.RawMessage, fetched time.Time) (json.RawMessage, time.Time, error) {
		return decide.Hinted(r.facts.Domain, history, fetched, r.facts.Now)
	})
}

// tell keeps what the list says of a page, if it says that it has changed since the list
// was read last.
func (r *pageReader) tell(e listEntry) {
	last := r.d.Crawl.Visit.At
	if r.d.Run.Settings.Recrawls() && !last.IsZero() && e.changed.After(last) && len(r.news) < crawl.ListNewsMax {
		r.news = append(r.news, crawl.ListNews{Domain: e.url.Domain(), URL: e.url.String(), Changed: e.changed})
	}
}

// recordSitemap takes the pages that a sitemap lists, those first that it calls most
// important and that were changed last, or the sitemaps that an index does. It may list
// pages of its own domain and of those that have named it as theirs (sitemaps.org,
// "Sitemap file location"): others would have their frontier filled by strangers.
func (r *pageReader) recordSitemap(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	var entries []listEntry
	var strange int
	kind, err := sitemap.Read(resp.Body, func(e sitemap.Entry) bool {
		for _, raw := range append([]string{e.Loc}, e.Alternates...) {
			u, err := r.url.Resolve(raw)
			switch {
			case err != nil:
			case !r.mayList(u):
				strange++
			default:
				entries = append(entries, listEntry{u, notAhead(e.LastMod, resp.EndedAt), e.Priority})
			}
		}
		return len(entries) < listEntriesMax
	})
	if kind == sitemap.Feed {
		return r.recordFeed(at, resp, visit)
	}
	slices.SortStableFunc(entries, func(a, b listEntry) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), b.changed.Compare(a.changed))
	})
	switch {
	case err != nil:
		at.Error = "as a sitemap: " + err.Error()
	case strange > 0:
		at.Error = fmt.Sprintf("as a sitemap: %d of its URLs are of domains whose robots.txt does not name it", strange)
		visit = crawl.Visit{At: visit.At} // they may name it until the next visit, which has to read it then
	}
	list := list{entries: entries, follow: decide.FollowListed, whole: err == nil && len(entries) < listEntriesMax}
	if kind == sitemap.Index {
		list.follow = decide.FollowIndexed
	}
	return r.recordList(at, visit, r.said(resp), list, func(u urls.URL, n int) crawl.Link {
		if kind == sitemap.Index {
			return r.sitemap(u, n)
		}
		return r.linkTo(u, false, resp.EndedAt)
	})
}

// mayList reports whether what is read may list a page: a sitemap those of its own domain,
// and of the domains that have named it.
func (r *pageReader) mayList(u urls.URL) bool {
	return r.d.Crawl.Kind != crawl.KindSitemap || u.Domain() == r.url.Domain() || slices.Contains(r.d.Crawl.Vouched, u.Domain())
}

// readInstead reads a page that is where a list should be: whoever has called it a list,
// it is read as what it is. What is at the place where a sitemap might be is only what
// the server has for what is not there.
func (r *pageReader) readInstead(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	if r.url.RequestTarget() == sitemapPath {
		at.Page = r.pageUpdate(visit, crawl.Signals{})
		return r.setUsage(at, r.said(resp))
	}
	c := *r.d.Crawl
	c.Kind, r.d.Crawl = crawl.KindPage, &c
	visit.Content = crawl.ContentHash{}
	if err := r.readBody(ctx, at, resp, visit); err != nil {
		return err
	}
	at.Page.IsPage = true
	return nil
}

// recordFeed takes the pages that a feed lists. Those of its own domain are first in line:
// a feed tells of news.
func (r *pageReader) recordFeed(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	announced, err := sitemap.ReadFeed(resp.Body)
	if err != nil {
		at.Error = "as a feed: " + err.Error()
	}
	var entries []listEntry
	for _, e := range announced {
		if u, err := r.url.Resolve(e.Link); err == nil && r.mayList(u) {
			entries = append(entries, listEntry{url: u, changed: notAhead(e.Published, resp.EndedAt)})
		}
	}
	list := list{entries: entries, follow: decide.FollowListed, whole: err == nil}
	return r.recordList(at, visit, r.said(resp), list, func(u urls.URL, _ int) crawl.Link {
		link := r.linkTo(u, false, resp.EndedAt)
		if u.Domain() == r.url.Domain() {
			link.Priority = new(newsPriority)
		}
		return link
	})
}

// listEntry is a page, or a sitemap, in a list.
type listEntry struct {
	url      urls.URL
	changed  time.Time
	priority float64
}

// list is what a sitemap or a feed lists.
type list struct {
	entries []listEntry
	follow  func(crawl.RunFacts, crawl.CrawlFacts, usage.Usage) (*crawl.Follow, bool)
	// whole says that all of it was read: what was there before and is not any more is
	// gone.
	whole bool
}

// recordList records what a list leads to, as link makes of the nth URL of it.
func (r *pageReader) recordList(
	at *crawl.Attempt, visit crawl.Visit, said usage.Usage, l list, link func(u urls.URL, n int) crawl.Link,
) error {
	at.Page = r.pageUpdate(visit, crawl.Signals{})
	var stored bool
	if at.Follow, stored = l.follow(*r.d.Run, *r.d.Crawl, said); stored {
		seen := make(map[urls.URL]bool, len(l.entries))
		at.Links = make([]crawl.Link, 0, min(len(l.entries), sitemap.MaxEntries))
		left := listURLBytesMax
		for _, e := range l.entries {
			if e.url == r.url || seen[e.url] {
				continue
			}
			if left -= len(e.url.String()); left < 0 || len(at.Links) == sitemap.MaxEntries {
				l.whole = false
				break
			}
			seen[e.url] = true
			r.tell(e)
			at.Links = append(at.Links, link(e.url, len(at.Links)))
		}
		at.AllLinks = l.whole && !at.Truncated
		at.AllLists = at.AllLinks
	}
	return r.setUsage(at, said)
}
