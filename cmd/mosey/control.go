package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/workflows"
)

// pauseCmd makes no request to a domain, or of a run, for a while.
type pauseCmd struct {
	Name   string `arg:"" help:"Domain, such as example.org, or run:NAME."`
	Reason string `help:"Why, for those who ask later." required:"" placeholder:"TEXT"`
	Until  string `help:"When it ends by itself: a time such as 2030-12-01T06:00:00Z, or how long from now, such as 12h. Default: with mosey resume." placeholder:"TIME|DURATION"`
}

// Run pauses the domain in all runs, or the run, from the next request on.
func (p *pauseCmd) Run(ctx context.Context, e *env) error {
	until, err := parseUntil(p.Until, time.Now())
	if err != nil {
		return err
	}
	end := ""
	if !until.IsZero() {
		end = " until " + stamp(until)
	}
	if name, is, err := runArgument(p.Name); err != nil {
		return err
	} else if is {
		change := crawl.RunChange{Action: crawl.ChangePause, Reason: p.Reason, Until: until}
		return changeRun(ctx, e, name, change, func(run crawl.Run) string {
			return fmt.Sprintf("Run %s is paused%s. To undo it:\n  mosey resume run:%s", run.Name, end, run.Name)
		})
	}
	return control(ctx, e, p.Name, crawl.Control{Type: crawl.ControlPause, Reason: p.Reason, Until: until}, func(name string) {
		fmt.Fprintf(e.stdout, "%s is paused in all runs%s. To undo it:\n  mosey resume %s\n", name, end, name)
	})
}

func parseUntil(text string, now time.Time) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	const want = "want a time to come, such as 2030-12-01T06:00:00Z, or a duration, such as 12h"
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

// resumeCmd ends a pause, or has a run go on.
type resumeCmd struct {
	Name string `arg:"" help:"Domain, such as example.org, or run:NAME."`
}

// Run ends the pause of a domain, or has a run go on that was paused, stopped or done.
func (r *resumeCmd) Run(ctx context.Context, e *env) error {
	if name, is, err := runArgument(r.Name); err != nil {
		return err
	} else if is {
		return resumeRun(ctx, e, name)
	}
	return lift(ctx, e, r.Name, "not paused", crawl.ControlPause)
}

// blockCmd keeps Mosey away from a domain.
type blockCmd struct {
	Name   string `arg:"" help:"Domain, such as example.org."`
	Reason string `help:"Why, for those who ask later." required:"" placeholder:"TEXT"`
}

// Run blocks the domain for all runs, from the next request on.
func (b *blockCmd) Run(ctx context.Context, e *env) error {
	return control(ctx, e, b.Name, crawl.Control{Type: crawl.ControlBlock, Reason: b.Reason}, func(name string) {
		fmt.Fprintf(e.stdout, "%s is blocked in all runs. To undo it:\n  mosey unblock %s\n", name, name)
	})
}

// unblockCmd ends a block, or a stop.
type unblockCmd struct {
	Name string `arg:"" help:"Domain, such as example.org."`
}

// Run lets the domain be crawled again, also if it was given up.
func (u *unblockCmd) Run(ctx context.Context, e *env) error {
	return lift(ctx, e, u.Name, "neither blocked, stopped nor given up", crawl.ControlBlock, crawl.ControlStop)
}

// retryCmd asks a domain again that is in trouble.
type retryCmd struct {
	Name string `arg:"" help:"Domain, such as example.org."`
}

// Run has the domain probed now, instead of when its time has come.
func (r *retryCmd) Run(ctx context.Context, e *env) error {
	name, err := domainArgument(r.Name)
	if err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		err := store.RetryDomain(ctx, name)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("%s is not given up, and its robots.txt can be read; mosey why %s tells what holds", name, name)
		}
		if err != nil {
			return err
		}
		return lifted(ctx, e, store, name)
	})
}

