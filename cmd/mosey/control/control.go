// Package control has the commands that control runs and domains: pause, stop, block, retry, set,
// the lists and the schedules.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/explain"
)

// PauseCmd pauses requests to a domain, or of a run.
type PauseCmd struct {
	command.ChangePrinter

	Name   string `arg:"" help:"Domain, such as example.org, or run:NAME."`
	Reason string `help:"Reason to store with the change." required:"" placeholder:"TEXT"`
	Until  string `help:"End of the pause: a time such as 2030-12-01T06:00:00Z, or a duration such as 12h. Default: until mosey resume." placeholder:"TIME|DURATION"`
}

// Run pauses the domain in all runs, or the run, from the next request on.
func (p *PauseCmd) Run(ctx context.Context, e *command.Env) error {
	if err := checkReason(p.Reason, 1); err != nil {
		return err
	}
	until, err := parseUntil(p.Until, time.Now())
	if err != nil {
		return err
	}
	end := ""
	if !until.IsZero() {
		end = " until " + explain.Stamp(until)
	}
	if run, is := strings.CutPrefix(p.Name, command.RunPrefix); is {
		change := crawl.RunChange{Action: crawl.ChangePause, Reason: p.Reason, Until: until}
		return changeRun(ctx, e, p.ChangePrinter, run, change, command.Change{
			Action: "paused", Until: until, Message: fmt.Sprintf("Run %s is paused%s. To undo it:\n  mosey resume run:%s", run, end, run),
		})
	}
	c := crawl.Control{Type: crawl.ControlPause, Reason: p.Reason, Until: until}
	return control(ctx, e, p.ChangePrinter, p.Name, c, "paused", "in all runs"+end, "resume")
}

func parseUntil(text string, now time.Time) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	const want = "want a future time, such as 2030-12-01T06:00:00Z, or a duration, such as 12h"
	if d, err := time.ParseDuration(text); err == nil {
		at = now.Add(d)
	} else if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, wiring.Usagef("--until %q: %s", text, want)
	}
	if !at.After(now) {
		return at, wiring.Usagef("--until %s is past: %s", text, want)
	}
	return at, nil
}

// ResumeCmd ends a pause, or resumes a run.
type ResumeCmd struct {
	command.ChangePrinter

	Name string `arg:"" help:"Domain, such as example.org, or run:NAME."`
}

// Run ends a domain's pause, or resumes a paused, stopped or done run.
func (r *ResumeCmd) Run(ctx context.Context, e *command.Env) error {
	if run, is := strings.CutPrefix(r.Name, command.RunPrefix); is {
		return changeRun(ctx, e, r.ChangePrinter, run, crawl.RunChange{Action: crawl.ChangeResume}, command.Change{
			Action:  "resumed",
			Message: fmt.Sprintf("Run %s resumes in a running Mosey (mosey up), or with\n  mosey crawl --run %s", run, run),
		})
	}
	return lift(ctx, e, r.ChangePrinter, r.Name, "not paused", liftControls(crawl.ControlPause))
}

// UnblockCmd ends a block, or a stop.
type UnblockCmd struct {
	command.ChangePrinter

	Name string `arg:"" help:"Domain, such as example.org."`
}

// Run lets the domain be crawled again, even if it was abandoned.
func (u *UnblockCmd) Run(ctx context.Context, e *command.Env) error {
	liftBoth := liftControls(crawl.ControlBlock, crawl.ControlStop)
	return lift(ctx, e, u.ChangePrinter, u.Name, "neither blocked, stopped nor abandoned", liftBoth)
}

// RetryCmd retries a failing domain.
type RetryCmd struct {
	command.ChangePrinter

	Name string `arg:"" help:"Domain, such as example.org."`
}

// Run probes the domain now, instead of at its next time.
func (r *RetryCmd) Run(ctx context.Context, e *command.Env) error {
	return lift(ctx, e, r.ChangePrinter, r.Name, "not abandoned, and its robots.txt is readable", (*db.Store).RetryDomain)
}

