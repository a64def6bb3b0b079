package show

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
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
		return wiring.Usagef("--outcome %q: want %s", c.Outcome, outcomeNames())
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

// outcomeNames lists the outcomes for people.
func outcomeNames() string {
	names := make([]string, 0, len(crawl.Outcomes()))
	for _, o := range crawl.Outcomes() {
		names = append(names, string(o))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
