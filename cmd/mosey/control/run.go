package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/workflows"
)

// ScheduleCmd manages schedules in Temporal.
type ScheduleCmd struct {
	Add    scheduleAddCmd    `cmd:"" help:"Add a schedule that seeds a run from a list (--source) or URLs, or fetches pages again (--older-than)."`
	List   scheduleListCmd   `cmd:"" default:"withargs" help:"List schedules."`
	Remove scheduleRemoveCmd `cmd:"" help:"Remove a schedule."`
}

type scheduleAddCmd struct {
	command.ChangePrinter

	Name string   `arg:"" help:"Name of the schedule."`
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	Run_  string        `name:"run" help:"Name of the run. Default: default." default:"default" placeholder:"NAME"` //nolint:revive // Run is the method
	Every time.Duration `help:"Interval between two actions, such as 168h." placeholder:"DURATION"`
	Cron  string        `help:"Cron line of five fields, in UTC, such as '0 3 * * 1'." placeholder:"LINE"`

	Source    string `help:"List to seed: tranco, majestic, or urls, csv or opml from --url or --file." placeholder:"SOURCE"`
	File      string `help:"Name of a file in the workers' --seed-dir." placeholder:"FILE"`
	URL       string `name:"url" help:"URL to download the list from. Default: its publisher's." placeholder:"URL"`
	Column    string `help:"Column of a CSV file with the seeds." placeholder:"NAME|N"`
	Limit     int64  `help:"Maximum number of entries to read; 0 is all." placeholder:"N"`
	OlderThan string `help:"Fetch pages again whose last fetch is older than this age, such as 30d." placeholder:"DURATION"`
	Domain    string `help:"With --older-than: only pages of this domain." placeholder:"DOMAIN"`

	Into string               `help:"With --older-than: fetch the pages in a separate run of this name, as mosey recrawl does." placeholder:"NAME"`
	Only settings.RefreshKind `help:"With --older-than: fetch only pages or only images." placeholder:"pages|images"`
	Set  []string             `help:"With --into: setting of the separate run, such as delay=30s. Repeatable." placeholder:"NAME=VALUE" sep:"none"`
}

func (s *scheduleAddCmd) schedule() (workflows.Schedule, error) {
	out := workflows.Schedule{Name: s.Name, Every: settings.Duration(s.Every), Cron: s.Cron}
	list := activities.SeedFile{Source: seeds.Source(s.Source), File: s.File, URL: s.URL, Column: s.Column, Limit: s.Limit}
	seeding := len(s.URLs) > 0 || list != (activities.SeedFile{})
	if seeding == (s.OlderThan != "") {
		return out, errors.New("give seeds (--source or URLs) or --older-than")
	}
	if seeding && (s.Domain != "" || s.Into != "" || s.Only != "" || len(s.Set) > 0) {
		return out, errors.New("--domain, --into, --only and --set need --older-than")
	}
	if seeding {
		out.Seed = &workflows.SeedInput{Run: s.Run_, URLs: s.URLs, SeedFile: list}
		return out, out.Validate()
	}
	age, err := command.ParseAge(s.OlderThan)
	if err != nil {
		return out, fmt.Errorf("--older-than %q: %w", s.OlderThan, err)
	}
	domain, err := command.DomainFlag(s.Domain)
	if err != nil {
		return out, err
	}
	out.Recrawl = &activities.RecrawlInput{Run: s.Run_, OlderThan: settings.Duration(age), Domain: domain, Into: s.Into, RefreshKind: s.Only}
	if len(s.Set) > 0 {
		set, err := settings.Parse(s.Set)
		if err != nil {
			return out, fmt.Errorf("--set: %w", err)
		}
		out.Recrawl.Settings = &set
	}
	return out, out.Validate()
}

func (s *scheduleAddCmd) Run(ctx context.Context, e *command.Env) error {
	schedule, err := s.schedule()
	if err != nil {
		return wiring.Usagef("schedule add %s: %w", s.Name, err)
	}
	return withRunningTemporal(ctx, e, func(starter workflows.Starter) error {
		if err := starter.AddSchedule(ctx, schedule); err != nil {
			return command.InvalidAsUsage(err)
		}
		return s.Print(e, command.Change{Action: "added", Schedule: s.Name, Message: fmt.Sprintf("Schedule %s added.", s.Name)})
	})
}

type scheduleListCmd struct {
	JSON bool `name:"json" help:"Print one JSON object per line."`
}

