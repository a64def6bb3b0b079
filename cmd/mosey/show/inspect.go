package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
)

func printStatus(w io.Writer, p report.Progress) {
	took := time.Since(p.StartedAt)
	if !p.FinishedAt.IsZero() {
		took = p.FinishedAt.Sub(p.StartedAt)
	}
	fmt.Fprint(w, Summary(p, p.Totals, took))
	for _, line := range moves(p, time.Now()) {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// moves says what a run is doing, and what it waits for.
func moves(p report.Progress, now time.Time) (lines []string) {
	for _, o := range p.Outages {
		lines = append(lines, "the network "+OutageLine(o))
	}
	if p.Status != crawl.RunRunning {
		return lines
	}
	lines = append(lines, fmt.Sprintf("%s active, %s in flight", command.Count(p.Active, "domain"), command.Count(p.InFlight, "page")))
	for _, wait := range p.Waiting {
		lines = append(lines, WaitLine(wait, now))
	}
	return append(lines, standsStill(p, now)...)
}

// keywordsLine says how many pages are not found by a search yet.
func keywordsLine(waiting int) string {
	many := command.Count(int64(waiting), "page")
	if waiting >= report.KeywordsBound {
		many += " or more"
	}
	return many + " fetched and not found by a search yet: a worker writes their keywords, within seconds unless the crawl is faster"
}

// standsStill says why domains of a run are not asked, and until when.
func standsStill(p report.Progress, now time.Time) (lines []string) {
	switch {
	case p.OpensAt.After(now):
		lines = append(lines, "the window of the run is closed"+untilText(p.OpensAt))
	case p.Due > 0 && p.Active == 0 && now.Sub(p.LookedAt) > 2*time.Minute:
		lines = append(lines, fmt.Sprintf("%s due, and nobody crawls: mosey up, or mosey crawl --run %s", command.Count(p.Due, "domain"), p.Name))
	case p.Due >= crawl.LeftBound:
		lines = append(lines, fmt.Sprintf("%d domains or more are due and wait for a place (max_active_domains)", p.Due))
	case p.Due > 0:
		lines = append(lines, command.Count(p.Due, "domain")+" due, and started within a minute")
	case p.Active == 0 && len(p.NotDue) == 0:
		lines = append(lines, "nothing is due")
	}
	for _, n := range p.NotDue {
		lines = append(lines, fmt.Sprintf("%s not asked%s: %s (such as %s)",
			command.Count(n.Domains, "domain"), untilText(n.Until), notDueText(n.Reason), command.OneLine(n.Domain)))
	}
	return lines
}

// untilText says until when something is waited for; a time of zero is not known.
func untilText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + command.Stamp(at)
}

// notDueText says in words why a domain is not due.
func notDueText(why reasons.Reason) string { return cmp.Or(why.Row().Words, string(why)) }

// DomainCmd shows what is known about a domain.
type DomainCmd struct {
	Name string `arg:"" help:"Domain, such as example.org."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the report.
func (d *DomainCmd) Run(ctx context.Context, e *command.Env) error {
	name, err := command.DomainArgument(d.Name)
	if err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		rep, err := store.Domain(ctx, name)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("domain %s is "+command.NotKnown, name)
		}
		if err != nil {
			return err
		}
		rep.UI = workflowURL(e, crawl.DomainWorkflowID(name))
		if d.JSON {
			return command.PrintJSON(e.Stdout, rep)
		}
		return printDomain(e.Stdout, rep)
	})
}

// workflowURL is the address of a workflow in the web UI of the Mosey that runs; empty where
// that is not known.
func workflowURL(e *command.Env, id string) string {
	if e.Environ.Get("TEMPORAL_ADDRESS") != "" {
		return "" // it may have a UI, but who knows where
	}
	info, running, err := command.RunningMosey(e)
	if err != nil || !running || info.UIURL == "" {
		return ""
	}
	return info.UIURL + "/namespaces/" + cmp.Or(e.Environ.Get("TEMPORAL_NAMESPACE"), "default") + "/workflows/" + url.PathEscape(id)
}

func printDomain(w io.Writer, r report.Domain) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := command.RowTo(t)
	row("domain", "%s", r.Domain)
	row("status", "%s %s", r.Status, r.Reason)
	for _, c := range telling(r.Controls) {
		row("control", "%s", ControlLine(c))
	}
	if !r.DeferredUntil.IsZero() {
		row("deferred until", "%s", command.Stamp(r.DeferredUntil))
	}
	if left := time.Until(r.SlotFree); left > 0 && r.SlotReason == reasons.InFlight {
		row("next request", "one is in flight, and is over by %s at the latest", command.Stamp(r.SlotFree))
	} else if left > 0 {
		row("next request", "not before %s, in %s (%s)", command.Stamp(r.SlotFree), left.Round(100*time.Millisecond), r.SlotReason)
	}
	row("health", "%s", politeness.Describe(r.Health))
	if r.Claimed != "" {
		row("workflow", "%s, claim until %s", r.Claimed, command.Stamp(r.ClaimEnd))
	}
	if r.UI != "" {
		row("temporal ui", "%s", r.UI)
	}
	row("pending", "%d", r.Pending)
	printCounts(row, r)
	for _, o := range r.Robots {
		delay := ""
		if o.CrawlDelay != nil {
			delay = ", crawl-delay " + o.CrawlDelay.String()
		}
		reason := ""
		if o.Reason != "" {
			reason = " (" + o.Reason + ")"
		}
		row("robots.txt", "%s: %s%s%s, until %s", o.Origin, o.Verdict, delay, reason, command.Stamp(o.ExpiresAt))
	}
	for _, trap := range r.Traps {
		row("stopped", "%s", trap.Evidence)
	}
	for _, run := range r.Runs {
		row("run "+run.Run, "%s: %s", run.Status, Tally(run.Totals))
	}
	for _, c := range r.Recent {
		row("  "+command.Stamp(c.CompletedAt), "%s %s %s", result(c), urls.Shorten(c.URL, 80), c.Error)
	}
	return command.Flush(t)
}

// printCounts prints what is counted of a domain, and what its priority comes of.
func printCounts(row func(name, format string, args ...any), r report.Domain) {
	if r.Source != "" {
		rank := ""
		if r.Rank > 0 {
			rank = fmt.Sprintf(", rank %d", r.Rank)
		}
		row("source", "%s%s", r.Source, rank)
	}
	row("priority", "%.3f", r.Score)
	if r.CountedAt.IsZero() {
		return
	}
	row("pages", "%d known, fetched %s, %s", r.Discovered, command.Count(r.Crawled, "time"), command.Size(r.Bytes))
	if r.ErrorRate != nil && r.YieldRate != nil {
		row("of late", "%.0f %% errors, %.0f %% news, answers in %s, %s a page", *r.ErrorRate*100, *r.YieldRate*100,
			time.Duration(r.AvgResponse), command.Size(r.AvgBytes))
	}
	if !r.Last.IsZero() {
		row("crawled", "first %s, last %s", command.Stamp(r.First), command.Stamp(r.Last))
	}
	row("counted", "%s", command.Stamp(r.CountedAt))
}

// result is how an attempt stands, in a word or two.
func result(c report.Crawl) string {
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

// ControlLine tells what a person has decided.
func ControlLine(c crawl.Control) string {
	one := crawl.Controls{c}
	what := map[crawl.ControlType]string{
		crawl.ControlPause: "it is paused", crawl.ControlStop: "it is stopped until it is seeded again",
		crawl.ControlBlock: "it is blocked in all runs",
		crawl.ControlDelay: "its delay is at least " + one.Delay().String(),
	}[c.Type]
	if listed := c.Listed(); listed != "" {
		what = "it is " + listed
	}
	switch c.Type {
	case crawl.ControlBudget:
		pages, _ := one.Budget()
		what = fmt.Sprintf("each run may request %s of it", command.Count(pages, "page"))
		if pages < 0 {
			what = "each run may request any number of pages of it"
		}
	case crawl.ControlWindow:
		what = windowLine("it may be asked only", one.Window())
	case crawl.ControlPause, crawl.ControlStop, crawl.ControlBlock, crawl.ControlDelay:
	}
	line := fmt.Sprintf("%s: set by %s on %s", what, c.SetBy, command.Stamp(c.SetAt))
	if !c.Until.IsZero() {
		line += ", until " + command.Stamp(c.Until)
	}
	if c.Reason != "" {
		line += ": " + c.Reason
	}
	return command.OneLine(line)
}
