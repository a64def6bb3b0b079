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

type robotsDecision int

const (
	robotsUnknown robotsDecision = iota // it must be fetched first
	robotsAllowed
	robotsRefused  // the decision is made
	robotsDeferred // likewise
)

// decideRobots decides by the origin's robots.txt (RFC 9309 §2.3.1) and its statements on use.
func decideRobots(f Facts, now time.Time, d *Decision) robotsDecision {
	r := d.Attempt.Robots
	d.Prerequisite = kinds.Robots
	if r == nil || r.Verdict == crawl.RobotsUnknown || !r.ExpiresAt.After(now) || Outdated(f, r.Agent, r.Verdict) {
		d.Explanation = "robots.txt is fetched first"
		return robotsUnknown
	}
	refuse := func(format string, args ...any) robotsDecision {
		d.Action, d.Outcome, d.Reason, d.Explanation = Refuse, crawl.OutcomeBlockedRobots, reasons.Robots, fmt.Sprintf(format, args...)
		return robotsRefused
	}
	switch r.Verdict {
	case crawl.RobotsUnreachable:
		d.Action, d.Until, d.Reason = DeferOrigin, r.ExpiresAt, reasons.Robots
		d.Explanation = "robots.txt: " + r.Reason
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
			d.Prerequisite, d.Explanation = kinds.TDM, usage.TDMPath+" is fetched first"
			return robotsUnknown
		}
		return refuse("%s may forbid the page, but robots.txt line %d disallows reading it", usage.TDMPath, f.Ruling.TDMLine)
	}
	if !f.Ruling.Allowed {
		d.ByRule = true
		return refuse("robots.txt line %d: %s", f.Ruling.Line, f.Ruling.Rule)
	}
	if allowed, explanation := usage.Allows(*d.Run.Settings.Purpose, f.Ruling.Usage); !allowed {
		allowedWithoutUnread, _ := usage.Allows(*d.Run.Settings.Purpose, f.Ruling.Usage.WithoutUnread())
		d.ByUsage = !allowedWithoutUnread
		return refuse("%s", explanation)
	}
	if f.Ruling.WantsMissing {
		d.Prerequisite, d.Explanation = kinds.Missing, "a page that does not exist is requested first, because different URLs give the same text"
		return robotsUnknown
	}
	d.Usage, d.Missing = f.Ruling.Usage, f.Ruling.Missing
	return robotsAllowed
}

// RobotsLifetimeMin is the minimum lifetime of a robots.txt, whatever its Cache-Control. A request
// for it before each page would not be polite.
const RobotsLifetimeMin = 10 * time.Minute

// ShouldRefetchRobots reports whether a page's status makes a robots.txt outdated before it
// expires: the page is refused or fails, and the origin had no robots.txt at the last request. A
// site that begins to refuse may have added one. A missing page proves nothing about its site.
func ShouldRefetchRobots(r *crawl.RobotsFacts, status int, now time.Time) bool {
	if status < http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusGone {
		return false
	}
	return r != nil && r.Verdict == crawl.RobotsAllowAll && now.Sub(time.UnixMicro(r.Version)) >= RobotsLifetimeMin
}

// Outdated reports whether a robots.txt was read for another product token, or by another rule.
func Outdated(f Facts, agent string, v crawl.RobotsVerdict) bool {
	return f.Agent != "" && (agent != f.Agent || v == crawl.RobotsDisallowAll && f.AllowMalformed)
}

// WantsTDM reports whether a run needs its origins' tdmrep.json, which may forbid its purpose.
func WantsTDM(run crawl.RunFacts) bool { return *run.Settings.Purpose == settings.PurposeAITrain }

// MissingInterval is the least time between two requests for an origin's missing page.
const MissingInterval = 24 * time.Hour

const (
	// RobotsAttempts is the number of quick attempts at robots.txt before a deferral, or HTTP.
	RobotsAttempts = 4
	// SchemeLifetime is the lifetime of the scheme of seeds. Later seeds use HTTPS again.
	SchemeLifetime = 24 * time.Hour
)

// OriginsMax limits the origins of a domain. Beyond it, pages on new ports are skipped unless they
// are seeds. Links to 60,000 ports are cheap to write, and each costs a request for robots.txt,
// which is stored.
const OriginsMax = 16

// skipExtraPort skips a page on one port too many of its host.
func skipExtraPort(f Facts, d *Decision) bool {
	c := d.Attempt
	if c.Robots != nil || c.Depth == 0 || f.Domain.Origins < OriginsMax {
		return false
	}
	return d.skipWith(reasons.Ports, fmt.Sprintf("%d other origins of the host were requested", f.Domain.Origins))
}

// FallsBackToHTTP reports whether seeds without a scheme are requested over HTTP: no attempt over
// HTTPS ever had a response. An unresolved name proves nothing.
func FallsBackToHTTP(origin string, r crawl.RobotsFacts) bool {
	return strings.HasPrefix(origin, "https://") && r.Verdict == crawl.RobotsUnreachable &&
		r.UnansweredCount >= RobotsAttempts && !r.WasRead
}

// skipSchemeless skips a seed that is requested over HTTP instead. Other URLs keep their scheme.
func skipSchemeless(now time.Time, d *Decision) bool {
	c := d.Attempt
	if !c.Schemeless || c.Robots == nil || !c.Robots.ExpiresAt.After(now) || !FallsBackToHTTP(c.Origin, *c.Robots) {
		return false
	}
	return d.skipWith(reasons.Scheme,
		"the seed names no scheme, and https is unreachable ("+c.Robots.Reason+"): http is requested instead")
}
