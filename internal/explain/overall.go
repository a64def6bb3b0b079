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
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
)

// Run says in one sentence what a run is doing, why, and when it goes on.
func Run(p report.Progress, now time.Time) string {
	switch p.Status {
	case crawl.RunPaused:
		return sentence("Run %s is paused%s%s", p.Name, because(p.Reason), Until(p.PausedUntil))
	case crawl.RunStopped:
		return sentence("Run %s is stopped%s: it goes on when a person resumes it", p.Name, because(p.Reason))
	case crawl.RunDone:
		return sentence("Run %s is done%s", p.Name, because(p.Reason))
	case crawl.RunRunning:
	}
	if len(p.Outages) > 0 {
		return sentence("Run %s waits: the network %s", p.Name, Outage(p.Outages[0]))
	}
	if p.Active == 0 {
		if lines := standsStill(p, now); len(lines) > 0 {
			return sentence("Run %s waits: %s", p.Name, strings.Join(lines, "; "))
		}
	}
	what := fmt.Sprintf("Run %s crawls: %s active, %s in flight", p.Name, Count(p.Active, "domain"), Count(p.InFlight, "page"))
	if p.InFlight == 0 && len(p.Waiting) > 0 && !p.Waiting[0].InFlight {
		what += "; next is " + Wait(p.Waiting[0], now)
	}
	return sentence("%s", what)
}

// Overall says it of all runs together.
func Overall(runs []report.Progress, now time.Time) string {
	var running []report.Progress
	for _, p := range runs {
		if p.Status == crawl.RunRunning {
			running = append(running, p)
		}
	}
	switch {
	case len(runs) == 0:
		return "Nothing has been crawled yet: begin with mosey crawl https://example.org/"
	case len(running) == 0:
		return sentence("No run is running: of %s the last to begin was %s", Count(int64(len(runs)), "run"), Run(runs[len(runs)-1], now))
	case len(running) == 1:
		return Run(running[0], now)
	}
	var active, inFlight int64
	for _, p := range running {
		active += p.Active
		inFlight += p.InFlight
	}
	if outages := running[0].Outages; len(outages) > 0 {
		return sentence("The network %s", Outage(outages[0]))
	}
	if active == 0 {
		return sentence("%s wait: %s", Count(int64(len(running)), "run"), Run(running[0], now))
	}
	return sentence("%s crawl: %s active, %s in flight",
		Count(int64(len(running)), "run"), Count(active, "domain"), Count(inFlight, "page"))
}

// BudgetUse says how much of a budget is used.
func BudgetUse(b report.BudgetUse) string {
	used, most := strconv.FormatInt(b.Used, 10), Count(b.Most, "request")
	switch b.Setting {
	case "max_bytes":
		used, most = Size(b.Used), Size(b.Most)
	case "max_time":
		used, most = Roughly(time.Duration(b.Used)*time.Millisecond), Roughly(time.Duration(b.Most)*time.Millisecond)
	}
	return fmt.Sprintf("%s of %s (%s)", used, most, b.Setting)
}

// Rate is a number of pages a second, or a minute or an hour where there is less than one.
func Rate(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return fmt.Sprintf("%.1f a second", perSecond)
	case perSecond*60 >= 1:
		return fmt.Sprintf("%.1f a minute", perSecond*60)
	}
	return fmt.Sprintf("%.1f an hour", perSecond*3600)
}

// Ends says about when what is pending is done, if that is known; empty is that it is not.
func Ends(r report.Run, now time.Time) string {
	if r.ETA <= 0 {
		return ""
	}
	return fmt.Sprintf("about %s, in %s, if nothing more is found", Stamp(now.Add(time.Duration(r.ETA))), Roughly(time.Duration(r.ETA)))
}

const robotsForbid = "robots.txt, or what else their publisher says, forbids it"

// SkipRule says in words why pages were passed over, and how to have them requested.
func SkipRule(r report.SkipRule) string {
	if r.Reason == reasons.Reason(crawl.OutcomeBlockedRobots) {
		return robotsForbid
	}
	row := r.Reason.Row()
	return strings.Join(slices.DeleteFunc([]string{row.Words, row.Remedy}, func(s string) bool { return s == "" }), "; ")
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// sentence ends with a full stop.
func sentence(format string, args ...any) string {
	return strings.TrimRight(OneLine(fmt.Sprintf(format, args...)), ". ") + "."
}

// Priority says what a domain's priority comes of.
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