// SetCmd changes settings of a domain or a run.
type SetCmd struct {
	command.ChangePrinter

	Name     string         `arg:"" help:"Domain, such as example.org, or run:NAME."`
	Settings []string       `arg:"" optional:"" name:"setting" help:"Setting of a run: name=value, such as delay=5s or max_pages=1000."`
	Delay    *time.Duration `help:"Minimum time between two requests to the domain; 0s is the delay of its runs." placeholder:"DURATION" env:"-"`
	MaxPages *int64         `help:"Maximum number of requests in each run; -1 is no limit." placeholder:"N" env:"-"`
	Window   *string        `help:"Times at which the domain may be requested, such as 'Mon-Fri 22:00-06:00 Europe/Berlin'; empty is always." placeholder:"DAYS TIMES ZONE" env:"-"`
	Reason   string         `help:"Reason to store with the change." placeholder:"TEXT"`

	ResetTraps bool `help:"Forget the URL patterns that stopped requests because they brought nothing new, and decide again."`
}

// Help lists the settings of runs.
func (*SetCmd) Help() string {
	var text strings.Builder
	text.WriteString("Settings of a run and their defaults:\n")
	for _, s := range settings.All() {
		fmt.Fprintf(&text, "\n    %s=%s\n\n%s\n", s.Name, s.Default, s.Help)
	}
	return text.String()
}

// Run stores the settings, from the next request on.
func (s *SetCmd) Run(ctx context.Context, e *command.Env) error {
	none := s.Delay == nil && s.MaxPages == nil && s.Window == nil && !s.ResetTraps
	if run, is := strings.CutPrefix(s.Name, command.RunPrefix); is {
		if !none {
			return wiring.Usagef("set %s: flags are for domains: give name=value, such as delay=5s", s.Name)
		}
		return setRun(ctx, e, s.ChangePrinter, run, s.Reason, s.Settings)
	}
	name, err := command.SiteArgument(s.Name)
	if err != nil {
		return err
	}
	if len(s.Settings) > 0 {
		return wiring.Usagef("set %s %s: give --delay, --max-pages, --window or --reset-traps; name=value is for runs: run:NAME",
			name, s.Settings[0])
	}
	if none {
		return wiring.Usagef("set %s: no change is given: give --delay, --max-pages, --window or --reset-traps", name)
	}
	// the run settings of the same names have the bounds
	bounds := settings.Settings{Delay: (*settings.Duration)(s.Delay), MaxPages: s.MaxPages, Window: s.Window}
	if err := politeness.ValidateSettings(bounds); err != nil {
		return wiring.Usagef("%w", command.AsFlag(err, nil))
	}
	if err := checkReason(s.Reason, 0); err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		if _, err := store.Domain(ctx, name); errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("domain %s is unknown: first seed one of its pages, such as mosey crawl https://%s/", name, name)
		} else if err != nil {
			return err
		}
		for _, c := range s.controls() {
			if err := store.SetControl(ctx, name, c); err != nil {
				return err
			}
		}
		if s.ResetTraps {
			if err := store.ResetTraps(ctx, name); err != nil {
				return err
			}
		}
		command.WakeDomain(ctx, e, store, name)
		return s.Print(e, command.Change{
			Action: "set", Domain: name, Message: fmt.Sprintf("%s is set. To show its state:\n  mosey why %s", name, name),
		})
	})
}

func (s *SetCmd) controls() []crawl.Control {
	var all []crawl.Control
	add := func(kind crawl.ControlType, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err) // numbers and text never fail
		}
		all = append(all, crawl.Control{Type: kind, Value: data, Reason: s.Reason, SetBy: command.CurrentUser()})
	}
	if s.Delay != nil {
		add(crawl.ControlDelay, crawl.Millis(*s.Delay))
	}
	if s.MaxPages != nil {
		add(crawl.ControlBudget, *s.MaxPages)
	}
	if s.Window != nil {
		add(crawl.ControlWindow, *s.Window)
	}
	return all
}

// control stores a decision about a domain and prints it: the action, its extent, and the command
// that undoes it.
func control(
	ctx context.Context, e *command.Env, a command.ChangePrinter, text string, c crawl.Control, action, extent, undo string,
) error {
	name, err := command.SiteArgument(text)
	if err != nil {
		return err
	}
	c.SetBy = command.CurrentUser()
	return command.WithStore(ctx, e, func(store *db.Store) error {
		if err := store.SetControl(ctx, name, c); err != nil {
			return err
		}
		return a.Print(e, command.Change{
			Action: action, Domain: name, Until: c.Until,
			Message: fmt.Sprintf("%s is %s %s. To undo it:\n  mosey %s %s", name, action, extent, undo, name),
		})
	})
}

