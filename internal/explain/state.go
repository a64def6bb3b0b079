package explain

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
)

// Moves says what a run is doing, and what it waits for.
func Moves(p report.Progress, now time.Time) (lines []string) {
	for _, o := range p.Outages {
		lines = append(lines, "the network "+Outage(o))
	}
	if p.Status != crawl.RunRunning {
		return lines
	}
	if p.Limited != nil {
		lines = append(lines, Limited(*p.Limited))
	}
	lines = append(lines, fmt.Sprintf("%s active, %s in flight", Count(p.Active, "domain"), Count(p.InFlight, "page")))
	for _, wait := range p.Waiting {
		lines = append(lines, Wait(wait, now))
	}
	return append(lines, standsStill(p, now)...)
}

// Limited says that requests wait for the limit of all workers.
func Limited(u report.FleetUse) string {
	text := fmt.Sprintf("%s waiting for others to end: all workers together may have %d in flight (mosey workers)",
		Count(u.Waiting, "request"), u.MaxFetches)
	if u.Reason != "" {
		text += ", for: " + u.Reason
	}
	return text
}

// KeywordsWaiting says how many pages are not found by a search yet.
func KeywordsWaiting(waiting int) string {
	many := Count(int64(waiting), "page")
	if waiting >= report.KeywordsBound {
		many += " or more"
	}
	return many + " fetched and not found by a search yet: a worker writes their keywords, within seconds unless the crawl is faster"
}

// standsStill says why domains of a run are not asked, and until when.
func standsStill(p report.Progress, now time.Time) (lines []string) {
	switch {
	case p.OpensAt.After(now):
		lines = append(lines, "the window of the run is closed"+Until(p.OpensAt))
	case p.Due > 0 && p.Active == 0 && now.Sub(p.LookedAt) > 2*time.Minute:
		lines = append(lines, fmt.Sprintf("%s due, and nobody crawls: mosey up, or mosey crawl --run %s", Count(p.Due, "domain"), p.Name))
	case p.Due >= crawl.LeftBound:
		lines = append(lines, fmt.Sprintf("%d domains or more are due and wait for a place (max_active_domains)", p.Due))
	case p.Due > 0:
		lines = append(lines, Count(p.Due, "domain")+" due, and started within a minute")
	case p.Active == 0 && len(p.NotDue) == 0:
		lines = append(lines, "nothing is due")
	}
	for _, n := range p.NotDue {
		lines = append(lines, fmt.Sprintf("%s not asked%s: %s (such as %s)",
			Count(n.Domains, "domain"), Until(n.Until), NotDue(n.Reason), OneLine(n.Domain)))
	}
	return lines
}

// Until says until when something is waited for; a time of zero is not known, and nothing
// is said.
func Until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + Stamp(at)
}

// NotDue says in words why a domain is not due.
func NotDue(why reasons.Reason) string { return cmp.Or(why.Row().Words, string(why)) }

// Attempt is how one stands, in a word or two.
func Attempt(c report.Crawl) string {
	switch {
	case c.Skipped != "":
		return "skipped (" + string(c.Skipped) + ")"
	case c.Outcome == "" && !c.LockedAt.IsZero():
		return "in flight"
	case c.Outcome == "":
		return "pending"
	case c.Unchanged != "":
		return fmt.Sprintf("%s %d, unchanged (%s)", c.Outcome, c.StatusCode, c.Unchanged)
	case c.Truncated:
		return fmt.Sprintf("%s %d, cut off: the page is too long", c.Outcome, c.StatusCode)
	case c.StatusCode != 0:
		return fmt.Sprintf("%s %d", c.Outcome, c.StatusCode)
	default:
		return string(c.Outcome)
	}
}
