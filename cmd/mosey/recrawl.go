package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
)

// recrawlCmd asks for pages again.
type recrawlCmd struct {
	wiring.FetchFlags

	OlderThan string `help:"Pages of a run that were fetched longer ago, such as 30d or 12h." xor:"which" required:"" placeholder:"DURATION"`
	Outdated  bool   `help:"Pages on which there is more to find now than when they were read: fetches them in a run of their own." xor:"which" required:""`
	Run_      string `name:"run" help:"Run whose pages to fetch again. Default: default; with --outdated a new one, outdated- and the day." placeholder:"NAME"` //nolint:revive // Run is the method
	Domain    string `help:"Only pages of this domain." placeholder:"DOMAIN"`

	DryRun bool          `help:"With --outdated: only say how many they are."`
	For    time.Duration `help:"With --outdated: stop after this long, as Ctrl-C does." placeholder:"DURATION"`
	JSON   bool          `name:"json" help:"With --outdated: print one JSON object a line."`
}

// Run makes the pages pending. It can be ended and begun again at any time.
func (r *recrawlCmd) Run(ctx context.Context, e *env) (err error) {
	if r.Domain, err = domainFlag(r.Domain); err != nil {
		return err
	}
	if r.Outdated {
		return r.outdated(ctx, e)
	}
	if r.DryRun || r.For != 0 || r.JSON {
		return wiring.Usagef("--dry-run, --for and --json are for --outdated")
	}
	age, err := parseDays(r.OlderThan)
	if err != nil {
		return wiring.Usagef("--older-than %q: %w", r.OlderThan, err)
	}
	return withStore(ctx, e, func(store *db.Store) error {
		run, err := namedRun(ctx, store, cmp.Or(r.Run_, "default"))
		if err != nil {
			return err
		}
		line, pending := newProgressLine(e), 0
		err = store.RecrawlOlder(ctx, run.ID, r.Domain, time.Now().Add(-age), crawl.RecrawlProgress{}, func(p crawl.RecrawlProgress) {
			pending = p.Pending
			line.show(func(time.Time) string { return count(int64(pending), "page") + " pending" })
		})
		line.clear()
		if err != nil {
			return fmt.Errorf("stopped after %s: %w", count(int64(pending), "page"), err)
		}
		fmt.Fprintf(e.stdout, "%s of run %s to fetch again.\n", count(int64(pending), "page"), run.Name)
		if run, err = store.Run(ctx, run.Name); err != nil {
			return err
		}
		switch {
		case pending == 0:
		case run.Status == crawl.RunRunning:
			tellRun(ctx, e, store, run, false)
		default:
			fmt.Fprintf(e.stdout, "It is %s. To have it go on:\n  mosey resume run:%s\n", run.Status, run.Name)
		}
		return nil
	})
}

// parseDays reads a duration that may be in days.
func parseDays(text string) (time.Duration, error) {
	const most = 1<<15 - 1
	days, span, ok := parseAge(text, most)
	if !ok {
		return 0, errors.New("want a number and a unit, such as 30d or 12h")
	}
	return time.Duration(days)*24*time.Hour + span, nil
}

// outdated says how many pages were read before there was as much to find on them as there
// is now, and fetches them.
func (r *recrawlCmd) outdated(ctx context.Context, e *env) error {
	r.Run_ = cmp.Or(r.Run_, "outdated-"+time.Now().UTC().Format(time.DateOnly))
	again := &crawlCmd{
		FetchFlags: r.FetchFlags, Run_: r.Run_, For: r.For, JSON: r.JSON,
		// the pages themselves, whenever they were fetched
		runSettings: runSettings{settings: settings.Settings{MaxDepth: new(0), MinRefetch: new(settings.Duration(0))}},
	}
	if err := again.validate(); err != nil {
		return err
	}
	due, err := r.stageOutdated(ctx, e, again)
	if err != nil {
		return err
	}
	if err := r.printOutdated(e, due); err != nil || r.DryRun || due.Pages == 0 {
		return err
	}
	return again.Run(ctx, e)
}

// stageOutdated counts the pages and, unless that is all, makes them seeds of the run.
func (r *recrawlCmd) stageOutdated(ctx context.Context, e *env, again *crawlCmd) (due report.Outdated, err error) {
	err = withStore(ctx, e, func(store *db.Store) error {
		if due, err = store.Outdated(ctx, r.Domain); err != nil || r.DryRun || due.Pages == 0 {
			return err
		}
		run, err := store.EnsureRun(ctx, r.Run_, whoami(), again.settings)
		if err != nil {
			return err
		}
		_, err = store.StageOutdated(ctx, run.ID, r.Domain)
		return err
	})
	return due, err
}

func (r *recrawlCmd) printOutdated(e *env, due report.Outdated) error {
	if r.JSON {
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
