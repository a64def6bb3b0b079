package show

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// DomainsCmd lists domains.
type DomainsCmd struct {
	Status string  `help:"Only those: pending, active, exhausted, blocked or unreachable." placeholder:"STATUS"`
	Source string  `help:"Only those that a list of this kind has named, such as tranco." placeholder:"SOURCE"`
	Errors float32 `help:"Only those of whose last requests at least this share failed, from 0 to 1." placeholder:"SHARE"`
	Rank   int     `help:"Only those up to this place on their list." placeholder:"N"`
	Due    bool    `help:"Only those of which something is due now."`
	Waits  string  `help:"Only those that are served and wait for this reason, such as crawl-delay." placeholder:"REASON"`
	Lang   string  `help:"Only those with a page in this language, a tag such as de." placeholder:"TAG"`
	Sort   string  `help:"By priority, name, rank, pages, found, bytes, errors, slow or last. Default: priority." default:"priority" placeholder:"WHAT"`
	Limit  int     `help:"How many to list at most. Default: 20." default:"20" placeholder:"N"`
	JSON   bool    `name:"json" help:"Print one JSON object a line."`
}

// domainsMost caps --limit.
const domainsMost = 1_000_000

// Run prints the domains.
func (d *DomainsCmd) Run(ctx context.Context, e *command.Env) error {
	query := report.DomainQuery{
		Status: crawl.DomainStatus(d.Status), Source: d.Source, Errors: d.Errors, Rank: d.Rank, Due: d.Due,
		Language: d.Lang, Waits: reasons.Reason(d.Waits),
		Sort: d.Sort, Limit: d.Limit,
	}
	if err := query.Check(); err != nil {
		return wiring.Usagef("--%w", err)
	}
	if d.Limit < 1 || d.Limit > domainsMost {
		return wiring.Usagef("--limit %d: want 1 to %d", d.Limit, domainsMost)
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		all, err := store.Domains(ctx, query)
		if err != nil {
			return err
		}
		if d.JSON {
			return command.PrintLines(e.Stdout, all)
		}
		if len(all) == 0 {
			fmt.Fprintln(e.Stderr, "No such domains.")
			return nil
		}
		counts, about, err := store.DomainsByStatus(ctx)
		if err != nil {
			return err
		}
		if err := printListing(e, all); err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, explain.Domains(counts, about))
		return nil
	})
}

func printListing(e *command.Env, all []report.DomainListing) error {
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DOMAIN\tSTATUS\tSCORE\tRANK\tPAGES\tFOUND\tERRORS OF LATE\tANSWERS OF LATE IN\tLAST CRAWLED\tWHY")
	for _, d := range all {
		rank, errs, took, last := "-", "-", "-", "-"
		if d.Rank > 0 {
			rank = strconv.Itoa(d.Rank)
		}
		if d.ErrorRate != nil {
			errs, took = fmt.Sprintf("%.0f %%", *d.ErrorRate*100), time.Duration(d.AvgResponse).String()
		}
		if !d.Last.IsZero() {
			last = explain.Stamp(d.Last)
		}
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n",
			explain.OneLine(d.Domain), d.Status, d.Score, rank, d.Crawled, d.Discovered, errs, took, last, explain.OneLine(d.Reason))
	}
	return command.Flush(t)
}
