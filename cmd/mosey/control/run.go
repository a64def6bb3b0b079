package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
)

// runArgument reads the name of a run, run:NAME; false is that it is that of a domain.
func runArgument(text string) (name string, is bool, err error) {
	name, is = strings.CutPrefix(text, command.RunPrefix)
	if !is {
		return "", false, nil
	}
	if err := crawl.ValidateRunName(name); err != nil {
		return "", true, wiring.Usagef("%w", err)
	}
	return name, true, nil
}

// changeRun makes a change to a run, says what has come of it and tells the dispatcher.
func changeRun(
	ctx context.Context, e *command.Env, a command.Answer, name string, c crawl.RunChange, done func(crawl.Run) command.Change,
) error {
	if err := checkReason(c.Reason, 0); err != nil {
		return err
	}
	c.SetBy = command.Whoami()
	return command.WithStore(ctx, e, func(store *db.Store) error {
		run, err := store.ChangeRun(ctx, name, c)
		switch {
		case errors.Is(err, crawl.ErrNotFound):
			return command.UnknownRun(name)
		case err != nil:
			return err
		}
		change := done(run)
		change.Run = run.Name
		if err := a.Tell(e, change); err != nil {
			return err
		}
		command.TellRun(ctx, e, store, run, c.Action == crawl.ChangeSet)
		return nil
	})
}

// setRun changes settings of a run.
func setRun(ctx context.Context, e *command.Env, a command.Answer, name, reason string, pairs []string) error {
	if len(pairs) == 0 {
		return wiring.Usagef("set run:%s: nothing to set: want name=value, such as delay=5s; mosey status %s shows the settings", name, name)
	}
	set, err := settings.Parse(pairs)
	if err == nil {
		err = politeness.ValidateSettings(set)
	}
	if err != nil {
		return wiring.Usagef("set run:%s: %w", name, err)
	}
	change := crawl.RunChange{Action: crawl.ChangeSet, Settings: set, Reason: reason}
	return changeRun(ctx, e, a, name, change, func(run crawl.Run) command.Change {
		said := fmt.Sprintf("Run %s is set, from the next request on.", run.Name)
		if run.Status != crawl.RunRunning {
			said += fmt.Sprintf(" It is %s. To have it go on:\n  mosey resume run:%s", run.Status, run.Name)
		}
		return command.Change{Did: "set", Says: said}
	})
}

// StopCmd stops a domain or a run.
type StopCmd struct {
	command.Answer

	Name   string `arg:"" help:"Domain, such as example.org, or run:NAME."`
	Reason string `help:"Why, for those who ask later." placeholder:"TEXT"`
}

// Run stops it, from the next request on: a domain until it is seeded again, a run until it
// is resumed.
func (s *StopCmd) Run(ctx context.Context, e *command.Env) error {
	name, is, err := runArgument(s.Name)
	switch {
	case err != nil:
		return err
	case is:
		return changeRun(ctx, e, s.Answer, name, crawl.RunChange{Action: crawl.ChangeStop, Reason: s.Reason}, func(run crawl.Run) command.Change {
			return command.Change{Did: "stopped", Says: fmt.Sprintf(
				"Run %s is stopped; what is pending is kept. To have it go on:\n  mosey resume run:%s", run.Name, run.Name,
			)}
		})
	}
	if err := checkReason(s.Reason, 0); err != nil {
		return err
	}
	return control(ctx, e, s.Answer, s.Name, crawl.Control{Type: crawl.ControlStop, Reason: s.Reason}, func(name string) command.Change {
		return command.Change{Did: "stopped", Says: fmt.Sprintf(
			"%s is stopped in all runs until it is seeded again. To undo it:\n  mosey unblock %s", name, name,
		)}
	})
}