func (s *scheduleListCmd) Run(ctx context.Context, e *command.Env) error {
	return withRunningTemporal(ctx, e, func(starter workflows.Starter) error {
		all, err := starter.Schedules(ctx)
		if err != nil {
			return err
		}
		const header = "SCHEDULE\tDOES\tRUN\tLAST\tNEXT"
		return command.PrintTable(e, s.JSON, all, "No schedules.", header, func(schedule workflows.ScheduleInfo) string {
			action := map[string]string{workflows.SeedWorkflowName: "seeds", workflows.RecrawlWorkflowName: "fetches again"}[schedule.Workflow]
			if schedule.Paused {
				action += " (paused)"
			}
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", explain.OneLine(schedule.Name), action, explain.OneLine(schedule.Run),
				command.StampOrDash(schedule.Last), command.StampOrDash(schedule.Next))
		})
	})
}

type scheduleRemoveCmd struct {
	command.ChangePrinter

	Name string `arg:"" help:"Name of the schedule."`
}

func (s *scheduleRemoveCmd) Run(ctx context.Context, e *command.Env) error {
	return withRunningTemporal(ctx, e, func(starter workflows.Starter) error {
		err := starter.RemoveSchedule(ctx, s.Name)
		if errors.Is(err, crawl.ErrNotFound) {
			return wiring.Usagef("schedule %q does not exist; mosey schedule lists all", s.Name)
		}
		if err != nil {
			return err
		}
		return s.Print(e, command.Change{
			Action: "removed", Schedule: s.Name, Message: fmt.Sprintf("Schedule %s removed. The workflows that it started continue.", s.Name),
		})
	})
}

// withRunningTemporal calls fn with the running Temporal, or returns an error.
func withRunningTemporal(ctx context.Context, e *command.Env, fn func(workflows.Starter) error) error {
	connected := false
	err := command.WithTemporal(ctx, e, func(starter workflows.Starter) error {
		connected = true
		return fn(starter)
	})
	if err == nil && !connected {
		return errors.New("no running Temporal found: start one with mosey up, or set TEMPORAL_ADDRESS")
	}
	return err
}

// changeRun changes a run and prints done, the change made.
func changeRun(
	ctx context.Context, e *command.Env, a command.ChangePrinter, name string, c crawl.RunChange, done command.Change,
) error {
	if err := errors.Join(command.AsUsage(crawl.ValidateRunName(name)), checkReason(c.Reason, 0)); err != nil {
		return err
	}
	c.SetBy = command.CurrentUser()
	return command.WithStore(ctx, e, func(store *db.Store) error {
		run, err := store.ChangeRun(ctx, name, c)
		switch {
		case errors.Is(err, crawl.ErrNotFound):
			return command.UnknownRun(name)
		case err != nil:
			return err
		}
		done.Run = run.Name
		if c.Action == crawl.ChangeSet && run.Status != crawl.RunRunning {
			done.Message += fmt.Sprintf(" It is %s. To resume it:\n  mosey resume run:%s", run.Status, run.Name)
		}
		if err := a.Print(e, done); err != nil {
			return err
		}
		command.NotifyRun(ctx, e, store, run, c.Action == crawl.ChangeSet)
		return nil
	})
}

func setRun(ctx context.Context, e *command.Env, a command.ChangePrinter, name, reason string, pairs []string) error {
	if err := crawl.ValidateRunName(name); err != nil {
		return wiring.Usagef("%w", err)
	}
	if len(pairs) == 0 {
		return wiring.Usagef("set run:%s: no setting is given: give name=value, such as delay=5s; mosey status %s shows the settings", name, name)
	}
	set, err := settings.Parse(pairs)
	if err == nil {
		err = politeness.ValidateSettings(set)
	}
	if err != nil {
		return wiring.Usagef("set run:%s: %w", name, err)
	}
	change := crawl.RunChange{Action: crawl.ChangeSet, Settings: set, Reason: reason}
	return changeRun(ctx, e, a, name, change, command.Change{
		Action: "set", Message: fmt.Sprintf("Run %s is changed from its next request on.", name),
	})
}

// StopCmd stops a domain or a run.
type StopCmd struct {
	command.ChangePrinter

	Name   string `arg:"" help:"Domain, such as example.org, or run:NAME."`
	Reason string `help:"Reason to store with the stop." placeholder:"TEXT"`
}

// Run stops a domain until it is seeded again, or a run until it is resumed.
func (s *StopCmd) Run(ctx context.Context, e *command.Env) error {
	if run, is := strings.CutPrefix(s.Name, command.RunPrefix); is {
		return changeRun(ctx, e, s.ChangePrinter, run, crawl.RunChange{Action: crawl.ChangeStop, Reason: s.Reason}, command.Change{
			Action:  "stopped",
			Message: fmt.Sprintf("Run %s is stopped; its pending pages are kept. To resume it:\n  mosey resume run:%s", run, run),
		})
	}
	if err := checkReason(s.Reason, 0); err != nil {
		return err
	}
	c := crawl.Control{Type: crawl.ControlStop, Reason: s.Reason}
	return control(ctx, e, s.ChangePrinter, s.Name, c, "stopped", "in all runs until it is seeded again", "unblock")
}
