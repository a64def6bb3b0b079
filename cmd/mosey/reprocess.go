package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// reprocessCmd has pages fetched again that were read before there was as much to find
// on them as there is now.
type reprocessCmd struct {
	wiring.FetchFlags

	Domain string        `help:"Only pages of this domain." placeholder:"DOMAIN"`
	Run_   string        `name:"run" help:"Name of the run that fetches them. Default: reprocess- and the day." placeholder:"NAME"` //nolint:revive // Run is the method
	DryRun bool          `help:"Only say how many they are."`
	For    time.Duration `help:"Stop after this long, as Ctrl-C does." placeholder:"DURATION"`
	JSON   bool          `name:"json" help:"Print one JSON object a line."`
}

// Run says how many pages are due, and fetches them.
func (c *reprocessCmd) Run(ctx context.Context, e *env) error {
	var err error
	if c.Domain, err = domainFlag(c.Domain); err != nil {
		return err
	}
	if c.Run_ == "" {
		c.Run_ = "reprocess-" + time.Now().UTC().Format(time.DateOnly)
	}
	again := &crawlCmd{
		FetchFlags: c.FetchFlags, Run_: c.Run_, For: c.For, JSON: c.JSON,
		// the pages themselves, whenever they were fetched
		runSettings: runSettings{settings: crawl.Settings{MaxDepth: new(0), MinRefetch: new(crawl.Duration(0))}},
	}
	if err := again.validate(); err != nil {
		return err
	}
	due, err := c.stage(ctx, e, again)
	if err != nil {
		return err
	}
	if err := c.print(e, due); err != nil || c.DryRun || due.Pages == 0 {
		return err
	}
	return again.Run(ctx, e)
}

// stage counts the pages and, unless that is all, makes them seeds of the run.
func (c *reprocessCmd) stage(ctx context.Context, e *env, again *crawlCmd) (due crawl.Outdated, err error) {
	err = withStore(ctx, e, func(store *db.Store) error {
		if due, err = store.Outdated(ctx, c.Domain); err != nil || c.DryRun || due.Pages == 0 {
			return err
		}
		run, err := store.EnsureRun(ctx, c.Run_, whoami(), again.settings)
		if err != nil {
			return err
		}
		_, err = store.StageOutdated(ctx, run.ID, c.Domain)
		return err
	})
	return due, err
}

func (c *reprocessCmd) print(e *env, due crawl.Outdated) error {
	if c.JSON {
		return printJSON(e.stdout, due)
	}
	if due.Pages == 0 {
		fmt.Fprintln(e.stdout, "No page has to be read again.")
	} else {
		fmt.Fprintf(e.stdout, "%s of %s to be read again.\n", count(due.Pages, "page"), count(due.Domains, "domain"))
	}
	if due.Closed > 0 {
		fmt.Fprintf(e.stdout, "%s more of domains that are paused, stopped, blocked or given up.\n", count(due.Closed, "page"))
	}
	return nil
}
