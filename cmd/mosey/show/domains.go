package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/search"
)

// DomainsCmd lists domains.
type DomainsCmd struct {
	Status string  `help:"Only domains of this status: pending, active, exhausted, blocked or unreachable; or parked or 'default page' for domains without a site, or 'soft 404'." placeholder:"STATUS"`
	Source string  `help:"Only domains seeded by a list of this kind, such as tranco." placeholder:"SOURCE"`
	Errors float32 `help:"Only domains with at least this share of failed recent requests, from 0 to 1." placeholder:"SHARE"`
	Rank   int     `help:"Only domains up to this rank on their list." placeholder:"N"`
	Due    bool    `help:"Only domains with a page that is due."`
	Waits  string  `help:"Only served domains that wait for this reason, such as crawl-delay." placeholder:"REASON"`
	Lang   string  `help:"Only domains with a page in this language, a tag such as de." placeholder:"TAG"`
	Sort   string  `help:"Order: priority, name, rank, pages, found, bytes, errors, slow or last. Default: priority." default:"priority" placeholder:"WHAT"`
	Limit  int     `help:"Maximum number of domains to list. Default: 20." default:"20" placeholder:"N"`
	JSON   bool    `name:"json" help:"Print one JSON object per line."`
}

const maxDomains = 1_000_000

// Run prints the domains.
func (d *DomainsCmd) Run(ctx context.Context, e *command.Env) error {
	query := report.DomainQuery{
		Status: crawl.DomainStatus(d.Status), Source: d.Source, Errors: d.Errors, Rank: d.Rank, Due: d.Due,
		Language: d.Lang, WaitReason: reasons.Reason(d.Waits),
		Sort: d.Sort, Limit: d.Limit,
	}
	if err := query.Check(); err != nil {
		return wiring.Usagef("--%w", err)
	}
	if d.Limit < 1 || d.Limit > maxDomains {
		return wiring.Usagef("--limit %d: want 1 to %d", d.Limit, maxDomains)
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		all, err := store.Domains(ctx, query)
		if err != nil {
			return err
		}
		const header = "DOMAIN\tSTATUS\tSCORE\tRANK\tPAGES\tFOUND\tRECENT ERRORS\tRESPONSE TIME\tLAST CRAWLED\tREASON"
		err = command.PrintTable(e, d.JSON, all, "No matching domains.", header, listingRow)
		if err != nil || d.JSON || len(all) == 0 {
			return err
		}
		counts, estimate, err := store.DomainsByStatus(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, explain.Domains(counts, estimate))
		return nil
	})
}

func listingRow(d report.DomainListing) string {
	rank, found, errs, response := "-", "-", "-", "-"
	if !d.CountedAt.IsZero() {
		found = strconv.FormatInt(d.Discovered, 10)
	}
	if d.Rank > 0 {
		rank = strconv.Itoa(d.Rank)
	}
	if d.ErrorRate != nil {
		errs, response = fmt.Sprintf("%.0f %%", *d.ErrorRate*100), time.Duration(d.AvgResponse).String()
	}
	return fmt.Sprintf("%s\t%s\t%.3f\t%s\t%d\t%s\t%s\t%s\t%s\t%s",
		explain.OneLine(d.Domain), d.Status, d.Score, rank, d.Crawled, found, errs, response,
		command.StampOrDash(d.Last), explain.OneLine(explain.DomainReason(d)))
}

// DomainCmd shows the stored facts about a domain.
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
	return command.WithReader(ctx, e, func(store *db.Store) error {
		rep, err := store.Domain(ctx, name)
		if errors.Is(err, crawl.ErrNotFound) {
			return wiring.Usagef("domain %s is "+explain.UnknownPage, name)
		}
		if err != nil {
			return err
		}
		if ui := command.TemporalUI(e); ui != "" {
			rep.UI = ui + "/workflows/" + url.PathEscape(crawl.DomainWorkflowID(name))
		}
		return command.PrintResult(e, d.JSON, rep, printDomain)
	})
}

func printDomain(w io.Writer, r report.Domain) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := command.RowTo(t)
	row("domain", "%s", r.Domain)
	row("status", "%s %s", r.Status, explain.DomainReason(r.DomainListing))
	for _, c := range explain.EffectiveControls(r.Controls) {
		row("control", "%s", explain.Control(c, time.Local))
	}
	if r.Forgotten != nil {
		row("forgotten", "%s", explain.ErasureSummary(*r.Forgotten, time.Local))
	}
	if r.Moved != nil {
		row("history", "%s", explain.MovedHistory(*r.Moved, time.Local))
	}
	if !r.DeferredUntil.IsZero() {
		row("deferred until", "%s", explain.Stamp(r.DeferredUntil))
	}
	if wait := time.Until(r.SlotFree); wait > 0 && r.SlotReason == reasons.InFlight {
		row("next request", "in flight, ends by %s at the latest", explain.Stamp(r.SlotFree))
	} else if wait > 0 {
		row("next request", "not before %s, in %s (%s)", explain.Stamp(r.SlotFree), wait.Round(100*time.Millisecond), r.SlotReason)
	}
	row("health", "%s", politeness.Describe(r.Health))
	if r.Claimed != "" {
		row("workflow", "%s, claim until %s", r.Claimed, explain.Stamp(r.ClaimEnd))
	}
	if r.UI != "" {
		row("temporal ui", "%s", r.UI)
	}
	row("pending", "%d", r.Pending)
	printCounts(row, r)
	if !r.OwnerSince.IsZero() {
		row("owner", "another one was found on %s; earlier pages and links do not count", explain.Stamp(r.OwnerSince))
	}
	for _, o := range r.Robots {
		row("robots", "%s", explain.Robots(o, time.Local))
		if o.SoftNotFound {
			row("soft 404", "%s sends the same page for addresses that do not exist; pages with its text are left out", o.Origin)
		}
	}
	for _, trap := range r.Traps {
		row("stopped", "%s", trap.Evidence)
	}
	for _, run := range r.Runs {
		row("run "+run.Run, "%s: %s", run.Status, explain.Tally(run.Totals))
		for _, line := range explain.UnreadReasons(run.Totals) {
			row("", "%s", line)
		}
	}
	for _, c := range r.Recent {
		row("  "+explain.Stamp(c.CompletedAt), "%s %s %s", explain.Attempt(c), urls.Shorten(c.URL, 80), c.Error)
	}
	return command.Flush(t)
}

