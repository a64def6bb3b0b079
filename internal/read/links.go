package read

import (
	"context"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
)

// links are the links of a page as they are recorded: sitemaps and feeds come
// first, and what no reader sees comes last. The second value is that of announcers.
func (r *reading) links(ctx context.Context, page extract.Page, said usage.Usage) ([]crawl.Link, bool, error) {
	now := time.Now()
	links, allSitemaps, err := r.announcers(ctx, page, said)
	if err != nil {
		return nil, false, err
	}
	other := make(map[string]bool, len(links)+len(page.Images)+1) // as pages they are not worth a request
	for _, l := range links {
		other[l.URL] = true
	}
	wanted := *r.d.Run.Settings.Favicons && page.Icon != (urls.URL{})
	if wanted {
		other[page.Icon.String()] = true
	}
	for _, i := range page.Images {
		other[i.URL.String()] = true
	}
	links = slices.Grow(links, len(page.Links)+1)
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
	links = append(links, unseen...)
	if wanted {
		icon := r.linkTo(page.Icon, said.NoFollow.Said(), now)
		icon.Kind = kinds.Favicon
		links = append(links, icon)
	}
	return links, allSitemaps, nil
}

// linkTo is a link as it is recorded.
func (r *reading) linkTo(u urls.URL, nofollow bool, now time.Time) crawl.Link {
	trap, _ := traps.Find(u, now)
	return crawl.Link{
		URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), Patterns: traps.Patterns(u), NoFollow: nofollow,
		Registered: r.registered(u), Trap: trap.Kind, TrapEvidence: trap.Evidence,
	}
}

// registered is the registered domain that what a page leads to is part of; empty where it
// is one, or where the page's own domain is led to.
func (r *reading) registered(u urls.URL) string {
	if u.Domain() == r.url.Domain() {
		return ""
	}
	return u.PartOf()
}
