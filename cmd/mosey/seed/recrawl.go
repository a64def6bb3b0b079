package seed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// RecrawlCmd requests pages again.
type RecrawlCmd struct {
	command.RunSettings
	wiring.FetchFlags

	URLs []string `arg:"" optional:"" name:"url" help:"Pages to fetch now, before all others of their domains. Delays and robots.txt still apply."`

	OlderThan string               `help:"Pages of a run whose last fetch is older than this age, such as 30d or 12h." xor:"which" placeholder:"DURATION"`
	Outdated  bool                 `help:"Pages that an older Mosey parsed, which found less on them. They are fetched in a separate run." xor:"which"`
	Run_      string               `name:"run" help:"Run whose pages are fetched again. Default: default; with --outdated a new run named outdated- and the date." placeholder:"NAME"` //nolint:revive // Run is the method
	Domain    string               `help:"Only pages of this domain." placeholder:"DOMAIN"`
	Only      settings.RefreshKind `help:"With --older-than: fetch only pages or only images." enum:",${refresh_kinds}" default:"" placeholder:"pages|images"`
	Into      string               `help:"With --older-than: fetch the pages in a separate run of this name. It has the settings of --run, but follows no links and has no limits. Settings such as --max-depth and --delay apply to it." placeholder:"NAME"`

	DryRun bool          `help:"With --outdated: only count the pages."`
	For    time.Duration `help:"With --outdated or --into: stop after this time, as Ctrl-C does. Default: no limit." placeholder:"DURATION"`
	Detach bool          `help:"With --outdated or --into: let the running Mosey crawl, as with mosey crawl --detach. Always so if a Mosey uses the data directory."`
	JSON   bool          `name:"json" help:"Print one JSON object; with --outdated or --into one per line."`
}

// Run makes the pages pending. It can be interrupted and repeated at any time.
func (r *RecrawlCmd) Run(ctx context.Context, e *command.Env) (err error) {
	if r.Domain, err = command.DomainFlag(r.Domain); err != nil {
		return err
	}
	if err := r.checkFlags(); err != nil {
		return err
	}
	switch {
	case r.Outdated:
		return r.recrawlOutdated(ctx, e)
	case len(r.URLs) > 0:
		return r.recrawlURLs(ctx, e)
	}
	return r.recrawlOlder(ctx, e)
}

func (r *RecrawlCmd) checkFlags() error {
	modes := 0
	for _, isSet := range []bool{r.Outdated, len(r.URLs) > 0, r.OlderThan != ""} {
		if isSet {
			modes++
		}
	}
	ownRun := r.Outdated || r.Into != ""
	switch {
	case modes != 1:
		return wiring.Usagef("give either URLs, --older-than or --outdated")
	case r.OlderThan == "" && (r.Only != "" || r.Into != ""):
		return wiring.Usagef("--only and --into need --older-than")
	case r.DryRun && !r.Outdated:
		return wiring.Usagef("--dry-run needs --outdated")
	case (r.For != 0 || r.Detach) && !ownRun:
		return wiring.Usagef("--for and --detach need --outdated or --into")
	case len(r.URLs) > 0 && r.Domain != "":
		return wiring.Usagef("--domain does not apply to URLs: leave it out")
	}
	if typed := r.TypedFlags(); len(typed) > 0 && !ownRun {
		return wiring.Usagef("%s: settings need a separate run: give --into, or use mosey set run:%s", typed[0], r.runName())
	}
	return nil
}

func (r *RecrawlCmd) runName() string { return cmp.Or(r.Run_, "default") }

func (r *RecrawlCmd) recrawlURLs(ctx context.Context, e *command.Env) error {
	names := make([]urls.Name, len(r.URLs))
	faults := make([]error, len(r.URLs))
	for i, text := range r.URLs {
		names[i], faults[i] = urls.ReadPage(text)
	}
	if err := errors.Join(faults...); err != nil {
		return wiring.Usagef("%w", err)
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		run, err := command.NamedRun(ctx, store, r.runName())
		if err != nil {
			return err
		}
		pages := make([]urls.URL, len(names))
		for i, name := range names {
			if pages[i], err = explain.FindPage(ctx, store, name); err != nil {
				return err
			}
		}
		prioritized, err := store.RecrawlNow(ctx, run, pages)
		if err != nil {
			return command.InvalidAsUsage(err)
		}
		message := fmt.Sprintf("Run %s fetches %s first.", run.Name, explain.Count(int64(prioritized), "page"))
		if err := r.reportPending(ctx, e, store, run.Name, prioritized, message); err != nil {
			return err
		}
		domains := make(map[string]bool)
		for _, u := range pages {
			if domain := u.Domain(); !domains[domain] {
				domains[domain] = true
				command.WakeDomain(ctx, e, store, domain) // its next action has changed
			}
		}
		return nil
	})
}

// reportPending reports pending pages and notifies the run's crawler.
func (r *RecrawlCmd) reportPending(ctx context.Context, e *command.Env, store *db.Store, name string, pending int, message string) error {
	run, err := store.Run(ctx, name)
	if err != nil {
		return err
	}
	if pending > 0 && run.Status != crawl.RunRunning {
		message += fmt.Sprintf("\nIt is %s. To resume it:\n  mosey resume run:%s", run.Status, run.Name)
	}
	answer := command.ChangePrinter{JSON: r.JSON}
	if err := answer.Print(e, command.Change{Action: "pending", Run: run.Name, Count: new(int64(pending)), Message: message}); err != nil {
		return err
	}
	if pending > 0 && run.Status == crawl.RunRunning {
		command.NotifyRun(ctx, e, store, run, false)
	}
	return nil
}

