package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

// ApproxDuration formats a span in two of its units.
func ApproxDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 365*day:
		return "years"
	case d >= 2*day:
		return fmt.Sprintf("%d days", (d+day/2)/day)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return d.Round(time.Second).String()
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for ; v >= unit && i < len("kMGTP")-1; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGTP"[i])
}

// OneLine cleans a stored text to print it within a line: it cannot fake another line. The bound
// exceeds the length of any stored text.
func OneLine(s string) string { return crawl.CleanText(s, 16<<10) }

// Count formats a number of things. thing is the singular.
func Count(n int64, thing string) string {
	switch rest, isY := strings.CutSuffix(thing, "ry"); {
	case n == 1:
	case isY:
		thing = rest + "ries"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Stamp formats a time for the terminal of this machine, in its zone.
func Stamp(t time.Time) string { return StampIn(t, time.Local) }

// StampIn formats a time in a zone. It names the zone, except time.Local.
func StampIn(t time.Time, zone *time.Location) string {
	if zone == time.Local {
		return t.Local().Format(time.DateTime)
	}
	return t.In(zone).Format(time.DateTime + " MST")
}

// UnknownPage describes a page that is not stored.
const UnknownPage = "unknown: the page was never seeded, and no crawled page links to it"

// Control describes an operator's decision.
func Control(c crawl.Control, zone *time.Location) string {
	one := crawl.Controls{c}
	pages, _ := one.Budget()
	budget := Count(pages, "page")
	if pages < 0 {
		budget = "any number of pages"
	}
	label := map[crawl.ControlType]string{
		crawl.ControlPause:  "paused",
		crawl.ControlStop:   "stopped until it is seeded again",
		crawl.ControlBlock:  "it is " + cmp.Or(c.ListLabel(), "blocked in all runs"),
		crawl.ControlDelay:  "minimum delay " + one.Delay().String(),
		crawl.ControlBudget: "budget per run: " + budget,
		crawl.ControlWindow: windowLine("requests only", one.Window(), zone),
	}[c.Type]
	line := fmt.Sprintf("%s: set by %s on %s", label, c.SetBy, StampIn(c.SetAt, zone))
	if !c.Until.IsZero() {
		line += ", until " + StampIn(c.Until, zone)
	}
	if c.Reason != "" {
		line += ": " + c.Reason
	}
	return OneLine(line)
}

// ErasureSummary reports whether the contents of a domain's pages were erased.
func ErasureSummary(f report.ErasureRequest, zone *time.Location) string {
	line := "the contents of its pages up to then were erased on " + StampIn(f.DoneAt, zone)
	if f.DoneAt.IsZero() {
		line = fmt.Sprintf("the contents of its pages are not all erased yet: mosey block %s --reason TEXT --forget continues", f.Domain)
	}
	return OneLine(fmt.Sprintf("%s; requested by %s on %s: %s", line, f.RequestedBy, StampIn(f.RequestedAt, zone), f.Reason))
}

// MovedHistory describes the part of a domain's history that is in files.
func MovedHistory(m report.MovedHistory, zone *time.Location) string {
	return fmt.Sprintf("attempts since %s are in the database; %s of its domain before that moved to files (mosey export crawls --move)",
		StampIn(m.Before, zone), Count(m.Attempts, "attempt"))
}

// EffectiveControls drops controls without an effect: a delay of zero and an empty window.
func EffectiveControls(cs crawl.Controls) crawl.Controls {
	return slices.DeleteFunc(slices.Clone(cs), func(c crawl.Control) bool {
		one := crawl.Controls{c}
		return c.Type == crawl.ControlDelay && one.Delay() == 0 || c.Type == crawl.ControlWindow && one.Window() == ""
	})
}

func windowLine(label, text string, zone *time.Location) string {
	line := label + " " + text
	w, err := politeness.ParseWindows(text)
	if err != nil {
		return line + ": " + err.Error()
	}
	now := time.Now()
	if wait := w.Wait(now); wait > 0 {
		return fmt.Sprintf("%s: not before %s", line, StampIn(now.Add(wait), zone))
	}
	if closes, ok := w.NextClosing(now); ok {
		return fmt.Sprintf("%s: now, until %s", line, StampIn(closes, zone))
	}
	return line + ": now"
}

// Change describes a change of a run: the old and the new values, and the reason.
func Change(c crawl.RunChange, zone *time.Location) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.NewValues)) {
		oldValue := ""
		if old, hasOld := c.OldValues[name]; hasOld {
			oldValue = settings.Text(name, old) + " → "
		}
		parts = append(parts, name+"="+oldValue+settings.Text(name, c.NewValues[name]))
	}
	if !c.Until.IsZero() {
		parts = append(parts, "until "+StampIn(c.Until, zone))
	}
	return strings.Join(append(parts, c.Reason), " ")
}