// setCmd changes what holds for one domain, or settings of a run.
type setCmd struct {
	Name     string         `arg:"" help:"Domain, such as example.org, or run:NAME."`
	Settings []string       `arg:"" optional:"" name:"setting" help:"Of a run: name=value, such as delay=5s or max_pages=1000."`
	Delay    *time.Duration `help:"Least time between two requests; 0s leaves the runs' own." placeholder:"DURATION"`
	MaxPages *int64         `help:"Requests a run; -1 is no limit." placeholder:"N"`
	Window   *string        `help:"When it may be asked, such as 'Mon-Fri 22:00-06:00 Europe/Berlin'; empty is always." placeholder:"DAYS TIMES ZONE"`
	Reason   string         `help:"Why, for those who ask later." placeholder:"TEXT"`

	ResetTraps bool `help:"Forget which patterns of its URLs have brought nothing new; what they stopped is decided again."`
}

// Help lists the settings of runs.
func (*setCmd) Help() string {
	var text strings.Builder
	text.WriteString("Settings of a run, with their defaults:\n")
	for _, s := range settings.All() {
		fmt.Fprintf(&text, "\n    %s=%s\n\n%s\n", s.Name, s.Default, s.Help)
	}
	return text.String()
}

// Run stores what was given, for the next request on.
func (s *setCmd) Run(ctx context.Context, e *env) error {
	none := s.Delay == nil && s.MaxPages == nil && s.Window == nil && !s.ResetTraps
	if run, is, err := runArgument(s.Name); err != nil {
		return err
	} else if is {
		if !none {
			return wiring.Usagef("set %s: flags are for domains: want name=value, such as delay=5s", s.Name)
		}
		return setRun(ctx, e, run, s.Reason, s.Settings)
	}
	name, err := domainArgument(s.Name)
	if err != nil {
		return err
	}
	if len(s.Settings) > 0 {
		return wiring.Usagef("set %s %s: want --delay, --max-pages, --window or --reset-traps; name=value is for runs: run:NAME",
			name, s.Settings[0])
	}
	if none {
		return wiring.Usagef("set %s: nothing to set: want --delay, --max-pages, --window or --reset-traps", name)
	}
	// the bounds are those of the settings of the same names
	bounds := settings.Settings{Delay: (*settings.Duration)(s.Delay), MaxPages: s.MaxPages, Window: s.Window}
	if err := politeness.ValidateSettings(bounds); err != nil {
		return wiring.Usagef("%w", asFlag(err, nil))
	}
	if err := checkReason(s.Reason, 0); err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		if _, err := store.Domain(ctx, name); errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("domain %s is not known: seed a page of it first, such as mosey crawl https://%s/", name, name)
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
		wakeDomain(ctx, e, store, name)
		fmt.Fprintf(e.stdout, "%s is set. To see what holds:\n  mosey why %s\n", name, name)
		return nil
	})
}

func (s *setCmd) controls() []crawl.Control {
	var all []crawl.Control
	add := func(kind crawl.ControlType, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err) // numbers and text always can be
		}
		all = append(all, crawl.Control{Type: kind, Value: data, Reason: s.Reason, SetBy: whoami()})
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

func domainArgument(text string) (string, error) {
	name, err := urls.DomainOf(text)
	if bad, ok := errors.AsType[*urls.Error](err); ok {
		return "", wiring.Usagef("domain %q: %w: want a host name, such as example.org", bad.Input, bad.Reason)
	}
	return name, err
}

// domainFlag reads the domain of a flag, which may have been left out.
func domainFlag(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return domainArgument(text)
}

// pageArgument reads the URL of a page.
func pageArgument(text string) (urls.URL, error) {
	u, err := urls.Parse(text)
	if err != nil {
		err = notAbsolute(err)
	}
	return u, err
}

// notAbsolute is the error of a URL that cannot be read, with what is wanted.
func notAbsolute(err error) error {
	return wiring.Usagef("%w: want an absolute http or https URL, such as https://example.org/", err)
}

// unknownPage is the error of a page that is not stored.
func unknownPage(u urls.URL) error {
	return fmt.Errorf("page %s is "+notKnown, u)
}

// control stores a person's decision that forbids requests to a domain.
func control(ctx context.Context, e *env, text string, c crawl.Control, done func(name string)) error {
	name, err := domainArgument(text)
	if err != nil {
		return err
	}
	if err := checkReason(c.Reason, 1); err != nil {
		return err
	}
	c.SetBy = whoami()
	return withStore(ctx, e, func(store *db.Store) error {
		if err := store.SetControl(ctx, name, c); err != nil {
			return err
		}
		done(name)
		return nil
	})
}

