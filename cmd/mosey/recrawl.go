package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
)

// recrawlCmd asks for pages again.
type recrawlCmd struct {
	OlderThan string `help:"Pages that were fetched longer ago, such as 30d or 12h." required:"" placeholder:"DURATION"`
	Run_      string `name:"run" help:"Run whose pages to fetch again. Default: default." default:"default" placeholder:"NAME"` //nolint:revive // Run is the method
	Domain    string `help:"Only pages of this domain." placeholder:"DOMAIN"`
}

// Run makes the pages pending. It can be ended and begun again at any time.
func (r *recrawlCmd) Run(ctx context.Context, e *env) error {
	age, err := parseDays(r.OlderThan)
	if err != nil {
		return wiring.Usagef("--older-than %q: %w", r.OlderThan, err)
	}
	domain, err := domainFlag(r.Domain)
	if err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		run, err := namedRun(ctx, store, r.Run_)
		if err != nil {
			return err
		}
		line, pending := newProgressLine(e), 0
		err = store.RecrawlOlder(ctx, run.ID, domain, time.Now().Add(-age), crawl.RecrawlProgress{}, func(p crawl.RecrawlProgress) {
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