func checkReason(text string, minLen int) error {
	if len(text) < minLen || len(text) > crawl.ControlReasonMax {
		return wiring.Usagef("--reason: %d bytes: want %d to %d", len(text), minLen, crawl.ControlReasonMax)
	}
	return nil
}

// liftControls returns a function that lifts these kinds of decisions about a domain.
func liftControls(kinds ...crawl.ControlType) func(*db.Store, context.Context, string) error {
	return func(store *db.Store, ctx context.Context, name string) error {
		return store.LiftControls(ctx, name, command.CurrentUser(), kinds...)
	}
}

// lift lifts the decisions that keep a domain from being crawled, prints the remaining ones and
// wakes the domain's runs. state describes the domain if do finds nothing to lift.
func lift(
	ctx context.Context, e *command.Env, a command.ChangePrinter, text, state string,
	do func(*db.Store, context.Context, string) error,
) error {
	name, err := command.SiteArgument(text)
	if err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		err := do(store, ctx, name)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("%s is %s: mosey why %s explains its state", name, state, name)
		}
		if err != nil {
			return err
		}
		facts, err := store.Facts(ctx, name)
		if err != nil {
			return err
		}
		change := command.Change{
			Action: "lifted", Domain: name, Message: name + " may be crawled again; its runs continue with the pending pages.",
		}
		if c, forbidden := facts.Domain.Controls.FirstForbidding(facts.Now); forbidden {
			change.RemainingReason = reasons.OfControl(string(c.Type))
			change.Message = fmt.Sprintf("%s is still not crawled: %s", name, explain.Control(c, time.Local))
		} else {
			command.WakeDomain(ctx, e, store, name)
		}
		return a.Print(e, change)
	})
}

// BlockCmd blocks a domain.
type BlockCmd struct {
	command.ChangePrinter
	command.ImageStoreFlag

	Name    string `arg:"" help:"Domain, such as example.org."`
	Reason  string `help:"Reason to store with the change." required:"" placeholder:"TEXT"`
	Archive string `help:"The workers' archive, to erase there too: a directory, or the URL of a bucket (s3://)." placeholder:"DIR|URL"`
	Forget  bool   `help:"Also erase the content of its pages: search terms, link texts, images and their bytes, archived responses. The URLs and the requests stay stored. The command waits until no request is in flight. If interrupted, give it again."`
}

// Run blocks the domain for all runs, from the next request on.
func (b *BlockCmd) Run(ctx context.Context, e *command.Env) error {
	if err := checkReason(b.Reason, 1); err != nil {
		return err
	}
	if b.Forget {
		return b.forget(ctx, e)
	}
	c := crawl.Control{Type: crawl.ControlBlock, Reason: b.Reason}
	return control(ctx, e, b.ChangePrinter, b.Name, c, "blocked", "in all runs", "unblock")
}

func (b *BlockCmd) forget(ctx context.Context, e *command.Env) error {
	name, err := command.SiteArgument(b.Name)
	if err != nil {
		return err
	}
	var responses archive.Place
	if b.Archive != "" {
		if responses, err = wiring.OpenArchive(ctx, b.Archive); err != nil {
			return err
		}
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		by := crawl.Control{Type: crawl.ControlBlock, Reason: b.Reason, SetBy: command.CurrentUser()}
		if err := store.BlockToForget(ctx, name, by); err != nil {
			return err
		}
		command.WakeDomain(ctx, e, store, name) // its workflow then releases it
		f := &eraser{
			store: store, domain: name, view: command.NewProgressLine(e),
			bytes: &imageEraser{store: store, open: b.ImageStoreFlag, e: e}, responses: archivedResponses{store: store, from: responses},
		}
		err := f.run(ctx)
		f.view.Clear()
		if err != nil {
			return fmt.Errorf("%s is blocked, and the content of its pages is not fully erased: %w", name, err)
		}
		return b.Print(e, command.Change{
			Action: "forgotten", Domain: name, Count: &f.pages,
			Message: fmt.Sprintf("%s is blocked in all runs, and the content of %s is erased. To crawl it as new:\n  mosey unblock %s",
				name, explain.Count(f.pages, "page"), name),
		})
	})
}
