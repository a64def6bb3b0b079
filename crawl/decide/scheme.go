package decide

import (
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
)

const (
	// RobotsTries is how often an unreachable robots.txt is tried in quick succession
	// before its origin is put off, and before http is asked in place of https.
	RobotsTries = 4
	// SchemeHolds is for how long seeds without a scheme go by what was found out before, as
	// long as by a robots.txt. Later ones are asked by https again.
	SchemeHolds = 24 * time.Hour
)

// FallsBack reports whether seeds without a scheme are asked by http in place of an origin:
// https was given all its tries and had no answer of any kind, and was never read. A name
// that cannot be resolved says nothing of the scheme.
func FallsBack(origin string, r crawl.RobotsFacts) bool {
	return strings.HasPrefix(origin, "https://") && r.Verdict == crawl.RobotsUnreachable &&
		r.Unreached >= RobotsTries && !r.Read
}

// scheme passes a seed over that is asked by http instead. What a link or a redirect leads
// to, and a seed of https://, is asked as it stands.
func scheme(now time.Time, d *Decision) bool {
	c := d.Crawl
	if !c.Bare || c.Robots == nil || !c.Robots.ExpiresAt.After(now) || !FallsBack(c.Origin, *c.Robots) {
		return false
	}
	return d.pass(reasons.Scheme,
		"it was seeded without https://, which cannot be reached ("+c.Robots.Reason+"): http is asked instead")
}