func printCounts(row func(name, format string, args ...any), r report.Domain) {
	if r.Source != "" {
		rank := ""
		if r.Rank > 0 {
			rank = fmt.Sprintf(", rank %d", r.Rank)
		}
		row("source", "%s%s", r.Source, rank)
	}
	row("priority", "%s", explain.Priority(r))
	if r.CountedAt.IsZero() {
		return
	}
	row("pages", "%d known, fetched %s, %s", r.Discovered, explain.Count(r.Crawled, "time"), explain.Size(r.Bytes))
	if r.ErrorRate != nil && r.YieldRate != nil {
		row("recent", "%.0f %% errors, %.0f %% new content, response time %s, %s per page", *r.ErrorRate*100, *r.YieldRate*100,
			time.Duration(r.AvgResponse), explain.Size(r.AvgBytes))
	}
	if !r.Last.IsZero() {
		row("crawled", "first %s, last %s", explain.Stamp(r.First), explain.Stamp(r.Last))
	}
	row("counted", "%s", explain.Stamp(r.CountedAt))
}

// RankCmd ranks domains and pages by their links, counts pages and errors, and orders the domains.
type RankCmd struct {
	Top  int  `default:"10" help:"Number of top domains to show. Default: 10." placeholder:"N"`
	JSON bool `name:"json" help:"Print one JSON object."`
}

const maxRankTop = 100_000

type rankResult struct {
	report.Ranks

	Duration settings.Duration    `json:"duration"`
	Top      []crawl.RankedDomain `json:"top"`
}

// Run ranks, and shows the best domains.
func (c *RankCmd) Run(ctx context.Context, e *command.Env) error {
	if c.Top < 0 || c.Top > maxRankTop {
		return wiring.Usagef("--top %d: want 0 to %d", c.Top, maxRankTop)
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		began := time.Now()
		line := command.NewProgressLine(e)
		// the link texts of a page become part of its keywords
		if err := (&keywords.Writer{Store: store, Logger: e.NewLogger(e.Stderr, slog.LevelWarn)}).Write(ctx); err != nil {
			return err
		}
		showProgress := func(r report.Ranks) {
			line.Show(func(time.Time) string {
				if r.Total == 0 {
					return fmt.Sprintf("%s: %d", r.Step, r.Done)
				}
				return fmt.Sprintf("%s: %d of %d", r.Step, r.Done, r.Total)
			})
		}
		rep, err := recount(ctx, store, showProgress)
		if err == nil {
			rep, err = search.Rank(ctx, store, showProgress)
		}
		line.Clear()
		switch {
		case errors.Is(err, context.Canceled):
			return fmt.Errorf("stopped while %s; the same command starts again, and changes only outdated values", rep.Step)
		case err != nil:
			return err
		}
		out := rankResult{Ranks: rep, Duration: settings.Duration(time.Since(began).Round(time.Millisecond))}
		if out.Top, err = store.BestDomains(ctx, c.Top); err != nil {
			return err
		}
		return command.PrintResult(e, c.JSON, out, printRanks)
	})
}

func recount(ctx context.Context, store *db.Store, showProgress func(report.Ranks)) (rep report.Ranks, err error) {
	for _, s := range []struct {
		name string
		do   func(context.Context, func(int64)) error
	}{
		{"looking up registered domains", store.GroupDomains},
		{"counting domains", store.CountDomains},
		{"ordering domains", store.PrioritizeDomains},
	} {
		rep.Step = s.name
		err := s.do(ctx, func(n int64) {
			rep.Done = n
			showProgress(rep)
		})
		if err != nil {
			return rep, err
		}
	}
	return rep, nil
}

func printRanks(w io.Writer, r rankResult) error {
	fmt.Fprintf(w, "%s between %s to %s, in %s.\n",
		explain.Count(r.Links, "link"), explain.Count(r.Domains, "domain"), explain.Count(r.Pages, "page"), r.Duration)
	if r.Links == 0 {
		fmt.Fprintln(w, "No parsed page links to another domain, so no ranks were computed.")
		return nil
	}
	fmt.Fprintf(w, "Updated %s; %s reordered; %s with new link texts.\n",
		explain.Count(r.Changed, "score"), explain.Count(r.Reprioritized, "page"), explain.Count(r.AnchorsChanged, "page"))
	if len(r.Top) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCORE\tLINKED FROM\tDOMAIN")
	for _, d := range r.Top {
		fmt.Fprintf(t, "%.3f\t%s\t%s\n", d.Score, explain.Count(int64(d.Domains), "domain"), explain.OneLine(d.Domain))
	}
	return command.Flush(t)
}
