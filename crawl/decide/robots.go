package decide

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

type robotsAnswer int

const (
	robotsUnknown robotsAnswer = iota // it must be fetched first
	robotsAllowed
	robotsRefused  // the decision is made
	robotsDeferred // likewise
)

// robots decides by the origin's robots.txt (RFC 9309 §2.3.1) and its statements on use.
func robots(f Facts, now time.Time, d *Decision) robotsAnswer {
	r := d.Crawl.Robots
	d.Prerequisite = kinds.Robots
	if r == nil || r.Verdict == crawl.RobotsUnknown || !r.ExpiresAt.After(now) || Outdated(f, r.Agent, r.Verdict) {
		d.Why = "robots.txt is fetched first"
		return robotsUnknown
	}
	refuse := func(format string, args ...any) robotsAnswer {
		d.Do, d.Outcome, d.Reason, d.Why = Refuse, crawl.OutcomeBlockedRobots, reasons.Robots, fmt.Sprintf(format, args...)
		return robotsRefused
	}
	switch r.Verdict {
	case crawl.RobotsUnreachable:
		d.Do, d.Until, d.Reason = DeferOrigin, r.ExpiresAt, reasons.Robots
		d.Why = "robots.txt: " + r.Reason
		return robotsDeferred
	case crawl.RobotsDisallowAll:
		return refuse("robots.txt: %s", r.Reason)
	case crawl.RobotsRules, crawl.RobotsAllowAll, crawl.RobotsUnknown:
	}
	if f.Ruling == nil {
		// fail closed: an unreadable robots.txt is requested again
		return robotsUnknown
	}
	if WantsTDM(*d.Run) && !r.TDMKnown {
		if f.Ruling.TDMAllowed {
			d.Prerequisite, d.Why = kinds.TDM, usage.TDMPath+" is fetched first"
			return robotsUnknown
		}
		return refuse("%s may forbid the page, but robots.txt line %d disallows reading it", usage.TDMPath, f.Ruling.TDMLine)
	}
	if !f.Ruling.Allowed {
		d.ByRule = true
		return refuse("robots.txt line %d: %s", f.Ruling.Line, f.Ruling.Rule)
	}
	if allowed, why := usage.Allows(*d.Run.Settings.Purpose, f.Ruling.Usage); !allowed {
		known, _ := usage.Allows(*d.Run.Settings.Purpose, f.Ruling.Usage.Known())
		d.ByUse = !known
		return refuse("%s", why)
	}
	d.Usage = f.Ruling.Usage
	return robotsAllowed
}

// RobotsFreshLeast is the minimum lifetime of a robots.txt, whatever its Cache-Control. A request
// for it before each page would not be polite.
const RobotsFreshLeast = 10 * time.Minute

// RereadsRobots reports whether a page's status makes a robots.txt outdated before it expires: the
// page is refused or fails, and the origin had no robots.txt at the last request. A site that
// begins to refuse may have added one. A missing page proves nothing about its site.
func RereadsRobots(r *crawl.RobotsFacts, status int, now time.Time) bool {
	if status < http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusGone {
		return false
	}
	return r != nil && r.Verdict == crawl.RobotsAllowAll && now.Sub(time.UnixMicro(r.Version)) >= RobotsFreshLeast
}

// Outdated reports whether a robots.txt was read for another product token, or by another rule.
func Outdated(f Facts, agent string, v crawl.RobotsVerdict) bool {
	return f.Agent != "" && (agent != f.Agent || v == crawl.RobotsDisallowAll && f.AllowMalformed)
}

// WantsTDM reports whether a run needs its origins' tdmrep.json, which may forbid its purpose.
func WantsTDM(run crawl.RunFacts) bool { return *run.Settings.Purpose == settings.PurposeAITrain }

const (
	// RobotsTries is the number of quick attempts at robots.txt before a deferral, or HTTP.
	RobotsTries = 4
	// SchemeHolds is the lifetime of the scheme of seeds. Later seeds use HTTPS again.
	SchemeHolds = 24 * time.Hour
)

// OriginsMax limits the origins of a domain. Beyond it, pages on new ports are skipped unless they
// are seeds. Links to 60,000 ports are cheap to write, and each costs a request for robots.txt,
// which is stored.
const OriginsMax = 16

// ports skips a page on one port too many of its host.
func ports(f Facts, d *Decision) bool {
	c := d.Crawl
	if c.Robots != nil || c.Depth == 0 || f.Domain.Origins < OriginsMax {
		return false
	}
	return d.pass(reasons.Ports, fmt.Sprintf("%d other origins of the host were requested", f.Domain.Origins))
}

// FallsBack reports whether seeds without a scheme are requested over HTTP: no attempt over HTTPS
// ever had an answer. An unresolved name proves nothing.
func FallsBack(origin string, r crawl.RobotsFacts) bool {
	return strings.HasPrefix(origin, "https://") && r.Verdict == crawl.RobotsUnreachable &&
		r.Unreached >= RobotsTries && !r.Read
}

// scheme skips a seed that is requested over HTTP instead. Other URLs keep their scheme.
func scheme(now time.Time, d *Decision) bool {
	c := d.Crawl
	if !c.Bare || c.Robots == nil || !c.Robots.ExpiresAt.After(now) || !FallsBack(c.Origin, *c.Robots) {
		return false
	}
	return d.pass(reasons.Scheme,
		"the seed names no scheme, and https is unreachable ("+c.Robots.Reason+"): http is requested instead")
}
