// Package show has the commands that print stored rows and change nothing.
package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/audit"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// StatusCmd shows the progress of runs.
type StatusCmd struct {
	Name  string `arg:"" optional:"" help:"Run to show in detail. Default: list the runs."`
	Limit int    `help:"Maximum number of runs to list, newest first; active runs are always listed. Default: 20." default:"20" placeholder:"N"`
	JSON  bool   `name:"json" help:"Print one JSON object per run."`
}

// Run lists the runs, newest first, or shows one.
func (s *StatusCmd) Run(ctx context.Context, e *command.Env) error {
	if err := command.CheckLimit(s.Limit); err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		waiting, err := store.KeywordsWaiting(ctx, report.KeywordsBound)
		if err != nil {
			return err
		}
		if s.Name == "" {
			err = s.list(ctx, e, store, waiting)
		} else {
			err = s.show(ctx, e, store, waiting)
		}
		if err == nil && !s.JSON && waiting > 0 {
			fmt.Fprintln(e.Stdout, explain.KeywordsWaiting(waiting))
		}
		return err
	})
}

func (s *StatusCmd) list(ctx context.Context, e *command.Env, store *db.Store, waiting int) error {
	every, err := store.Runs(ctx)
	if err != nil {
		return err
	}
	runs := crawl.LatestRuns(every, s.Limit)
	var all []report.Progress
	for _, run := range slices.Backward(runs) {
		p, err := store.Progress(ctx, run)
		if err != nil {
			return err
		}
		p.KeywordsWaiting = waiting
		if p.Detail, err = store.Detail(ctx, run.ID, command.MaxNamedInRun); err != nil {
			return err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		fmt.Fprintln(e.Stderr, "No runs yet. Start with mosey crawl https://example.org/")
	}
	const header = "RUN\tSTATUS\tSTARTED\tREQUESTS\tPAGES\tPENDING\tDOMAINS\tACTIVE\tREASON"
	err = command.PrintTable(e, s.JSON, all, "", header, func(p report.Progress) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s", p.Name, p.Status, explain.Stamp(p.StartedAt), p.Requests(), p.Success,
			p.Pending, p.Domains, p.Active, explain.OneLine(p.Reason))
	})
	if err != nil || s.JSON {
		return err
	}
	for _, p := range all {
		if lines := explain.Moves(p, time.Now()); len(lines) > 0 {
			fmt.Fprintf(e.Stdout, "%s:\n  %s\n", p.Name, strings.Join(lines, "\n  "))
		}
	}
	if older := len(every) - len(runs); older > 0 {
		fmt.Fprintf(e.Stdout, "%s more. To list all:\n  mosey status --limit %d\n", explain.Count(int64(older), "older run"), len(every))
	}
	return nil
}

func (s *StatusCmd) show(ctx context.Context, e *command.Env, store *db.Store, waiting int) error {
	run, err := command.NamedRun(ctx, store, strings.TrimPrefix(s.Name, command.RunPrefix))
	if err != nil {
		return err
	}
	report, err := store.RunReport(ctx, run, command.MaxNamedInDetail)
	if err != nil {
		return err
	}
	report.KeywordsWaiting = waiting
	return command.PrintResult(e, s.JSON, report, printRun)
}

