package explain

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
)

// answer puts a decision in words.
func answer(d decide.Decision, now time.Time) string {
	until := ""
	if !d.Until.IsZero() {
		until = fmt.Sprintf(" until %s, in %s", Stamp(d.Until), d.Until.Sub(now).Round(100*time.Millisecond))
	}
	switch d.Do {
	case decide.Request:
		return "pending: it will be requested in its turn"
	case decide.FetchPrerequisite, decide.Probe:
		return "pending: " + d.Why
	case decide.Skip:
		return "pending, but it will be skipped: " + d.Why
	case decide.Refuse:
		return "pending, but its publisher forbids it: " + d.Why
	case decide.DeferOrigin:
		return "pending, but put off" + until + ": " + d.Why
	case decide.DeferDomain:
		return "its domain is deferred" + until + " (" + string(d.Reason) + ")"
	case decide.Wait:
		switch {
		case d.Reason == reasons.InFlight && d.Crawl != nil && d.Crawl.LockedAt.IsZero():
			return "pending: a request to its domain is in flight just now"
		case d.Reason == reasons.InFlight:
			return "in flight: " + d.Why
		case d.Until.IsZero():
			return "waiting: " + d.Why
		}
		return fmt.Sprintf("waiting%s: %s (%s)", until, d.Why, d.Reason)
	case decide.Finish, decide.Done:
	}
	switch d.Reason { //nolint:exhaustive // the others are not waited for
	case reasons.Scheduled:
		return "waiting" + until + ": " + d.Why
	case reasons.Window:
		return fmt.Sprintf("waiting%s: %s (%s)", until, d.Why, d.Reason)
	}
	return "not crawled" + until + ": " + d.Why
}

// Ruling says what robots.txt says of a page, and by which line.
func Ruling(r decide.Ruling) string {
	switch {
	case r.Rule == "" && r.Allowed:
		return "robots.txt allows it: no line matches"
	case r.Allowed:
		return fmt.Sprintf("robots.txt allows it by line %d: %s", r.Line, r.Rule)
	default:
		return fmt.Sprintf("robots.txt forbids it by line %d: %s", r.Line, r.Rule)
	}
}

// Robots says what is known of a robots.txt, and until when that holds.
func Robots(r report.Robots) string {
	line := fmt.Sprintf("robots.txt of %s: %s", r.Origin, r.Verdict)
	if r.CrawlDelay != nil {
		line += ", crawl-delay " + r.CrawlDelay.String()
	}
	if r.VisitTimes != "" {
		line += ", " + windowLine("visits only", r.VisitTimes)
	}
	if r.Reason != "" {
		line += " (" + r.Reason + ")"
	}
	if time.Until(r.ExpiresAt) <= 0 {
		return line + "; expired on " + Stamp(r.ExpiresAt) + " and is fetched again before the next page"
	}
	return line + "; holds until " + Stamp(r.ExpiresAt)
}
