package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// WorkersCmd lists the workers, or limits their requests in flight.
type WorkersCmd struct {
	command.ChangePrinter

	MaxFetches *int   `help:"Maximum number of requests in flight of the whole fleet; 0 is no limit." placeholder:"N"`
	Reason     string `help:"Reason to store with the limit." placeholder:"TEXT"`
	All        bool   `help:"Also list stopped workers, the latest first."`
	Limit      int    `help:"Maximum number of workers to list. Default: 100." default:"100" placeholder:"N"`
}

const maxWorkersListed = 10_000

// Validate refuses flags that do not go together, and numbers out of bounds.
func (c *WorkersCmd) Validate() error {
	switch {
	case c.MaxFetches != nil && (*c.MaxFetches < 0 || *c.MaxFetches > crawl.FleetLimitMax):
		return fmt.Errorf("--max-fetches %d: want 0 to %d", *c.MaxFetches, crawl.FleetLimitMax)
	case c.MaxFetches != nil && c.All:
		return errors.New("--all lists workers, and --max-fetches limits them: give one of the two")
	case c.MaxFetches == nil && c.Reason != "":
		return fmt.Errorf("--reason %q needs --max-fetches", c.Reason)
	case c.Limit < 1 || c.Limit > maxWorkersListed:
		return fmt.Errorf("--limit %d: want 1 to %d", c.Limit, maxWorkersListed)
	}
	return nil
}

// Run lists, or sets the limit.
func (c *WorkersCmd) Run(ctx context.Context, e *command.Env) error {
	if c.MaxFetches == nil {
		return command.WithReader(ctx, e, func(store *db.Store) error { return c.list(ctx, e, store) })
	}
	if err := checkReason(c.Reason, 0); err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		limit := crawl.FleetLimit{MaxFetches: *c.MaxFetches, Reason: c.Reason, SetBy: command.CurrentUser()}
		if err := store.SetFleetLimit(ctx, limit); err != nil {
			return err
		}
		message := "The fleet has no limit: within seconds each worker uses its own --max-fetches."
		if limit.MaxFetches > 0 {
			message = fmt.Sprintf("The fleet is limited to %s in flight, within seconds and as requests end. To undo it:\n"+
				"  mosey workers --max-fetches 0", explain.Count(int64(limit.MaxFetches), "request"))
		}
		return c.Print(e, command.Change{Action: "limited", Count: new(int64(limit.MaxFetches)), Message: message})
	})
}

func (c *WorkersCmd) list(ctx context.Context, e *command.Env, store *db.Store) error {
	fleet, err := store.Fleet(ctx, c.All, c.Limit)
	if err != nil {
		return err
	}
	use, err := store.FleetUse(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return command.PrintJSON(e.Stdout, fleet)
	}
	const none = "No worker runs. Start one with mosey up, mosey crawl or the program worker."
	const header = "ID\tWORKER\tVERSION\tROLE\tSINCE\tSEEN\tIN FLIGHT\tWANTED\tSHARE\tSTATE"
	err = command.PrintTable(e, false, fleet.Workers, none, header, func(w report.Worker) string {
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s", w.ID, explain.OneLine(w.Identity),
			explain.OneLine(cmp.Or(w.BuildID, w.Version)), w.Role, explain.Stamp(w.StartedAt), explain.Stamp(w.SeenAt),
			w.InFlight, w.Demand, w.Share, workerState(w, fleet.Now))
	})
	if err != nil {
		return err
	}
	printLimit(e.Stdout, fleet.Limit, use)
	return nil
}

func workerState(w report.Worker, now time.Time) string {
	silent := explain.ApproxDuration(now.Sub(w.SeenAt))
	switch {
	case w.Lost:
		return "presumed dead"
	case !w.StoppedAt.IsZero():
		return "stopped " + explain.Stamp(w.StoppedAt)
	case w.HasLease:
		return "works"
	case w.CountsAgainstLimit:
		return fmt.Sprintf("no report for %s: begins no requests, may finish some", silent)
	}
	return fmt.Sprintf("no report for %s: begins no requests", silent)
}

func printLimit(w io.Writer, l crawl.FleetLimit, use report.FleetUse) {
	if l.MaxFetches == 0 {
		fmt.Fprintln(w, "The fleet has no limit of requests in flight. To set one:\n  mosey workers --max-fetches N")
		return
	}
	fmt.Fprintf(w, "The fleet may have %d requests in flight, and has %d; %d wait. Set by %s on %s", l.MaxFetches, use.InFlight, use.Waiting,
		explain.OneLine(l.SetBy), explain.Stamp(l.SetAt))
	if l.Reason != "" {
		fmt.Fprintf(w, ": %s", explain.OneLine(l.Reason))
	}
	fmt.Fprintln(w)
}