func printRun(w io.Writer, r report.Run) error {
	duration := time.Since(r.StartedAt)
	if !r.FinishedAt.IsZero() {
		duration = r.FinishedAt.Sub(r.StartedAt)
	}
	fmt.Fprint(w, explain.Summary(r.Progress, r.Totals, duration))
	for _, line := range explain.Moves(r.Progress, time.Now()) {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if r.PagesPerSecond > 0 {
		fmt.Fprintf(w, "  recent rate: %s", explain.Rate(r.PagesPerSecond))
		if r.ETA > 0 {
			fmt.Fprintf(w, "; the pending pages take about %s", explain.ApproxDuration(time.Duration(r.ETA)))
		}
		fmt.Fprintln(w)
	}
	for _, b := range r.Budgets {
		fmt.Fprintf(w, "  used %s\n", explain.BudgetUse(b))
	}
	printHistogram(w, r.Totals)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range r.Longest {
		fmt.Fprintf(t, "longest queue\t%s\t%s, %d due\n", explain.OneLine(d.Domain), explain.Count(d.Pending, "page"), d.Due)
	}
	for _, d := range r.Failing {
		fmt.Fprintf(t, "most failures\t%s\t%d of %s\n", explain.OneLine(d.Domain), d.Failed, explain.Count(d.Requests, "request"))
	}
	for _, d := range r.Slowest {
		fmt.Fprintf(t, "slowest\t%s\tresponse time %s\n", explain.OneLine(d.Domain), time.Duration(d.Response))
	}
	for _, d := range r.Subdomains {
		fmt.Fprintf(t, "host limit of\t%s\treached with %s (max_subdomains)\n",
			explain.OneLine(d.Registered), explain.Count(d.Domains, "domain"))
	}
	for _, rule := range r.Skipped {
		became := "skipped"
		if rule.Reason.Row().Subject == reasons.Response {
			became = "no content"
		}
		for _, url := range rule.Examples {
			fmt.Fprintf(t, "%s\t%s\t%s\n", became, explain.OneLine(string(rule.Reason)), explain.OneLine(url))
		}
	}
	err := command.Flush(t)
	fmt.Fprintln(w, "Settings (mosey set run:NAME key=value)")
	for _, s := range settings.All() {
		fmt.Fprintf(w, "  %s=%s\n", s.Name, explain.OneLine(s.ValueText(r.Settings)))
	}
	return errors.Join(err, printChanges(w, r.Changes))
}

const histogramWidth = 40

func printHistogram(w io.Writer, t report.Totals) {
	all := t.Attempts()
	if all == 0 {
		return
	}
	fmt.Fprintln(w, "Outcomes")
	for _, o := range t.Outcomes() {
		if o.N == 0 {
			continue
		}
		bar := strings.Repeat("█", int(max(1, (o.N*histogramWidth+all/2)/all)))
		fmt.Fprintf(w, "  %-22s %10d %5.1f %%  %s\n", o.Outcome.Word(0), o.N, 100*float64(o.N)/float64(all), bar)
	}
}

func printChanges(w io.Writer, changes []crawl.RunChange) error {
	if len(changes) == 0 {
		return nil
	}
	fmt.Fprintln(w, "Changes")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range changes {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", explain.Stamp(c.SetAt), explain.OneLine(c.SetBy), c.Action,
			explain.OneLine(explain.Change(c, time.Local)))
	}
	return command.Flush(t)
}

// QueueCmd shows pending pages.
type QueueCmd struct {
	Run_  string `name:"run" help:"Only pages of this run. Default: all active and paused runs." placeholder:"NAME"` //nolint:revive // Run is the method
	Limit int    `help:"Maximum number of domains to list. Default: 20." default:"20" placeholder:"N"`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Run prints the domains with most pending pages.
func (q *QueueCmd) Run(ctx context.Context, e *command.Env) error {
	if q.Limit < 1 || q.Limit > db.MaxQueueDomains {
		return wiring.Usagef("--limit %d: want 1 to %d", q.Limit, db.MaxQueueDomains)
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		id, err := command.RunID(ctx, store, q.Run_)
		if err != nil {
			return err
		}
		queue, err := store.Queue(ctx, id, q.Limit, 0)
		if err != nil {
			return err
		}
		if q.JSON {
			return command.PrintJSON(e.Stdout, queue)
		}
		return printQueue(e, queue)
	})
}

func printQueue(e *command.Env, q report.Queue) error {
	if q.Total == 0 {
		fmt.Fprintln(e.Stderr, "No pending pages.")
		return nil
	}
	fmt.Fprintf(e.Stdout, "%s pending on %s: %d due now, %d later\n",
		explain.Count(q.Pending, "page"), explain.Count(q.Total, "domain"), q.Due, q.Pending-q.Due)
	const header = "DOMAIN\tSTATUS\tPENDING\tDUE NOW\tDUE LATER\tIN FLIGHT\tOLDEST\tNEXT LATER\tWAITS"
	return command.PrintTable(e, false, q.Domains, "", header, func(d report.QueuedDomain) string {
		waits := "-"
		if d.WaitReason != "" {
			waits = string(d.WaitReason) + explain.Until(d.Until, time.Local)
		}
		return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s", explain.OneLine(d.Domain), d.Status, d.Pending, d.Due, d.Pending-d.Due,
			d.InFlight, explain.Stamp(d.Oldest), command.StampOrDash(d.NextDue), waits)
	})
}