// Run describes a run's activity, reason and resumption, in one sentence and the zone of now.
func Run(p report.Progress, now time.Time) string {
	switch p.Status {
	case crawl.RunPaused:
		return sentence("Run %s is paused%s%s", p.Name, reasonClause(p.Run), Until(p.PausedUntil, now.Location()))
	case crawl.RunStopped:
		return sentence("Run %s is stopped%s: mosey resume continues it", p.Name, reasonClause(p.Run))
	case crawl.RunDone:
		return sentence("Run %s is done%s", p.Name, reasonClause(p.Run))
	case crawl.RunRunning:
	}
	if noWorker := noWorkerNotice(p, now.Location()); noWorker != "" {
		return sentence("Run %s waits. %s", p.Name, noWorker)
	}
	if len(p.Outages) > 0 {
		return sentence("Run %s waits: the network %s", p.Name, Outage(p.Outages[0], now.Location()))
	}
	if p.Active == 0 {
		if lines := idleReasons(p, now); len(lines) > 0 {
			return sentence("Run %s waits: %s", p.Name, strings.Join(lines, "; "))
		}
	}
	activity := fmt.Sprintf("Run %s crawls: %s active, %s in flight", p.Name, Count(p.Active, "domain"), Count(p.InFlight, "request"))
	if p.InFlight == 0 && len(p.Waiting) > 0 && !p.Waiting[0].InFlight {
		activity += "; waiting: " + Wait(p.Waiting[0], now)
	}
	return sentence("%s", activity)
}

// Overall describes the activity of all runs together.
func Overall(runs []report.Progress, now time.Time) string {
	running := slices.DeleteFunc(slices.Clone(runs), func(p report.Progress) bool {
		return p.Status != crawl.RunRunning
	})
	switch {
	case len(runs) == 0:
		return "Nothing has been crawled yet: start with mosey crawl https://example.org/"
	case len(running) == 0:
		return sentence("No run is running. The latest of %s: %s", Count(int64(len(runs)), "run"), Run(runs[len(runs)-1], now))
	case len(running) == 1:
		return Run(running[0], now)
	}
	var active, inFlight int64
	for _, p := range running {
		active += p.Active
		inFlight += p.InFlight
	}
	if running[0].Workers == 0 {
		return sentence("%s wait. %s. To resume: mosey up", Count(int64(len(running)), "run"), NoWorker(running[0].WorkerSeenAt, now.Location()))
	}
	if outages := running[0].Outages; len(outages) > 0 {
		return sentence("The network %s", Outage(outages[0], now.Location()))
	}
	if active == 0 {
		return sentence("%s wait: %s", Count(int64(len(running)), "run"), Run(running[0], now))
	}
	return sentence("%s crawl: %s active, %s in flight",
		Count(int64(len(running)), "run"), Count(active, "domain"), Count(inFlight, "request"))
}

// BudgetUse describes the used part of a budget.
func BudgetUse(b report.BudgetUse) string {
	used, limit := strconv.FormatInt(b.Used, 10), Count(b.Limit, "request")
	switch b.Setting {
	case "max_bytes":
		used, limit = Size(b.Used), Size(b.Limit)
	case "max_time":
		used, limit = ApproxDuration(time.Duration(b.Used)*time.Millisecond), ApproxDuration(time.Duration(b.Limit)*time.Millisecond)
	}
	return fmt.Sprintf("%s of %s (%s)", used, limit, b.Setting)
}

// Rate formats a number of pages a second, or a minute or an hour if it is below one.
func Rate(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return fmt.Sprintf("%.1f per second", perSecond)
	case perSecond*60 >= 1:
		return fmt.Sprintf("%.1f per minute", perSecond*60)
	}
	return fmt.Sprintf("%.1f per hour", perSecond*3600)
}

// EstimatedEnd estimates the end of the pending pages. It is empty if that is unknown.
func EstimatedEnd(r report.Run, now time.Time) string {
	if r.ETA <= 0 {
		return ""
	}
	left := time.Duration(r.ETA)
	return fmt.Sprintf("about %s, in %s, if no more pages are found", StampIn(now.Add(left), now.Location()), ApproxDuration(left))
}

const robotsForbidReason = "forbidden by robots.txt or another signal of their publisher"

// SkipRule explains why pages were skipped, and how to have them requested.
func SkipRule(r report.SkipRule) string {
	if r.Reason == reasons.Reason(crawl.OutcomeBlockedRobots) {
		return robotsForbidReason
	}
	row := r.Reason.Row()
	return strings.Join(slices.DeleteFunc([]string{row.Explanation, row.Remedy}, func(s string) bool { return s == "" }), "; ")
}

// reasonClause returns the reason of a run's status, which it does not repeat.
func reasonClause(r crawl.Run) string {
	if r.Reason == "" {
		return ""
	}
	return " (" + OneLine(strings.TrimPrefix(r.Reason, string(r.Status)+" ")) + ")"
}

func sentence(format string, args ...any) string {
	return strings.TrimRight(OneLine(fmt.Sprintf(format, args...)), ". ") + "."
}

// Priority explains a domain's priority.
func Priority(d report.Domain) string {
	names := slices.SortedFunc(maps.Keys(d.Priority), func(a, b string) int {
		return cmp.Or(cmp.Compare(d.Priority[b], d.Priority[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return fmt.Sprintf("%.3f", d.Score)
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %+.3f", name, d.Priority[name])
	}
	return fmt.Sprintf("%.3f (%s)", d.Score, strings.Join(names, ", "))
}
