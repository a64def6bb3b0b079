package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
)

// outcomes lists the outcomes that occurred.
func outcomes(t report.Totals) string {
	var parts []string
	for _, o := range []struct {
		n    int64
		name crawl.Outcome
	}{
		{t.Success, crawl.OutcomeSuccess},
		{t.BlockedRobots, crawl.OutcomeBlockedRobots},
		{t.Blocked4xx, crawl.OutcomeBlocked4xx},
		{t.Blocked5xx, crawl.OutcomeBlocked5xx},
		{t.Timeout, crawl.OutcomeTimeout},
		{t.Failed, crawl.OutcomeFailed},
		{t.Skipped, "skipped"},
	} {
		if o.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", o.n, o.name))
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

// tally is the outcomes, and what has become of images where there were any.
func tally(t report.Totals) string {
	if images := imageTotals(t); images != "" {
		return outcomes(t) + "; images: " + images
	}
	return outcomes(t)
}

// imageTotals counts images, which are not among the outcomes; empty where there were none.
func imageTotals(t report.Totals) string {
	if t.ImagesFound == 0 && t.ImagesAsked == 0 && t.ImagesStored == 0 {
		return ""
	}
	return fmt.Sprintf("named %s, %s, %d recorded", count(t.ImagesFound, "time"), count(t.ImagesAsked, "request"), t.ImagesStored)
}

// summary tells how a run stands. call is the part of its totals that the time was
// spent on: all of it, or what one command has done.
func summary(p report.Progress, call report.Totals, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run %s is %s", p.Name, p.Status)
	if p.Reason != "" {
		fmt.Fprintf(&b, " (%s)", oneLine(p.Reason))
	}
	fmt.Fprintf(&b, " after %s: %s of %s, %s\n", took.Round(100*time.Millisecond),
		count(call.Requests(), "page"), count(p.Domains, "domain"), size(call.Bytes))
	fmt.Fprintf(&b, "  %s\n", outcomes(call))
	if images := imageTotals(call); images != "" {
		fmt.Fprintf(&b, "  images: %s\n", images)
	}
	for _, line := range notRequested(call) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if p.Attempts() > call.Attempts() {
		fmt.Fprintf(&b, "  in all calls: %s\n", wholeRun(p.Totals))
	}
	if p.Pending > 0 {
		fmt.Fprintf(&b, "  %s pending", count(p.Pending, "page"))
		if p.Deferred > 0 {
			fmt.Fprintf(&b, ", %d of them deferred", p.Deferred)
		}
		fmt.Fprintln(&b)
	}
	for _, line := range keptBack(p) {
		fmt.Fprintf(&b, "  %s\n", oneLine(line))
	}
	return b.String()
}

// wholeRun is what all calls together have done of a run.
func wholeRun(t report.Totals) string {
	return fmt.Sprintf("%s, %s; %s", count(t.Requests(), "page"), size(t.Bytes), tally(t))
}

// notRequested says why pages were closed without a request, and what to do about it.
func notRequested(t report.Totals) []string {
	var lines []string
	for _, reason := range slices.SortedFunc(maps.Keys(t.Skips), func(a, b reasons.Reason) int {
		return cmp.Or(cmp.Compare(t.Skips[b], t.Skips[a]), cmp.Compare(a, b))
	}) {
		what := "page"
		row := reason.Row()
		if row.Of == reasons.Image {
			what = "image"
		}
		line := fmt.Sprintf("%s skipped: %s", count(t.Skips[reason], what), reason)
		if row.Remedy != "" {
			line += " (" + row.Words + "; " + row.Remedy + ")"
		}
		lines = append(lines, line)
	}
	if t.BlockedRobots > 0 {
		lines = append(lines, count(t.BlockedRobots, "page")+
			" not requested: robots.txt, or what else their publisher says, forbids it (mosey why URL tells by which line)")
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
		lines = append(lines, troubledLine(t))
	}
	more(p.TroubledTotal, len(p.Troubled))
	for _, f := range p.Forbidden {
		lines = append(lines, f.Domain+": "+oneLine(controlLine(f.Control)))
	}
	more(p.ForbiddenTotal, len(p.Forbidden))
	for _, domain := range p.NoFollowDomains {
		lines = append(lines, domain+": its publisher lets no link be followed (nofollow) on any page that was read; mosey why URL tells by what")
	}
	return lines
}

func troubledLine(t report.Troubled) string {
	until := t.Until.Local().Format(time.DateTime)
	if t.State == report.TroubledRobots {
		return fmt.Sprintf("%s: its robots.txt cannot be read, and is asked for again from %s on: %s", t.Name, until, oneLine(t.Reason))
	}
	return fmt.Sprintf("%s is %s until %s: %s", t.Name, t.State, until, oneLine(t.Reason))
}
