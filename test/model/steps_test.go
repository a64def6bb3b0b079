package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/test/model"
)

// apply executes one step, a line of words. r0 to r2 are runs, d0 to d5 domains, d0/a a page.
//
//	web N                          Draw other pages for the web from the seed N.
//	seed r0 d0/ d1/a d2 k=v …      Seed pages, d2 without a scheme, and change settings.
//	schedule r0 d0/                Seed pages by a schedule.
//	stage r0 d0/                   Store pages without starting the run.
//	add r0 d0/c                    Add a page to a domain during its crawl.
//	recrawl r0 1h                  Recrawl the pages that are older.
//	set r0 k=v …                   Change settings of a run.
//	pause d0|r0 [20s], resume d0|r0, stop d0|r0, block d0, unblock d0, retry d0
//	delay d0 5s, budget d0 3, window d0|r0 closed|open
//	site d0 503+30s                Set the response of the domain's pages; ok is success.
//	robots d0 503                  Set the response of robots.txt; shut excludes the current hour.
//	time 30s                       Let time pass.
//	work N                         Let one of the ready workflows take a step.
//	run                            Let all workflows take steps until they wait.
//	kill                           Kill the worker during its next request.
//	twice                          Lose the result of the next activity.
//	away, back                     Disconnect Temporal; connect it again.
//	lose, refuse                   Lose the next signal; refuse it.
//	outage                         Judge this machine's network over all sites together.
//	reconcile                      Compare the rows with the workflows.
//	terminate N                    Terminate a workflow.
func (b *bench) apply(step string) error {
	words := strings.Fields(step)
	b.trace("%s", step)
	do, args := words[0], words[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "r") && b.runOf(args[0]) != "" {
		return b.applyRun(do, b.runOf(args[0]), args[1:])
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "d") {
		return b.applyDomain(do, b.domainOf(args[0]), args[1:])
	}
	switch do {
	case "web":
		b.sites.draw(uint64(number(args)))
	case "time":
		return b.pass(b.ctx, span(args[0]))
	case "work":
		if ready := b.ready(); len(ready) > 0 {
			b.work(ready[number(args)%len(ready)])
		}
	case "run":
		for n := range runMost {
			ready := b.ready()
			if len(ready) == 0 {
				break
			}
			b.work(ready[n%len(ready)])
		}
	case "kill":
		b.sites.dies = true
	case "twice":
		b.twice = true
	case "away", "back":
		b.temporal.away = do == "away"
	case "lose":
		b.temporal.lose++
	case "reconcile":
		return b.compared()
	case "refuse":
		b.temporal.refuse++
	case "outage":
		b.network = network.New(network.Config{Jitter: func() float64 { return 0 }, EvidenceTimeout: time.Millisecond})
	case "terminate":
		if ids := b.temporal.ids(); len(ids) > 0 {
			b.trace("  of %s", ids[number(args)%len(ids)])
			delete(b.temporal.flows, ids[number(args)%len(ids)])
		}
	default:
		return fmt.Errorf("there is no step %q", step)
	}
	return nil
}

// runMost bounds the steps of the workflows in one step of a sequence.
const runMost = 60

func (b *bench) runOf(word string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "r"))
	if err != nil || n >= len(b.runs) {
		return ""
	}
	return b.runs[n]
}

func (b *bench) domainOf(word string) string {
	return b.domains[number([]string{word[1:]})%len(b.domains)]
}

// page reads d0/a.
func (b *bench) page(word string) (domain, url string) {
	name, path, _ := strings.Cut(word, "/")
	domain = b.domainOf(name)
	return domain, pageOf(domain, path)
}

func number(args []string) int {
	n, _ := strconv.Atoi(strings.Join(args, ""))
	return n
}

func span(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}

// until returns the end of a pause as a time and as an instant of the model. Without arguments the
// pause never ends.
func until(args []string) (time.Time, model.Instant) {
	if len(args) == 0 {
		return time.Time{}, model.Never
	}
	at := time.Now().Add(span(args[0]))
	return at, model.Instant(at.UnixMicro())
}