// recrawlOlder requests pages fetched long ago, in their own run or in another.
func (r *RecrawlCmd) recrawlOlder(ctx context.Context, e *command.Env) error {
	age, err := command.ParseAge(r.OlderThan)
	if err != nil {
		return wiring.Usagef("--older-than %q: %w", r.OlderThan, err)
	}
	input := activities.RecrawlInput{Run: r.runName(), OlderThan: settings.Duration(age), Into: r.Into, RefreshKind: r.Only}
	if err := input.Validate(); err != nil {
		return wiring.Usagef("%w", err)
	}
	pending := 0
	err = command.WithStore(ctx, e, func(store *db.Store) error {
		run, err := command.NamedRun(ctx, store, r.runName())
		if err != nil {
			return err
		}
		if r.Only == settings.RefreshImages && !run.Settings.TakesImages() {
			return wiring.Usagef("--only images: run %s takes no images", run.Name)
		}
		into, err := store.RefreshRun(ctx, run, r.Into, command.CurrentUser(), r.Only, r.Settings)
		if err != nil {
			return err
		}
		of := crawl.RecrawlSelection{RunID: run.ID, IntoID: into.ID, Domain: r.Domain, Before: time.Now().Add(-age), RefreshKind: r.Only}
		line := command.NewProgressLine(e)
		err = store.RecrawlOlder(ctx, of, crawl.RecrawlProgress{}, func(p crawl.RecrawlProgress) {
			pending = p.Pending
			line.Show(func(time.Time) string { return explain.Count(int64(pending), "page") + " pending" })
		})
		line.Clear()
		if err != nil {
			return fmt.Errorf("stopped after %s: %w", explain.Count(int64(pending), "page"), err)
		}
		pages := explain.Count(int64(pending), "page")
		if r.Into == "" {
			return r.reportPending(ctx, e, store, run.Name, pending, fmt.Sprintf("Run %s fetches %s again.", run.Name, pages))
		}
		message := fmt.Sprintf("Run %s fetches %s of run %s again.", r.Into, pages, run.Name)
		answer := command.ChangePrinter{JSON: r.JSON}
		return answer.Print(e, command.Change{Action: "pending", Run: r.Into, Count: new(int64(pending)), Message: message})
	})
	if err != nil || r.Into == "" || pending == 0 {
		return err
	}
	return r.crawl(ctx, e, &CrawlCmd{Run_: r.Into})
}

// crawl fetches the pending pages, by the Mosey that holds the data directory if one runs.
func (r *RecrawlCmd) crawl(ctx context.Context, e *command.Env, crawlCmd *CrawlCmd) (err error) {
	crawlCmd.FetchFlags, crawlCmd.For, crawlCmd.JSON, crawlCmd.Detach = r.FetchFlags, r.For, r.JSON, r.Detach
	if !crawlCmd.Detach && e.Environ.Get("DATABASE_URL") == "" {
		if _, crawlCmd.Detach, err = command.RunningMosey(e); err != nil {
			return err
		}
	}
	if err := crawlCmd.validate(); err != nil {
		return err
	}
	return crawlCmd.Run(ctx, e)
}

// recrawlOutdated counts the pages read by an older extractor, and fetches them.
func (r *RecrawlCmd) recrawlOutdated(ctx context.Context, e *command.Env) error {
	r.Run_ = cmp.Or(r.Run_, "outdated-"+time.Now().UTC().Format(time.DateOnly))
	crawlCmd := &CrawlCmd{
		Run_: r.Run_,
		// the pages alone, whatever their age, unless settings differ
		RunSettings: r.RunSettings,
	}
	crawlCmd.Settings.MaxDepth = cmp.Or(crawlCmd.Settings.MaxDepth, new(0))
	crawlCmd.Settings.MinRefetch = cmp.Or(crawlCmd.Settings.MinRefetch, new(settings.Duration(0)))
	if err := crawlCmd.validate(); err != nil {
		return err
	}
	due, err := r.stageOutdated(ctx, e, crawlCmd)
	if err != nil {
		return err
	}
	if err := r.printOutdated(e, due); err != nil || r.DryRun || due.Pages == 0 {
		return err
	}
	return r.crawl(ctx, e, crawlCmd)
}

// stageOutdated counts the pages and makes them seeds of the run, except in a dry run.
func (r *RecrawlCmd) stageOutdated(ctx context.Context, e *command.Env, crawlCmd *CrawlCmd) (due report.OutdatedCounts, err error) {
	err = command.WithStore(ctx, e, func(store *db.Store) error {
		if due, err = store.Outdated(ctx, r.Domain); err != nil || r.DryRun || due.Pages == 0 {
			return err
		}
		run, err := store.EnsureRun(ctx, r.Run_, command.CurrentUser(), crawlCmd.Settings)
		if err != nil {
			return err
		}
		_, err = store.StageOutdated(ctx, run.ID, r.Domain)
		return err
	})
	return due, err
}

func (r *RecrawlCmd) printOutdated(e *command.Env, due report.OutdatedCounts) error {
	if r.JSON {
		return command.PrintJSON(e.Stdout, due)
	}
	if due.Pages == 0 {
		fmt.Fprintln(e.Stdout, "No page is outdated.")
	} else {
		fmt.Fprintf(e.Stdout, "Outdated: %s of %s.\n", explain.Count(due.Pages, "page"), explain.Count(due.Domains, "domain"))
	}
	if due.Closed > 0 {
		fmt.Fprintf(e.Stdout, "Not included: %s of domains that are paused, stopped, blocked or abandoned.\n", explain.Count(due.Closed, "page"))
	}
	return nil
}
