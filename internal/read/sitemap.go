package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/sitemap"
)

// sitemapPath is where a site may have a sitemap that its robots.txt does not name.
const sitemapPath = "/sitemap.xml"

// sitemap reads a sitemap.
func (r *reading) sitemap(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	return r.announced(ctx, at, resp, visit, r.recordSitemap)
}

// recordSitemap takes the pages that a sitemap lists, those first that it calls most
// important and that were changed last, or the sitemaps that an index does. It may list
// pages of its own domain and of those that have named it as theirs (sitemaps.org,
// "Sitemap file location"): others would have their frontier filled by strangers.
func (r *reading) recordSitemap(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	var entries []announcement
	var strange int
	kind, err := sitemap.Read(resp.Body, func(e sitemap.Entry) bool {
		for _, raw := range append([]string{e.Loc}, e.Alternates...) {
			u, err := r.url.Resolve(raw)
			switch {
			case err != nil:
			case !r.mayName(u):
				strange++
			default:
				entries = append(entries, announcement{u, notAhead(e.LastMod, resp.EndedAt), e.Priority})
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
	case strange > 0:
		at.Error = fmt.Sprintf("as a sitemap: %d of its URLs are of domains whose robots.txt does not name it", strange)
		visit = crawl.Visit{At: visit.At} // they may name it until the next visit, which has to read it then
	}
	all := announcements{entries: entries, follow: decide.FollowAnnounced, whole: err == nil && len(entries) < announcedMax}
	if kind == sitemap.Index {
		all.follow = decide.FollowIndexed
	}
	return r.recordAnnounced(at, visit, r.said(resp), all, func(u urls.URL, n int) crawl.Link {
		if kind == sitemap.Index {
			return r.sitemapLink(u, n)
		}
		return r.linkTo(u, false, resp.EndedAt)
	})
}