// closedWindow returns a window that is closed now, on any day of the week.
func closedWindow() string {
	from := time.Now().UTC().Add(12 * time.Hour)
	return fmt.Sprintf("Mon-Sun %02d:00-%02d:30 UTC", from.Hour(), from.Hour())
}

// quiet are the settings of a run that has no others: it is not the delays that are tried.
var quiet = []string{
	"delay=0s", "ip_delay=0s", "latency_factor=0", "graylist=0s", "sitemaps=off", "feeds=off", "min_refetch=0s",
	"max_attempts=2", "scope=web", "pages_per_activity=1",
}

func (b *bench) settings(run string, args []string) (settings.Settings, error) {
	given := map[string]string{}
	var order []string
	add := func(pairs []string) {
		for _, pair := range pairs {
			name, value, found := strings.Cut(pair, "=")
			if !found {
				continue
			}
			if _, twice := given[name]; !twice {
				order = append(order, name)
			}
			given[name] = value
		}
	}
	if _, stored := b.last.Runs[run]; !stored {
		add(quiet)
	}
	add(args)
	pairs := make([]string, len(order))
	for i, name := range order {
		pairs[i] = name + "=" + given[name]
	}
	return settings.Parse(pairs)
}

func (b *bench) applyRun(do, run string, args []string) error {
	r := b.world.Runs[run]
	if _, stored := b.last.Runs[run]; !stored && do != "seed" && do != "schedule" && do != "stage" {
		return nil // its seeds were not stored yet
	}
	switch do {
	case "seed", "schedule", "stage":
		return b.seed(run, do, args)
	case "recrawl":
		if b.temporal.away {
			return nil
		}
		b.calls++
		r.Recrawled = true
		older := settings.Duration(span(args[0]))
		b.start(&seeding{run: run, kind: "recrawl", recrawl: activities.RecrawlInput{Run: run, OlderThan: older}})
		return nil
	case "add":
		domain, url := b.page(args[0])
		if b.temporal.flows[crawl.DomainWorkflowID(domain)] == nil || b.temporal.away || r.Status == crawl.RunStopped {
			return nil
		}
		add := func(ctx context.Context, a *activities.Activities) error {
			_, err := a.AddURLs(ctx, activities.AddURLsInput{Domain: domain, Run: run, URLs: []string{url}})
			return err
		}
		err := b.control(add)
		if errors.Is(err, errAway) {
			err = b.control(add) // as Temporal does
		}
		b.world.Seed(r, domain, url, false)
		b.goesOn(run)
		return err
	case "window":
		if args[0] == "closed" {
			return b.set(run, []string{"window=" + closedWindow()})
		}
		return b.set(run, []string{"window="})
	case "set":
		return b.set(run, args)
	}
	at, end := until(args)
	kind := crawl.RunAction(do)
	if !r.Change(kind, end) {
		return nil
	}
	_, err := b.store.ChangeRun(b.ctx, run, crawl.RunChange{Action: kind, Until: at, SetBy: "a person"})
	if err == nil {
		_ = b.temporal.StartCrawl(b.ctx, run) // as cmd/mosey does: it is told if it can be
	}
	return err
}

func (b *bench) start(s *seeding) {
	_ = b.temporal.send(fmt.Sprintf("seed/%s/%d", s.run, b.calls), s, false)
}

// seed starts a SeedWorkflow, as a person, a schedule, or one that only stages does.
func (b *bench) seed(run, kind string, args []string) error {
	set, err := b.settings(run, args)
	if err != nil || b.temporal.away {
		return err
	}
	s := &seeding{run: run, kind: kind, store: activities.StoreSeedsInput{Run: run, Settings: set}}
	for _, word := range args {
		switch name, path, isPage := strings.Cut(word, "/"); {
		case strings.Contains(name, "=") || !strings.HasPrefix(name, "d"):
		case isPage:
			s.store.URLs = append(s.store.URLs, pageOf(b.domainOf(name), path))
		default:
			s.store.URLs = append(s.store.URLs, b.domainOf(name)) // without a scheme
		}
	}
	if _, stored := b.last.Runs[run]; !stored && len(s.store.URLs) == 0 {
		return nil
	}
	b.calls++
	b.start(s)
	return nil
}

