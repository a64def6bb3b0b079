package seed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/cmd/mosey/show"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// RecrawlCmd asks for pages again.
type RecrawlCmd struct {
	wiring.FetchFlags

	OlderThan string `help:"Pages of a run that were fetched longer ago, such as 30d or 12h." xor:"which" required:"" placeholder:"DURATION"`
	Outdated  bool   `help:"Pages on which there is more to find now than when they were read: fetches them in a run of their own." xor:"which" required:""`
	Run_      string `name:"run" help:"Run whose pages to fetch again. Default: default; with --outdated a new one, outdated- and the day." placeholder:"NAME"` //nolint:revive // Run is the method
	Domain    string `help:"Only pages of this domain." placeholder:"DOMAIN"`

	DryRun bool          `help:"With --outdated: only say how many they are."`
	For    time.Duration `help:"With --outdated: stop after this long, as Ctrl-C does." placeholder:"DURATION"`
	JSON   bool          `name:"json" help:"Print one JSON object; with --outdated one a line."`
}

// Run makes the pages pending. It can be ended and begun again at any time.
func (r *RecrawlCmd) Run(ctx context.Context, e *command.Env) (err error) {
	if r.Domain, err = command.DomainFlag(r.Domain); err != nil {
		return err
	}
	if r.Outdated {
		return r.outdated(ctx, e)
	}
	if r.DryRun || r.For != 0 {
		return wiring.Usagef("--dry-run and --for are for --outdated")
	}
	age, err := ParseDays(r.OlderThan)
	if err != nil {
		return wiring.Usagef("--older-than %q: %w", r.OlderThan, err)
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		run, err := command.NamedRun(ctx, store, cmp.Or(r.Run_, "default"))
		if err != nil {
			return err
		}
		line, pending := command.NewProgressLine(e), 0
		err = store.RecrawlOlder(ctx, run.ID, r.Domain, time.Now().Add(-age), crawl.RecrawlProgress{}, func(p crawl.RecrawlProgress) {
			pending = p.Pending
			line.Show(func(time.Time) string { return explain.Count(int64(pending), "page") + " pending" })
		})
		line.Clear()
		if err != nil {
			return fmt.Errorf("stopped after %s: %w", explain.Count(int64(pending), "page"), err)
		}
		if run, err = store.Run(ctx, run.Name); err != nil {
			return err
		}
		says := fmt.Sprintf("%s of run %s to fetch again.", explain.Count(int64(pending), "page"), run.Name)
		if pending > 0 && run.Status != crawl.RunRunning {
			says += fmt.Sprintf("\nIt is %s. To have it go on:\n  mosey resume run:%s", run.Status, run.Name)
		}
		answer := command.Answer{JSON: r.JSON}
		if err := answer.Tell(e, command.Change{Did: "pending", Run: run.Name, Count: new(int64(pending)), Says: says}); err != nil {
			return err
		}
		if pending > 0 && run.Status == crawl.RunRunning {
			command.TellRun(ctx, e, store, run, false)
		}
		return nil
	})
}

// ParseDays reads a duration that may be in days.
func ParseDays(text string) (time.Duration, error) {
	const most = 1<<15 - 1
	days, span, ok := show.ParseAge(text, most)
	if !ok {
		return 0, errors.New("want a number and a unit, such as 30d or 12h")
	}
	return time.Duration(days)*24*time.Hour + span, nil
}

// outdated says how many pages were read before there was as much to find on them as there
// is now, and fetches them.
func (r *RecrawlCmd) outdated(ctx context.Context, e *command.Env) error {
	r.Run_ = cmp.Or(r.Run_, "outdated-"+time.Now().UTC().Format(time.DateOnly))
	again := &CrawlCmd{
		FetchFlags: r.FetchFlags, Run_: r.Run_, For: r.For, JSON: r.JSON,
		// the pages themselves, whenever they were fetched
		RunSettings: command.RunSettings{Settings: settings.Settings{MaxDepth: new(0), MinRefetch: new(settings.Duration(0))}},
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
func (r *RecrawlCmd) stageOutdated(ctx context.Context, e *command.Env, again *CrawlCmd) (due report.Outdated, err error) {
	err = command.WithStore(ctx, e, func(store *db.Store) error {
		if due, err = store.Outdated(ctx, r.Domain); err != nil || r.DryRun || due.Pages == 0 {
			return err
		}
		run, err := store.EnsureRun(ctx, r.Run_, command.Whoami(), again.Settings)
		if err != nil {
			return err
		}
		_, err = store.StageOutdated(ctx, run.ID, r.Domain)
		return err
	})
	return due, err
}

func (r *RecrawlCmd) printOutdated(e *command.Env, due report.Outdated) error {
	if r.JSON {
		return command.PrintJSON(e.Stdout, due)
	}
	if due.Pages == 0 {
		fmt.Fprintln(e.Stdout, "No page has to be read again.")
	} else {
		fmt.Fprintf(e.Stdout, "%s of %s to be read again.\n", explain.Count(due.Pages, "page"), explain.Count(due.Domains, "domain"))
	}
	if due.Closed > 0 {
		fmt.Fprintf(e.Stdout, "%s more of domains that are paused, stopped, blocked or given up.\n", explain.Count(due.Closed, "page"))
	}
	return nil
}
