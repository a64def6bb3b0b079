package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/audit"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// CrawlsCmd shows the history.
type CrawlsCmd struct {
	Domain  string `help:"Only requests to this domain." placeholder:"DOMAIN"`
	Outcome string `help:"Only attempts that ended so: success, blocked_robots, blocked_4xx, blocked_5xx, timeout, failed or skipped." placeholder:"OUTCOME"`
	Since   string `help:"Only attempts of this day or later: a date such as 2026-11-01, or an age such as 30d or 12h." placeholder:"WHEN"`
	Limit   int    `default:"50" help:"How many attempts."`
	JSON    bool   `name:"json" help:"Print one JSON object an attempt."`
}

// crawlsMost caps --limit.
const crawlsMost = 100_000

// Run prints closed attempts, the newest first.
func (c *CrawlsCmd) Run(ctx context.Context, e *command.Env) error {
	since, err := parseSince(c.Since, time.Now())
	if err != nil {
		return err
	}
	if c.Domain, err = command.DomainFlag(c.Domain); err != nil {
		return err
	}
	outcome := crawl.Outcome(c.Outcome)
	if outcome != "" && !slices.Contains(crawl.Outcomes(), outcome) {
		return wiring.Usagef("--outcome %q: want %s", c.Outcome, command.OrList(crawl.Outcomes()))
	}
	if c.Limit < 1 || c.Limit > crawlsMost {
		return wiring.Usagef("--limit %d: want 1 to %d", c.Limit, crawlsMost)
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		crawls, err := store.History(ctx, c.Domain, outcome, since, c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return command.PrintLines(e.Stdout, crawls)
		}
		t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
		for _, one := range crawls {
			line := fmt.Sprintf("%s\t%s\t%s", explain.Stamp(one.CompletedAt), explain.OneLine(explain.Attempt(one)), explain.OneLine(one.URL))
			if one.Error != "" {
				line += ": " + explain.OneLine(one.Error)
			}
			fmt.Fprintln(t, line)
		}
		return command.Flush(t)
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
		if c.JSON {
			if err := json.NewEncoder(e.Stdout).Encode(a); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		} else {
			printAudit(e.Stdout, a)
		}
		if !a.Clean() {
			return errors.New("there are violations; please report them")
		}
		return nil
	})
}

func printAudit(w io.Writer, a report.Audit) {
	gaps := func(name string, g report.Gaps) {
		fmt.Fprintf(w, "%-12s %s, %s, %s\n", name,
			explain.Count(g.Requests, "request"), explain.Count(g.Gaps, "gap"), explain.Count(g.Violations, "violation"))
		if g.Gaps > 0 {
			fmt.Fprintf(w, "%-12s min %s, median %s, p99 %s; beyond what was due: median %s, p99 %s\n", "",
				millis(g.Min), millis(g.P50), millis(g.P99), millis(g.OverP50), millis(g.OverP99))
		}
	}
	gaps("domains", a.Domains)
	gaps("addresses", a.IPs)
	gaps("subnets", a.Subnets)
	if a.Registered.Requests > 0 {
		gaps("registered", a.Registered)
	}
	fmt.Fprintf(w, "%-12s %s asked for a wait, %d not obeyed\n", "retry-after", explain.Count(a.RetryAfters, "answer"), a.RetryAfterViolations)
	fmt.Fprintf(w, "%-12s %s decided again, %s\n", "robots.txt",
		explain.Count(a.RobotsChecked, "page request"), explain.Count(a.RobotsViolations, "violation"))
	if a.Lost > 0 {
		fmt.Fprintf(w, "%-12s %s of workers that died\n", "lost", explain.Count(a.Lost, "request"))
	}
	for _, v := range a.Violations {
		fmt.Fprintf(w, "%s  %s: %s: %s\n", v.At.Local().Format(time.DateTime), v.Kind, v.Key, explain.OneLine(v.What))
	}
}

func millis(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Millisecond)
}