// CrawlsCmd shows the history.
type CrawlsCmd struct {
	Domain  string        `help:"Only requests to this domain." placeholder:"DOMAIN"`
	Outcome crawl.Outcome `help:"Only attempts with this outcome: success, blocked_robots, blocked_4xx, blocked_5xx, timeout, failed or skipped." enum:",${outcomes}" default:"" placeholder:"OUTCOME"`
	Since   string        `help:"Only attempts of this day or later: a date such as 2026-11-01, or an age such as 30d or 12h." placeholder:"WHEN"`
	Limit   int           `default:"50" help:"Maximum number of attempts. Default: 50."`
	JSON    bool          `name:"json" help:"Print one JSON object per attempt."`
}

// Run prints closed attempts, the newest first.
func (c *CrawlsCmd) Run(ctx context.Context, e *command.Env) error {
	since, err := parseSince("--since", c.Since, time.Now())
	if err != nil {
		return err
	}
	if c.Domain, err = command.DomainFlag(c.Domain); err != nil {
		return err
	}
	if err := command.CheckLimit(c.Limit); err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		crawls, err := store.History(ctx, c.Domain, c.Outcome, since, c.Limit)
		if err != nil {
			return err
		}
		return command.PrintTable(e, c.JSON, crawls, "", "", func(attempt report.Attempt) string {
			line := fmt.Sprintf("%s\t%s\t%s",
				explain.Stamp(attempt.CompletedAt), explain.OneLine(explain.Attempt(attempt)), explain.OneLine(attempt.URL))
			if attempt.Error != "" {
				line += ": " + explain.OneLine(attempt.Error)
			}
			return line
		})
	})
}

// AuditCmd proves from the stored rows how hosts were treated.
type AuditCmd struct {
	Run_ string `name:"run" help:"Only the domains and pages of this run." placeholder:"NAME"` //nolint:revive // Run is the method
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the audit. Violations make it fail.
func (c *AuditCmd) Run(ctx context.Context, e *command.Env) error {
	return command.WithReader(ctx, e, func(store *db.Store) error {
		runID, err := command.RunID(ctx, store, c.Run_)
		if err != nil {
			return err
		}
		a, err := audit.Run(ctx, store, runID)
		if err != nil {
			return err
		}
		if err := command.PrintResult(e, c.JSON, a, printAudit); err != nil {
			return err
		}
		if !a.Clean() {
			return errors.New("the audit found violations: please report them")
		}
		return nil
	})
}

func printAudit(w io.Writer, a report.Audit) error {
	gaps := func(name string, g report.Gaps) {
		fmt.Fprintf(w, "%-12s %s, %s, %s\n", name,
			explain.Count(g.Requests, "request"), explain.Count(g.Gaps, "gap"), explain.Count(g.Violations, "violation"))
		if g.Gaps > 0 {
			fmt.Fprintf(w, "%-12s min %s, median %s, p99 %s; beyond the delay: median %s, p99 %s\n", "",
				millis(g.Min), millis(g.P50), millis(g.P99), millis(g.OverP50), millis(g.OverP99))
		}
	}
	if !a.Since.IsZero() {
		fmt.Fprintf(w, "%-12s gaps since %s; earlier requests were moved to files (mosey export crawls --move)\n",
			"history", explain.Stamp(a.Since))
	}
	gaps("domains", a.Domains)
	gaps("addresses", a.IPs)
	gaps("subnets", a.Subnets)
	if a.Registered.Requests > 0 {
		gaps("registered", a.Registered)
	}
	fmt.Fprintf(w, "%-12s %s with Retry-After, %d violated\n", "retry-after", explain.Count(a.RetryAfters, "response"), a.RetryAfterViolations)
	fmt.Fprintf(w, "%-12s %s checked again, %s\n", "robots.txt",
		explain.Count(a.RobotsChecked, "page request"), explain.Count(a.RobotsViolations, "violation"))
	if a.RobotsGone > 0 {
		fmt.Fprintf(w, "%-12s %s unchecked: the files are no longer stored\n", "", explain.Count(a.RobotsGone, "page request"))
	}
	if a.Lost > 0 {
		fmt.Fprintf(w, "%-12s %s of dead workers\n", "lost", explain.Count(a.Lost, "request"))
	}
	for _, v := range a.Violations {
		fmt.Fprintf(w, "%s  %s: %s: %s\n", v.At.Local().Format(time.DateTime), v.Kind, v.Key, explain.OneLine(v.Description))
	}
	return nil
}

func millis(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond)
}
