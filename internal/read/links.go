package read

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
)

// links returns the links of a page in their recorded order: sitemaps and feeds first, links that
// no reader sees last. The second result is the one of announcers.
func (r *reading) links(ctx context.Context, page extract.Page, pageUsage usage.Usage) ([]crawl.Link, bool, error) {
	now := time.Now()
	links, allSitemaps, err := r.announcerLinks(ctx, page, pageUsage)
	if err != nil {
		return nil, false, err
	}
	other := make(map[string]bool, len(links)+len(page.Images)) // not worth a request as pages
	for _, l := range links {
		other[l.URL] = true
	}
	for _, i := range page.Images {
		other[i.URL.String()] = true
	}
	links = slices.Grow(links, len(page.Links))
	var invisible []crawl.Link
	for _, l := range page.Links {
		if len(other) > 0 && other[l.URL.String()] {
			continue
		}
		link := r.linkTo(urls.Spelt{URL: l.URL, Target: l.Target}, l.NoFollow || pageUsage.NoFollow.IsSet(), now)
		link.Rel, link.Anchor = l.Rel, l.Anchor
		if l.Rel.InHead() {
			invisible = append(invisible, link)
			continue
		}
		links = append(links, link)
	}
	return append(links, invisible...), allSitemaps, nil
}

func (r *reading) linkTo(to urls.Spelt, nofollow bool, now time.Time) crawl.Link {
	u := to.URL
	trap, _ := traps.Find(u, now)
	return crawl.Link{
		URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), Patterns: traps.Patterns(u), RequestTarget: to.Target, NoFollow: nofollow,
		Registered: r.registered(u), Trap: trap.Rule, TrapEvidence: trap.Evidence,
	}
}

// registered returns the registered domain that a link's domain is part of. It is empty for a
// registered domain itself, and for the page's own domain.
func (r *reading) registered(u urls.URL) string {
	if u.Domain() == r.url.Domain() {
		return ""
	}
	return u.RegisteredParent()
}

// announcesFeeds reports whether the page may name the sitemaps and feeds of its site: it is a
// seed, or the front page of its origin. Other pages name the same, or feeds of a few pages.
func (r *reading) announcesFeeds() bool {
	return r.d.Attempt.Kind.Document() && (r.d.Attempt.Depth == 0 || r.url.RequestTarget() == "/")
}

// announcerLinks returns the sitemaps and feeds that a page names, and whether the list is
// complete.
func (r *reading) announcerLinks(ctx context.Context, page extract.Page, pageUsage usage.Usage) (links []crawl.Link, all bool, err error) {
	if !r.announcesFeeds() {
		return nil, false, nil
	}
	links, err = r.sitemapLinks(ctx)
	if err != nil || !*r.d.Run.Settings.Feeds {
		return links, false, err
	}
	for _, raw := range page.Feeds {
		u, err := urls.Spelt{}.Resolve(raw)
		if err != nil || slices.ContainsFunc(links, func(l crawl.Link) bool { return l.URL == u.String() }) {
			continue
		}
		link := r.linkTo(u, pageUsage.NoFollow.IsSet(), time.Now())
		link.Kind = kinds.Feed
		links = append(links, link)
	}
	return links, *r.d.Run.Settings.Sitemaps, nil
}

// sitemapNames returns the sitemaps of the page's origin: the ones in its robots.txt, or else the
// guessed one. It returns nothing if the rules are lost.
func (r *reading) sitemapNames(ctx context.Context) (names []string, guessed bool, err error) {
	if r.d.Attempt.Robots == nil {
		return nil, false, nil
	}
	names, err = r.Rules.Sitemaps(ctx, r.url.Origin(), r.d.Attempt.Robots.Version)
	switch {
	case errors.Is(err, crawl.ErrNotFound):
		return nil, false, nil // lost since; the next visit reads them
	case err != nil:
		return nil, false, err
	case len(names) == 0:
		return []string{r.url.Origin() + sitemapPath}, true, nil
	}
	return names, false, nil
}

func (r *reading) sitemapLinks(ctx context.Context) ([]crawl.Link, error) {
	if !*r.d.Run.Settings.Sitemaps {
		return nil, nil
	}
	names, _, err := r.sitemapNames(ctx)
	if err != nil {
		return nil, err
	}
	links := make([]crawl.Link, 0, len(names))
	for _, name := range names {
		u, err := urls.Spelt{}.Resolve(name)
		if err != nil || u.URL == r.url || slices.ContainsFunc(links, func(l crawl.Link) bool { return l.URL == u.String() }) {
			continue
		}
		links = append(links, r.sitemapLink(u))
	}
	return links, nil
}

// sitemapLink returns a link to a sitemap. A page's sitemaps come before its other links, in their
// order: each comes later than the one before (sitemap_priority in the database).
func (r *reading) sitemapLink(to urls.Spelt) crawl.Link {
	link := r.linkTo(to, false, time.Now())
	link.Kind, link.Trap, link.TrapEvidence = kinds.Sitemap, "", ""
	return link
}
