package show

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/keywords"
	"github.com/mosey-web/mosey/search"
)

// RankCmd ranks domains and pages by the links to them. It also counts the pages and errors of each
// domain, and computes the order of the domains.
type RankCmd struct {
	Top  int  `default:"10" help:"How many of the best domains to show." placeholder:"N"`
	JSON bool `name:"json" help:"Print one JSON object."`
}

// rankTop caps --top.
const rankTop = 100_000

// ranked is what the command prints as JSON.
type ranked struct {
	report.Ranks

	Took settings.Duration    `json:"took"`
	Top  []crawl.RankedDomain `json:"top"`
}

// Run ranks, and shows the best domains.
func (c *RankCmd) Run(ctx context.Context, e *command.Env) error {
	if c.Top < 0 || c.Top > rankTop {
		return wiring.Usagef("--top %d: want 0 to %d", c.Top, rankTop)
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		began := time.Now()
		line := command.NewProgressLine(e)
		// what others call a page is folded into its keywords
		if err := (&keywords.Writer{Store: store, Logger: e.NewLogger(e.Stderr, slog.LevelWarn)}).Write(ctx); err != nil {
			return err
		}
		told := func(r report.Ranks) { line.Show(func(time.Time) string { return rankStep(r) }) }
		rep, err := recount(ctx, store, told)
		if err == nil {
			rep, err = search.Rank(ctx, store, told)
		}
		line.Clear()
		switch {
		case errors.Is(err, context.Canceled):
			return fmt.Errorf("stopped while %s; the same command begins again, and changes only what is not as it should be", rep.Step)
		case err != nil:
			return err
		}
		out := ranked{Ranks: rep, Took: settings.Duration(time.Since(began).Round(time.Millisecond))}
		if out.Top, err = store.BestDomains(ctx, c.Top); err != nil {
			return err
		}
		if c.JSON {
			return command.PrintJSON(e.Stdout, out)
		}
		return out.print(e)
	})
}

// recount counts what is known of domains and works out their order, and returns the step that it came to.
func recount(ctx context.Context, store *db.Store, told func(report.Ranks)) (rep report.Ranks, err error) {
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
			told(rep)
		})
		if err != nil {
			return rep, err
		}
	}
	return rep, nil
}

// rankStep is how far the computation is, for people.
func rankStep(r report.Ranks) string {
	if r.Of == 0 {
		return fmt.Sprintf("%s: %d", r.Step, r.Done)
	}
	return fmt.Sprintf("%s: %d of %d", r.Step, r.Done, r.Of)
}

func (r ranked) print(e *command.Env) error {
	fmt.Fprintf(e.Stdout, "%s between %s to %s, in %s.\n",
		explain.Count(r.Links, "link"), explain.Count(r.Domains, "domain"), explain.Count(r.Pages, "page"), r.Took)
	if r.Links == 0 {
		fmt.Fprintln(e.Stdout, "No page that was read links to another domain: there is nothing to rank by.")
		return nil
	}
	fmt.Fprintf(e.Stdout, "Changed: %s, the place in line of %s, the anchors of %s.\n",
		explain.Count(r.Changed, "score"), explain.Count(r.Moved, "page"), explain.Count(r.Called, "page"))
	if len(r.Top) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCORE\tLINKED FROM\tDOMAIN")
	for _, d := range r.Top {
		fmt.Fprintf(t, "%.3f\t%s\t%s\n", d.Score, explain.Count(int64(d.Domains), "domain"), explain.OneLine(d.Domain))
	}
	return command.Flush(t)
}