func checkReason(text string, least int) error {
	if len(text) < least || len(text) > crawl.ControlReasonMax {
		return wiring.Usagef("--reason: %d bytes: want %d to %d", len(text), least, crawl.ControlReasonMax)
	}
	return nil
}

// lift takes a person's decisions about a domain back.
func lift(ctx context.Context, e *env, text, state string, kinds ...crawl.ControlType) error {
	name, err := domainArgument(text)
	if err != nil {
		return err
	}
	return withStore(ctx, e, func(store *db.Store) error {
		err := store.LiftControls(ctx, name, whoami(), kinds...)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("%s is %s; mosey why %s tells what holds", name, state, name)
		}
		if err != nil {
			return err
		}
		return lifted(ctx, e, store, name)
	})
}

// lifted says what holds now, and has the domain's runs look at it.
func lifted(ctx context.Context, e *env, store *db.Store, name string) error {
	facts, err := store.Facts(ctx, name)
	if err != nil {
		return err
	}
	if c, forbidden := facts.Domain.Controls.Forbidding(facts.Now); forbidden {
		fmt.Fprintf(e.stdout, "%s is still not crawled: %s\n", name, controlLine(c))
		return nil
	}
	wakeDomain(ctx, e, store, name)
	fmt.Fprintf(e.stdout, "%s may be crawled again; what was pending goes on with its runs.\n", name)
	return nil
}

// whoami names the person at the command line: user@host.
func whoami() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name[:min(len(name), crawl.ControlByMax)]
}

// wakeTimeout bounds how long a command tries to reach Temporal.
const wakeTimeout = 5 * time.Second

// wakeDomain has the dispatchers of a domain's runs look at it now. Without a
// Temporal that runs there is nothing to wake; one that cannot be reached is
// noted, and its dispatchers find out by themselves.
func wakeDomain(ctx context.Context, e *env, store *db.Store, domain string) {
	tell(ctx, e, "crawl, which finds out by itself", func(ctx context.Context) error { return wakeRuns(ctx, e, store, domain) })
}

// tell tries for a while to tell who crawls, and notes where that fails.
func tell(ctx context.Context, e *env, whom string, try func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	if err := try(ctx); err != nil {
		fmt.Fprintf(e.stderr, "mosey: could not tell the running %s: %v\n", whom, err)
	}
}

func wakeRuns(ctx context.Context, e *env, store *db.Store, domain string) error {
	runs, err := store.DomainRuns(ctx, domain)
	if err != nil || len(runs) == 0 {
		return err
	}
	return withTemporal(ctx, e, func(starter workflows.Starter) error {
		if err := starter.WakeDomain(ctx, domain); err != nil {
			return err
		}
		for _, run := range runs {
			if err := starter.StartCrawl(ctx, run); err != nil {
				return err
			}
		}
		return nil
	})
}

// runningMosey is what the Mosey tells of itself that has the data directory, if one does.
func runningMosey(e *env) (info datadir.Info, running bool, err error) {
	dir, err := datadir.Resolve(e.dataDir)
	if err != nil {
		return info, false, err
	}
	return datadir.Running(dir)
}

// withTemporal calls fn if there is a Temporal that is known to run.
func withTemporal(ctx context.Context, e *env, fn func(workflows.Starter) error) error {
	address := ""
	if e.environ.Get("TEMPORAL_ADDRESS") == "" {
		if e.environ.Get("DATABASE_URL") != "" {
			return nil // which Temporal is not known
		}
		info, running, err := runningMosey(e)
		if err != nil || !running {
			return err
		}
		address = info.TemporalAddress
	}
	c, err := wiring.Dial(ctx, e.environ, address, newLogger(e.stderr, errorsOnly))
	if err != nil {
		return err
	}
	defer c.Close()
	// Both are given: they may not belong together.
	if e.environ.Get("DATABASE_URL") != "" {
		err := withStore(ctx, e, func(store *db.Store) error { return wiring.CheckNamespace(ctx, c, store) })
		if err != nil {
			return err
		}
	}
	return fn(workflows.Starter{Client: c})
}
