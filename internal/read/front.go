package read

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
)

// priorityLeast bounds that of the last sitemaps of a long index: what is tried again comes
// after them (decide.RetryPriority).
const priorityLeast = -5_000

// front reports whether the page may name the sitemaps and feeds of its site: it is a seed,
// or the front page of its origin. Others name the same, or feeds of a few pages.
func (r *reading) front() bool {
	return r.d.Crawl.Kind.Document() && (r.d.Crawl.Depth == 0 || r.url.RequestTarget() == "/")
}

// announcers are the sitemaps and feeds that a page leads to, and whether they are all that
// it has.
func (r *reading) announcers(ctx context.Context, page extract.Page, said usage.Usage) (links []crawl.Link, all bool, err error) {
	if !r.front() {
		return nil, false, nil
	}
	links, err = r.sitemapLinks(ctx)
	if err != nil || !*r.d.Run.Settings.Feeds {
		return links, false, err
	}
	for _, raw := range page.Feeds {
		u, err := urls.Parse(raw)
		if err != nil || slices.ContainsFunc(links, func(l crawl.Link) bool { return l.URL == u.String() }) {
			continue
		}
		link := r.linkTo(u, said.NoFollow.Said(), time.Now())
		link.Kind = kinds.Feed
		links = append(links, link)
	}
	return links, *r.d.Run.Settings.Sitemaps, nil
}

// sitemapLinks lead to those that the robots.txt of the page's origin names, or the one that may
// be there where it names none.
func (r *reading) sitemapLinks(ctx context.Context) ([]crawl.Link, error) {
	if !*r.d.Run.Settings.Sitemaps {
		return nil, nil
	}
	rules, err := r.Store.Robots(ctx, r.url.Origin())
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
		links = append(links, r.sitemapLink(u, len(links)))
	}
	return links, nil
}

// sitemapLink leads to a sitemap, the nth of those that are named in one place. The first
// comes with the pages that are linked to there, each further one after all pages that
// are a link deeper: a site with hundreds of them is not asked for all before its pages.
func (r *reading) sitemapLink(u urls.URL, n int) crawl.Link {
	link := r.linkTo(u, false, time.Now())
	link.Kind, link.Trap, link.TrapEvidence = kinds.Sitemap, "", ""
	depth := r.d.Crawl.Depth
	if r.d.Crawl.Kind.Document() {
		depth++
	}
	link.Priority = new(max(-depth-n, priorityLeast))
	return link
}
