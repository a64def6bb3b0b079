package decide

import (
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// FallsBack reports whether what a domain's origin has of pages that were seeded
// without a scheme is asked by http: https was tried, and could never be reached. An
// answer of whatever kind says that https is served.
func FallsBack(dom crawl.DomainFacts, origin string, r crawl.RobotsFacts) bool {
	return dom.Bare && strings.HasPrefix(origin, "https://") &&
		r.Verdict == crawl.RobotsUnreachable && !r.Answered && !r.Read
}

// scheme passes a seed over that is asked by http instead.
func scheme(f Facts, d *Decision) bool {
	c := d.Crawl
	if c.Depth > 0 || c.Robots == nil || !FallsBack(f.Domain, c.Origin, *c.Robots) {
		return false
	}
	return d.pass(crawl.ReasonScheme,
		"it was seeded without https://, which cannot be reached ("+c.Robots.Reason+"): http is asked instead")
}
