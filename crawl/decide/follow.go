package decide

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// FollowLinks returns the Follow for the links of a page, and whether they are stored. They are not
// stored if the publisher forbids the run's purpose. follow is nil then, and at the run's depth
// limit.
func FollowLinks(run crawl.RunFacts, c crawl.AttemptFacts, statement usage.Usage) (follow *crawl.Follow, stored bool) {
	return followAt(run, c.Depth+1, statement)
}

func followAt(run crawl.RunFacts, depth int, statement usage.Usage) (follow *crawl.Follow, stored bool) {
	if allowed, _ := usage.Allows(*run.Settings.Purpose, statement); !allowed {
		return nil, false
	}
	if maxDepth := *run.Settings.MaxDepth; maxDepth >= 0 && depth > maxDepth {
		return nil, true
	}
	return withRunScope(run, crawl.Follow{Depth: min(depth, math.MaxInt16)}), true
}

// NotFollowed explains why a run does not follow a link to a page; empty if it does.
func NotFollowed(f report.Finder) string {
	follow, _ := FollowLinks(f.Run, crawl.AttemptFacts{Depth: f.Depth}, usage.Usage{})
	switch {
	case follow == nil:
		return fmt.Sprintf("the page is more than %d links from a seed of run %s (--max-depth)", *f.Run.Settings.MaxDepth, f.Run.Name)
	case follow.SeedsOnly && !f.Run.Seed:
		return fmt.Sprintf("the domain is not a seed of run %s, which crawls no other domains (--scope)", f.Run.Name)
	case !f.HasDomain && follow.MaxSubdomains != nil && f.Subdomains >= *follow.MaxSubdomains:
		return fmt.Sprintf("run %s already has %d domains of the registered domain (max_subdomains)", f.Run.Name, f.Subdomains)
	}
	return ""
}

// FollowRedirect returns the Follow for the target of a redirect. The page's statement on its use
// does not count, because the target is judged by itself. A seed that has moved to another domain
// takes its scope along.
func FollowRedirect(run crawl.RunFacts, c crawl.AttemptFacts) *crawl.Follow {
	if c.Redirects >= *run.Settings.MaxRedirects {
		return nil
	}
	follow := crawl.Follow{Depth: c.Depth, Redirects: c.Redirects + 1, Seed: c.Depth == 0}
	switch {
	case c.Kind.Image():
		follow.Seed = false
		return imageScope(run, follow)
	case follow.Seed:
		return &follow
	}
	return withRunScope(run, follow)
}

// withRunScope limits the domains of followed links by the run's scope.
func withRunScope(run crawl.RunFacts, follow crawl.Follow) *crawl.Follow {
	follow.SeedsOnly = *run.Settings.Scope != settings.ScopeWeb
	if !follow.SeedsOnly {
		follow.MaxSubdomains = limitOrNil(int64(*run.Settings.MaxSubdomains))
	}
	return &follow
}

// FollowAnnounced returns the Follow for the pages of a sitemap or a feed. They have its distance
// from a seed, however many sitemaps lead to it, and are never seeds.
func FollowAnnounced(run crawl.RunFacts, c crawl.AttemptFacts, statement usage.Usage) (follow *crawl.Follow, stored bool) {
	return followAt(run, max(c.Depth, 1), statement)
}

// sitemapNestingMax limits the nesting of sitemaps, with redirects; sitemaps.org allows one level.
const sitemapNestingMax = 4

// FollowSitemapIndex returns the Follow for the sitemaps in a sitemap index.
func FollowSitemapIndex(run crawl.RunFacts, c crawl.AttemptFacts, statement usage.Usage) (follow *crawl.Follow, stored bool) {
	follow, stored = FollowAnnounced(run, c, statement)
	if follow == nil || c.Redirects >= sitemapNestingMax || !*run.Settings.Sitemaps {
		return nil, stored
	}
	follow.Redirects = c.Redirects + 1
	return follow, stored
}

// FollowKnown returns the Follows for a page that is not read again, and keeps its links.
func FollowKnown(run crawl.RunFacts, c crawl.AttemptFacts, statement usage.Usage) *crawl.KnownLinks {
	known := &crawl.KnownLinks{Redirect: FollowRedirect(run, c)}
	if c.Kind.Announces() {
		known.Link, _ = FollowAnnounced(run, c, statement)
		known.Sitemap, _ = FollowSitemapIndex(run, c, statement)
		return known
	}
	links, _ := FollowLinks(run, c, statement)
	known.Image, _ = FollowImages(run, c, statement)
	if *run.Settings.Sitemaps {
		known.Sitemap = links // the site's sitemaps, independent of the page's nofollow
	}
	if follow, _ := usage.FollowLinks(statement); follow {
		known.Link = links
		if *run.Settings.Feeds {
			known.Feed = links
		}
	}
	return known
}

// FollowSkipped is FollowKnown for a page that is not requested, by the publisher's last statement:
// an unreadable statement may forbid it.
func FollowSkipped(run crawl.RunFacts, c crawl.AttemptFacts) *crawl.KnownLinks {
	statement, readable := StoredUsage(c)
	known := FollowKnown(run, c, statement)
	if !readable {
		known.Link, known.Sitemap, known.Feed, known.Image = nil, nil, nil, nil
	}
	return known
}

// StoredUsage returns the publisher's statement at the last visit, and whether it is readable.
func StoredUsage(c crawl.AttemptFacts) (statement usage.Usage, readable bool) {
	if len(c.Usage) == 0 {
		return statement, true
	}
	err := json.Unmarshal(c.Usage, &statement)
	return statement, err == nil
}

// Widens reports whether new settings follow more links than the old ones: links are checked again.
func Widens(before, after settings.Settings) bool {
	deeper := exceeds(*before.MaxDepth, *after.MaxDepth)
	wider := *before.Scope != settings.ScopeWeb && *after.Scope == settings.ScopeWeb
	more := *after.Scope == settings.ScopeWeb && exceeds(*before.MaxSubdomains, *after.MaxSubdomains)
	return deeper || wider || more || *after.MaxRedirects > *before.MaxRedirects
}

// exceeds reports whether a limit exceeds another; -1 means unlimited.
func exceeds[T int | int64](before, after T) bool {
	return before != settings.Unlimited && (after == settings.Unlimited || after > before)
}
