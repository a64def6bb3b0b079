package read

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/sitemap"
)

// newsPriority is that of the pages that a feed names: before those of any depth.
const newsPriority = 1

// feed reads a feed.
func (r *reading) feed(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	return r.announced(ctx, at, resp, visit, r.recordFeed)
}

// recordFeed takes the pages that a feed names. Those of its own domain are first in line:
// a feed tells of news.
func (r *reading) recordFeed(at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	announced, err := sitemap.ReadFeed(resp.Body)
	if err != nil {
		at.Error = "as a feed: " + err.Error()
	}
	var entries []announcement
	for _, e := range announced {
		if u, err := r.url.Resolve(e.Link); err == nil && r.mayName(u) {
			entries = append(entries, announcement{url: u, changed: notAhead(e.Published, resp.EndedAt)})
		}
	}
	all := announcements{entries: entries, follow: decide.FollowAnnounced, whole: err == nil}
	return r.recordAnnounced(at, visit, r.said(resp), all, func(u urls.URL, _ int) crawl.Link {
		link := r.linkTo(u, false, resp.EndedAt)
		if u.Domain() == r.url.Domain() {
			link.Priority = new(newsPriority)
		}
		return link
	})
}