// seeded adds the stored settings and URLs of a seeding to the model.
func (b *bench) seeded(s *seeding) {
	r := b.world.Ensure(s.run, s.store.Settings)
	for _, url := range s.store.URLs {
		name, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		if !strings.Contains(url, "/") {
			b.world.Seed(r, name, "https://"+name+"/", true)
			continue
		}
		b.world.Seed(r, name, url, false)
	}
}

// set changes settings of a run as cmd/mosey does, and notifies the workflows.
func (b *bench) set(run string, args []string) error {
	set, err := b.settings(run, args)
	if err != nil {
		return err
	}
	if err := politeness.ValidateSettings(set); err != nil {
		return err
	}
	b.world.Ensure(run, set)
	row, err := b.store.ChangeRun(b.ctx, run, crawl.RunChange{Action: crawl.ChangeSet, Settings: set, SetBy: "a person"})
	if err != nil || row.Status == crawl.RunDone || b.temporal.StartCrawl(b.ctx, run) != nil {
		return err
	}
	claimed, err := b.store.ClaimedDomains(b.ctx, row.ID)
	for _, d := range claimed {
		_ = b.temporal.StartDomain(b.ctx, d, run, *row.Settings.PagesPerActivity)
	}
	return err
}

func (b *bench) applyDomain(do, domain string, args []string) error {
	d := b.world.Domain(domain)
	switch do {
	case "site":
		b.sites.answers[domain] = strings.TrimPrefix(args[0], "ok")
		return nil
	case "robots":
		b.sites.robots[domain] = strings.TrimPrefix(args[0], "ok")
		return nil
	case "retry":
		err := b.store.RetryDomain(b.ctx, domain)
		if errors.Is(err, crawl.ErrNotFound) {
			return nil
		}
		b.told(domain)
		return err
	case "pause", "stop", "block":
		at, end := until(args)
		b.world.Control(domain, crawl.ControlType(do), end)
		return b.store.SetControl(b.ctx, domain, crawl.Control{Type: crawl.ControlType(do), Until: at, Reason: "as scripted", SetBy: "a person"})
	case "resume":
		return b.lift(domain, crawl.ControlPause)
	case "unblock":
		return b.lift(domain, crawl.ControlBlock, crawl.ControlStop)
	case "delay":
		d.Delay = model.Instant(span(args[0]).Microseconds())
		return b.setDomain(domain, crawl.ControlDelay, crawl.Millis(span(args[0])))
	case "budget":
		n := int64(number(args))
		d.Budget = &n
		return b.setDomain(domain, crawl.ControlBudget, n)
	case "window":
		text := ""
		if d.Closed = args[0] == "closed"; d.Closed {
			text = closedWindow()
		}
		return b.setDomain(domain, crawl.ControlWindow, text)
	}
	return fmt.Errorf("there is no step %q of a domain", do)
}

// setDomain changes what holds for a domain, as cmd/mosey does.
func (b *bench) setDomain(domain string, kind crawl.ControlType, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	err = b.store.SetControl(b.ctx, domain, crawl.Control{Type: kind, Value: data, SetBy: "a person"})
	b.told(domain)
	return err
}

func (b *bench) lift(domain string, kinds ...crawl.ControlType) error {
	for _, kind := range kinds {
		delete(b.world.Domain(domain).Controls, kind)
	}
	err := b.store.LiftControls(b.ctx, domain, "a person", kinds...)
	if errors.Is(err, crawl.ErrNotFound) {
		return nil
	}
	b.told(domain)
	return err
}

// told wakes who crawls a domain, as cmd/mosey does, if it can be told.
func (b *bench) told(domain string) {
	if b.temporal.WakeDomain(b.ctx, domain) != nil {
		return
	}
	runs, err := b.store.DomainRuns(b.ctx, domain)
	if err != nil {
		b.fail(err.Error())
	}
	for _, run := range runs {
		_ = b.temporal.StartCrawl(b.ctx, run)
	}
}
