package explain

import (
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
			parts = append(parts, fmt.Sprintf("%d %s", o.N, o.Outcome))
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

// Tally is the outcomes, and what has become of images where there were any.
func Tally(t report.Totals) string {
	if images := ImageTotals(t); images != "" {
		return Outcomes(t) + "; images: " + images
	}
	return Outcomes(t)
}

// ImageTotals counts images, which are not among the outcomes; empty where there were none.
func ImageTotals(t report.Totals) string {
	if t.ImagesFound == 0 && t.ImagesAsked == 0 && t.ImagesStored == 0 {
		return ""
	}
	return fmt.Sprintf("named %s, %s, %d recorded",
		Count(t.ImagesFound, "time"), Count(t.ImagesAsked, "request"), t.ImagesStored)
}

// Summary tells how a run stands. call is the part of its totals that the time was
// spent on: all of it, or what one command has done.
func Summary(p report.Progress, call report.Totals, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run %s is %s", p.Name, p.Status)
	if p.Reason != "" {
		fmt.Fprintf(&b, " (%s)", OneLine(p.Reason))
	}
	fmt.Fprintf(&b, " after %s: %s of %s, %s\n", took.Round(100*time.Millisecond),
		Count(call.Requests(), "page"), Count(p.Domains, "domain"), Size(call.Bytes))
	fmt.Fprintf(&b, "  %s\n", Outcomes(call))
	if images := ImageTotals(call); images != "" {
		fmt.Fprintf(&b, "  images: %s\n", images)
	}
	for _, line := range notRequested(call) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if p.Attempts() > call.Attempts() {
		fmt.Fprintf(&b, "  in all calls: %s\n", WholeRun(p.Totals))
	}
	if p.Pending > 0 {
		fmt.Fprintf(&b, "  %s pending", Count(p.Pending, "page"))
		if p.Deferred > 0 {
			fmt.Fprintf(&b, ", %d of them deferred", p.Deferred)
		}
		fmt.Fprintln(&b)
	}
	for _, line := range keptBack(p) {
		fmt.Fprintf(&b, "  %s\n", OneLine(line))
	}
	return b.String()
}

// WholeRun is what all calls together have done of a run.
func WholeRun(t report.Totals) string {
	return fmt.Sprintf("%s, %s; %s", Count(t.Requests(), "page"), Size(t.Bytes), Tally(t))
}

// notRequested says why pages were closed without a request, and what to do about it.
func notRequested(t report.Totals) []string {
	var lines []string
	for _, rule := range t.SkipRules() {
		what := "page"
		row := rule.Reason.Row()
		if row.Of == reasons.Image {
			what = "image"
		}
		line := fmt.Sprintf("%s skipped: %s", Count(rule.Pages, what), rule.Reason)
		if row.Remedy != "" {
			line += " (" + SkipRule(rule) + ")"
		}
		lines = append(lines, line)
	}
	if t.BlockedRobots > 0 {
		lines = append(lines, Count(t.BlockedRobots, "page")+" not requested: "+robotsForbid+" (mosey why URL tells by which line)")
	}
	return lines
}

// keptBack names what keeps a run from more.
func keptBack(p report.Progress) []string {
	if p.Detail == nil {
		return nil
	}
	var lines []string
	more := func(total, shown int) {
		if total > shown {
			lines = append(lines, fmt.Sprintf("and %d more: mosey status %s names them", total-shown, p.Name))
		}
	}
	for _, t := range p.Troubled {
		lines = append(lines, Troubled(t))
	}
	more(p.TroubledTotal, len(p.Troubled))
	for _, f := range p.Forbidden {
		lines = append(lines, f.Domain+": "+OneLine(Control(f.Control)))
	}
	more(p.ForbiddenTotal, len(p.Forbidden))
	for _, domain := range p.NoFollowDomains {
		lines = append(lines, domain+": its publisher lets no link be followed (nofollow) on any page that was read; mosey why URL tells by what")
	}
	return lines
}

// Troubled says what ails a domain, and until when.
func Troubled(t report.Troubled) string {
	until := t.Until.Local().Format(time.DateTime)
	if t.State == report.TroubledRobots {
		return fmt.Sprintf("%s: its robots.txt cannot be read, and is asked for again from %s on: %s", t.Name, until, OneLine(t.Reason))
	}
	return fmt.Sprintf("%s is %s until %s: %s", t.Name, t.State, until, OneLine(t.Reason))
}

// Outage says that a worker cannot reach anything.
func Outage(o crawl.Outage) string {
	return fmt.Sprintf("seems to be down since %s, and nothing is held against sites: %s, says %s",
		o.Since.Local().Format(time.TimeOnly), OneLine(o.Reason), o.Worker)
}

// Wait says what a domain waits for.
func Wait(w report.Waiting, now time.Time) string {
	if left := w.Until.Sub(now); left > 0 && !w.InFlight {
		return fmt.Sprintf("%s for %s (%s)", w.Domain, left.Round(100*time.Millisecond), w.Reason)
	}
	return w.Domain + " is being asked"
}

// Domains says how many domains there are: of each status, or about how many where counts
// is nil.
func Domains(counts map[crawl.DomainStatus]int64, about int64) string {
	if counts == nil {
		return fmt.Sprintf("About %d domains in all.", about)
	}
	var all int64
	var parts []string
	for _, status := range crawl.DomainStatuses {
		if n := counts[status]; n > 0 {
			all += n
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return Count(all, "domain") + " in all: " + strings.Join(parts, ", ") + "."
}
