package decide

import (
	"math"

	"github.com/mosey-web/mosey/crawl"
)

// FollowLinks says how the links of a crawl's page become part of its run; nil is
// not at all: its depth is reached.
func FollowLinks(run crawl.RunFacts, c crawl.CrawlFacts) *crawl.Follow {
	if depth := *run.Settings.MaxDepth; depth >= 0 && c.Depth >= depth {
		return nil
	}
	return &crawl.Follow{
		Depth: min(c.Depth+1, math.MaxInt16), SeedsOnly: *run.Settings.Scope != crawl.ScopeWeb,
	}
}

// FollowRedirect says it for the target of a redirect. A seed that has moved to
// another domain takes its scope along.
func FollowRedirect(run crawl.RunFacts, c crawl.CrawlFacts) *crawl.Follow {
	if c.Redirects >= *run.Settings.MaxRedirects {
		return nil
	}
	moved := c.Depth == 0
	return &crawl.Follow{
		Depth: c.Depth, Redirects: c.Redirects + 1, Seed: moved,
		SeedsOnly: !moved && *run.Settings.Scope != crawl.ScopeWeb,
	}
}

// FollowKnown says it for a page that is not read again: what it linked to at its
// last visit, it links to now.
func FollowKnown(run crawl.RunFacts, c crawl.CrawlFacts) *crawl.KnownLinks {
	return &crawl.KnownLinks{Link: FollowLinks(run, c), Redirect: FollowRedirect(run, c)}
}
