package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
)

// Outcomes lists the outcomes that occurred.
func Outcomes(t report.Totals) string {
	var parts []string
	for _, o := range t.Outcomes() {
		if o.N > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", o.N, o.Outcome.Word(0)))
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

// failures names the commands that list failed attempts, or returns an empty string.
func failures(t report.Totals) string {
	var commands []string
	for _, o := range t.Outcomes() {
		switch o.Outcome {
		case crawl.OutcomeBlocked4xx, crawl.OutcomeBlocked5xx, crawl.OutcomeTimeout, crawl.OutcomeFailed:
			if o.N > 0 {
				commands = append(commands, "mosey crawls --outcome "+string(o.Outcome))
			}
		case crawl.OutcomeSuccess, crawl.OutcomeBlockedRobots, crawl.OutcomeSkipped:
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return "; failures: " + strings.Join(commands, ", ")
}

// Tally lists the outcomes, and the totals of images, if any.
func Tally(t report.Totals) string {
	if images := ImageTotals(t); images != "" {
		return Outcomes(t) + "; images: " + images
	}
	return Outcomes(t)
}

// ImageTotals counts images, which have no outcomes. It is empty without images.
func ImageTotals(t report.Totals) string {
	if t.ImagesFound == 0 && t.ImageRequests == 0 && t.ImagesStored == 0 {
		return ""
	}
	return fmt.Sprintf("named %s, %s, %d recorded",
		Count(t.ImagesFound, "time"), Count(t.ImageRequests, "request"), t.ImagesStored)
}

// Summary reports the state of a run. totals are the totals of a run or a command, and took is
// their time.
func Summary(p report.Progress, totals report.Totals, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run %s is %s", p.Name, p.Status)
	b.WriteString(reasonClause(p.Run))
	fmt.Fprintf(&b, " after %s: %s of %s, %s, %s\n", took.Round(100*time.Millisecond),
		Count(totals.Success, "page"), Count(p.Domains, "domain"), Count(totals.Requests(), "request"), Size(totals.Bytes))
	fmt.Fprintf(&b, "  %s%s\n", Outcomes(totals), failures(totals))
	if images := ImageTotals(totals); images != "" {
		fmt.Fprintf(&b, "  images: %s\n", images)
	}
	for _, line := range UnreadReasons(totals) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if p.Attempts() > totals.Attempts() {
		fmt.Fprintf(&b, "  all calls: %s\n", WholeRun(p.Totals))
	}
	if p.Pending > 0 {
		fmt.Fprintf(&b, "  %s left", Count(p.Pending, "page"))
		switch at := nextDue(p); {
		case p.Deferred == p.Pending && !at.IsZero():
			fmt.Fprintf(&b, ", retried from %s on", Stamp(at))
		case p.Deferred > 0 && !at.IsZero():
			fmt.Fprintf(&b, ", %d of them retried from %s on", p.Deferred, Stamp(at))
		case p.Deferred > 0:
			fmt.Fprintf(&b, ", %d of them deferred", p.Deferred)
		}
		fmt.Fprintln(&b)
	}
	for _, line := range limitNotices(p) {
		fmt.Fprintf(&b, "  %s\n", OneLine(line))
	}
	return b.String()
}

// nextDue returns the earliest end of a wait of the run's domains; zero if none is known.
func nextDue(p report.Progress) (at time.Time) {
	for _, n := range p.NotDue {
		if !n.Until.IsZero() && (at.IsZero() || n.Until.Before(at)) {
			at = n.Until
		}
	}
	return at
}

// WholeRun describes the totals of all calls of a run.
func WholeRun(t report.Totals) string {
	return fmt.Sprintf("%s, %s, %s; %s", Count(t.Success, "page"), Count(t.Requests(), "request"), Size(t.Bytes), Tally(t))
}

// UnreadReasons explains pages without a request and responses without content, with remedies.
func UnreadReasons(t report.Totals) []string {
	var lines []string
	for _, rule := range t.SkipRules() {
		noun, outcome := "page", "skipped"
		row := rule.Reason.Row()
		switch row.Subject { //nolint:exhaustive // the others are of pages
		case reasons.Image:
			noun = "image"
		case reasons.Response:
			noun, outcome = "response", "without content"
		}
		line := fmt.Sprintf("%s %s: %s", Count(rule.Pages, noun), outcome, rule.Reason)
		if row.Remedy != "" {
			line += " (" + SkipRule(rule) + ")"
		}
		lines = append(lines, line)
	}
	if t.BlockedRobots > 0 {
		lines = append(lines, Count(t.BlockedRobots, "page")+" not requested: "+robotsForbidReason+" (mosey why URL shows the line)")
	}
	return lines
}

// limitNotices names the limits of a run.
func limitNotices(p report.Progress) []string {
	if p.Detail == nil {
		return nil
	}
	var lines []string
	more := func(total, shown int) {
		if total > shown {
			lines = append(lines, fmt.Sprintf("and %d more: mosey status %s lists them", total-shown, p.Name))
		}
	}
	for _, t := range p.Obstacles {
		lines = append(lines, DomainFailure(t))
	}
	more(p.ObstacleTotal, len(p.Obstacles))
	for _, f := range p.Forbidden {
		lines = append(lines, f.Domain+": "+OneLine(Control(f.Control, time.Local)))
	}
	more(p.ForbiddenTotal, len(p.Forbidden))
	for _, domain := range p.NoFollowDomains {
		lines = append(lines, domain+": its publisher forbids following links (nofollow) on every page read; mosey why URL shows the source")
	}
	return lines
}

// DomainFailure describes the failure of a domain, and its end.
func DomainFailure(t report.Obstacle) string {
	until := Stamp(t.Until)
	if t.State == report.ObstacleRobots {
		return fmt.Sprintf("%s: robots.txt is unreachable. Mosey requests it again from %s on, or at once after mosey retry %s: %s",
			t.Name, until, t.Domain, OneLine(t.Reason))
	}
	return fmt.Sprintf("%s is %s until %s: %s", t.Name, t.State, until, OneLine(t.Reason))
}

// Outage reports that a worker has no network.
func Outage(o crawl.Outage, zone *time.Location) string {
	return fmt.Sprintf("seems to be down since %s, so that failures are not counted against sites: %s (worker %s)",
		StampIn(o.Since, zone), OneLine(o.Reason), o.Worker)
}

// Wait describes the wait of an active domain.
func Wait(w report.WaitingDomain, now time.Time) string {
	switch left := w.Until.Sub(now); {
	case w.InFlight:
		return "a request to " + w.Domain + " is in flight"
	case w.Until.IsZero():
		return fmt.Sprintf("%s (%s)", w.Domain, w.Reason)
	case left > 0:
		return fmt.Sprintf("%s for %s (%s)", w.Domain, left.Round(100*time.Millisecond), w.Reason)
	}
	return w.Domain + " may be requested now"
}

// NoWorker reports that no worker runs. seen is the last sign of a worker; zero means never.
func NoWorker(seen time.Time, zone *time.Location) string {
	if seen.IsZero() {
		return "No worker has run yet"
	}
	return "No worker has run since " + StampIn(seen, zone)
}

// noWorkerNotice reports that no worker serves a run, and how to resume it; empty if one does.
func noWorkerNotice(p report.Progress, zone *time.Location) string {
	if p.Workers > 0 {
		return ""
	}
	return NoWorker(p.WorkerSeenAt, zone) + ". To resume: mosey crawl --run " + p.Name
}

// DomainReason explains a domain's status, and names the placeholders in place of its pages.
func DomainReason(d report.DomainListing) string {
	switch {
	case d.Placeholder == "":
		return d.Reason
	case d.Reason == "":
		return string(d.Placeholder)
	}
	return string(d.Placeholder) + "; " + d.Reason
}

// Domains counts domains by status, or estimates their number if counts is nil.
func Domains(counts map[crawl.DomainStatus]int64, about int64) string {
	if counts == nil {
		return fmt.Sprintf("About %d domains in total.", about)
	}
	var all int64
	var parts []string
	for _, status := range crawl.DomainStatuses {
		if n := counts[status]; n > 0 {
			all += n
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return Count(all, "domain") + " in total: " + strings.Join(parts, ", ") + "."
}

// Moves describes the activity and the waits of a run.
func Moves(p report.Progress, now time.Time) (lines []string) {
	for _, o := range p.Outages {
		lines = append(lines, "the network "+Outage(o, now.Location()))
	}
	if p.Status != crawl.RunRunning {
		return lines
	}
	if noWorker := noWorkerNotice(p, now.Location()); noWorker != "" {
		return append(append(lines, noWorker), idleReasons(p, now)...)
	}
	if p.Limited != nil {
		lines = append(lines, Limited(*p.Limited))
	}
	lines = append(lines, fmt.Sprintf("%s active, %s in flight", Count(p.Active, "domain"), Count(p.InFlight, "request")))
	for _, wait := range p.Waiting {
		lines = append(lines, Wait(wait, now))
	}
	return append(lines, idleReasons(p, now)...)
}

// Limited reports that requests wait for the limit of all workers.
func Limited(u report.FleetUse) string {
	text := fmt.Sprintf("%s waiting for capacity: the limit of all workers is %d in flight (mosey workers)",
		Count(u.Waiting, "request"), u.MaxFetches)
	if u.Reason != "" {
		text += ", reason: " + u.Reason
	}
	return text
}

// KeywordsWaiting counts the pages that are not searchable yet.
func KeywordsWaiting(waiting int) string {
	count := Count(int64(waiting), "page")
	if waiting >= report.KeywordsBound {
		count += " or more"
	}
	if waiting == 1 {
		return count + " is still being indexed"
	}
	return count + " are still being indexed"
}

// idleReasons explains why a run does not request domains, and until when.
func idleReasons(p report.Progress, now time.Time) (lines []string) {
	maxPages := p.Settings.MaxPages
	isPageLimitReached := maxPages != nil && *maxPages >= 0 && p.PagesStarted >= *maxPages
	switch {
	case p.WindowOpensAt.After(now):
		lines = append(lines, "the request window of the run is closed"+Until(p.WindowOpensAt, now.Location()))
	case p.Due > 0 && p.Workers == 0:
		lines = append(lines, Count(p.Due, "domain")+" due")
	case p.Due > 0 && p.Active == 0 && now.Sub(p.CheckedAt) > 2*time.Minute:
		lines = append(lines, fmt.Sprintf("%s due, but no worker crawls: run mosey up, or mosey crawl --run %s", Count(p.Due, "domain"), p.Name))
	case p.Due >= crawl.RemainingWorkBound:
		lines = append(lines, fmt.Sprintf("%d domains or more are due and wait for capacity (max_active_domains)", p.Due))
	case p.Due > 0:
		lines = append(lines, Count(p.Due, "domain")+" due, starting within a minute")
	case p.Active > 0 || len(p.NotDue) > 0:
	case p.SpentBudget != "" || isPageLimitReached:
		lines = append(lines, fmt.Sprintf("the run has reached its limit (max_%s)", cmp.Or(string(p.SpentBudget), "pages")))
	case p.ClaimedElsewhere > 0:
		lines = append(lines, Count(p.ClaimedElsewhere, "domain")+" of this run alternate with other runs")
	case p.Pending > 0:
		lines = append(lines, Count(p.Pending, "page")+" pending")
	default:
		lines = append(lines, "no page is pending")
	}
	for _, n := range p.NotDue {
		lines = append(lines, fmt.Sprintf("%s not requested%s: %s (such as %s)",
			Count(n.Domains, "domain"), Until(n.Until, now.Location()), NotDueReason(n.Reason), OneLine(n.Domain)))
	}
	return lines
}

// Until names the end of a wait. It is empty if at is zero, which means unknown.
func Until(at time.Time, zone *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return " until " + StampIn(at, zone)
}

// NotDueReason explains why a domain is not due.
func NotDueReason(reason reasons.Reason) string {
	return cmp.Or(reason.Row().Explanation, string(reason))
}

// Attempt describes the state of an attempt in a word or two.
func Attempt(c report.Attempt) string {
	word := c.Outcome.Word(c.StatusCode)
	switch {
	case c.Skipped != "" && c.Outcome == crawl.OutcomeSuccess:
		return fmt.Sprintf("%s %d, nothing extracted (%s)", word, c.StatusCode, c.Skipped)
	case c.Skipped.Row().IsWall:
		return fmt.Sprintf("%s %d (%s)", word, c.StatusCode, c.Skipped)
	case c.Skipped != "":
		return "skipped (" + string(c.Skipped) + ")"
	case c.Outcome == "" && !c.LockedAt.IsZero():
		return "in flight"
	case c.Outcome == "":
		return "pending"
	case c.Unchanged != "":
		return fmt.Sprintf("%s %d, unchanged (%s)", word, c.StatusCode, c.Unchanged)
	case c.Truncated:
		return fmt.Sprintf("%s %d, truncated: the page is too long", word, c.StatusCode)
	case c.StatusCode != 0:
		return fmt.Sprintf("%s %d", word, c.StatusCode)
	default:
		return word
	}
}
