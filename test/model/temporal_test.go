package model_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/model"
)

// errAway is the error of all calls while Temporal is away.
var errAway = errors.New("no connection to Temporal")

// lateness is the delay of a timer, so that a worker need not wait in process.
const lateness = 500 * time.Millisecond

// workflow is one that runs. A step is one activity at the most.
type workflow interface {
	step(b *bench, f *flow) (ended bool)
}

// flow is a workflow that runs, with what it waits for.
type flow struct {
	workflow

	id string
	// wakes are signals that are pending.
	wakes int
	// until is when its timer is up; 0 means none. Retrying says that it waits for an activity
	// to be run again, and no signal changes that.
	until    model.Instant
	waiting  bool
	retrying bool
	// hears is set if a signal ends the wait.
	hears bool
}

// ready says that it has something to do now.
func (f *flow) ready(now model.Instant) bool {
	switch {
	case !f.waiting, f.until != 0 && f.until <= now:
		return true
	case f.retrying:
		return false
	}
	return f.hears && f.wakes > 0
}

// wait has it wait for a time; 0 is for a signal alone.
func (f *flow) wait(now model.Instant, span time.Duration, hears bool) {
	f.waiting, f.retrying, f.hears, f.until = true, false, hears, 0
	if span > 0 {
		f.until = now + model.Instant((span + lateness).Microseconds())
	}
}

// again has an activity that failed run again as Temporal does. It returns false if it
// is not: the workflow fails.
func (f *flow) again(now model.Instant, err error) bool {
	wait := activities.FirstBackoff(0)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		if app.NonRetryable() {
			return false
		}
		wait = cmp.Or(app.NextRetryDelay(), wait)
	}
	if errors.Is(err, errLost) {
		wait = heartbeatTimeout
	}
	f.wait(now, wait, false)
	f.retrying = true
	return true
}

// heartbeatTimeout is the time after which Temporal notices the death of a worker.
const heartbeatTimeout = 3 * time.Minute

// errLost is the error of an activity whose result never reaches Temporal.
var errLost = errors.New("the worker is gone")

// cluster is a Temporal in memory. The activities start its workflows and signal them. It can lose
// or refuse these calls.
type cluster struct {
	mu    sync.Mutex
	flows map[string]*flow
	// away is set if Temporal is unreachable and runs nothing. lose is the number of signals and
	// starts to lose.
	away bool
	lose int
	// refuse is the number of signals and starts to refuse.
	refuse int
	now    func() model.Instant
}

func (c *cluster) ids() []string {
	ids := []string{}
	for id := range c.flows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// send starts a workflow, or wakes the one that runs. A start comes with a signal, too,
// where that is asked for.
func (c *cluster) send(id string, w workflow, signalled bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f := c.flows[id]; {
	case c.away:
		return errAway
	case c.refuse > 0:
		c.refuse--
		return errAway
	case c.lose > 0:
		c.lose--
	case f != nil:
		f.wakes++
	case w != nil:
		c.flows[id] = &flow{workflow: w, id: id}
		if signalled {
			c.flows[id].wakes = 1
		}
	}
	return nil
}

// StartCrawl starts or wakes a run's dispatcher.
func (c *cluster) StartCrawl(_ context.Context, run string) error {
	return c.send(crawl.CrawlWorkflowID(run), &dispatcher{run: run}, true)
}

// StartDomain starts or wakes a domain's workflow.
func (c *cluster) StartDomain(_ context.Context, domain, _ string, pages int) error {
	return c.send(crawl.DomainWorkflowID(domain), newDomainFlow(domain, pages), false)
}

// WakeDomain wakes a domain's workflow, if one runs.
func (c *cluster) WakeDomain(_ context.Context, domain string) error {
	return c.send(crawl.DomainWorkflowID(domain), nil, false)
}

// dispatcher is workflows.CrawlWorkflow.
type dispatcher struct{ run string }

func (d *dispatcher) step(b *bench, f *flow) (ended bool) {
	f.wakes = 0
	res, err := callFor(b, f.id, func(ctx context.Context, a *activities.Activities) (activities.DispatchResult, error) {
		return a.Dispatch(ctx, activities.DispatchInput{Run: d.run})
	})
	if err == nil && res.Ended || errors.Is(err, errLost) {
		b.mustCheck() // what makes it due again comes after
	}
	switch {
	case err != nil:
		return !f.again(b.now(), err)
	case res.Ended && f.wakes == 0:
		return true
	case res.Ended:
		f.waiting = false
		return false
	}
	b.looked(d.run)
	f.wait(b.now(), time.Duration(res.NextIn), true)
	return false
}

// domainFlow is workflows.DomainWorkflow.
type domainFlow struct {
	name  string
	pages int
	next  activities.Step
	fetch activities.FetchPagesInput
	res   activities.FetchPagesResult
	// robots is the input of StepRobots.
	robots        activities.FetchRobotsInput
	span          time.Duration
	reason        reasons.Reason
	news, decided bool
	unfinished    int
}

func newDomainFlow(name string, pages int) *domainFlow {
	return &domainFlow{
		name: name, pages: pages, next: activities.StepFetch,
		fetch: activities.FetchPagesInput{Domain: name, MaxPages: max(pages, 1), Auto: pages == settings.PagesPerActivityAuto},
	}
}

func (d *domainFlow) endsWithNews() bool {
	return d.next != activities.StepFinish && (d.reason == reasons.Scheduled || d.reason == reasons.Window)
}

func (d *domainFlow) step(b *bench, f *flow) (ended bool) {
	slept := f.waiting && !f.retrying
	d.news = d.news || f.wakes > 0
	f.wakes = 0
	if slept || d.decided && d.next != activities.StepFinish || d.news && d.endsWithNews() {
		d.span = 0
	}
	f.waiting = false
	if d.span > 0 && d.next != activities.StepFinish {
		f.wait(b.now(), d.span, d.endsWithNews())
		return false
	}
	switch d.next {
	case activities.StepRobots:
		return d.fetchRobots(b, f)
	case activities.StepFinish:
		return d.finish(b, f)
	case activities.StepFetch:
	}
	return d.fetchPages(b, f)
}

func (d *domainFlow) fetchPages(b *bench, f *flow) (ended bool) {
	d.news, d.decided = false, false
	res, err := callFor(b, f.id, func(ctx context.Context, a *activities.Activities) (activities.FetchPagesResult, error) {
		return a.FetchPages(ctx, d.fetch)
	})
	if err != nil {
		return !f.again(b.now(), err)
	}
	d.res, d.next, d.span, d.reason = res, res.Next, time.Duration(res.Wait), res.Reason
	d.fetch.Queued = res.Queued
	if res.Next == activities.StepRobots {
		d.robots = res.Robots(d.name)
	}
	if res.Next != activities.StepFinish {
		d.unfinished = 0
	}
	return false
}

func (d *domainFlow) fetchRobots(b *bench, f *flow) (ended bool) {
	d.decided = false
	res, err := callFor(b, f.id, func(ctx context.Context, a *activities.Activities) (activities.FetchRobotsResult, error) {
		return a.FetchRobots(ctx, d.robots)
	})
	if err != nil {
		return !f.again(b.now(), err)
	}
	d.res.NextStep = d.robots.Then(res)
	d.next, d.span, d.reason, d.fetch.Queued = d.res.Next, time.Duration(res.Wait), res.Reason, res.Queued
	d.robots = d.res.Robots(d.name)
	return false
}

func (d *domainFlow) finish(b *bench, f *flow) (ended bool) {
	d.news, d.decided = false, false
	in := activities.FinishDomainInput{
		Domain: d.name, Defer: d.res.Defer, Wait: settings.Duration(d.span), Reason: string(d.reason),
	}
	res, err := callFor(b, f.id, func(ctx context.Context, a *activities.Activities) (activities.FinishDomainResult, error) {
		return a.FinishDomain(ctx, in)
	})
	if err != nil {
		return !f.again(b.now(), err)
	}
	if res.Finished && f.wakes == 0 && !d.news {
		return true
	}
	d.next, d.span, d.reason, d.res.Defer = activities.StepFetch, 0, "", false
	if !res.Finished {
		if d.unfinished > 0 {
			d.span = min(time.Second<<min(d.unfinished-1, 6), time.Minute)
		}
		d.unfinished++
	}
	return false
}

// seeding is workflows.SeedWorkflow, or workflows.RecrawlWorkflow.
type seeding struct {
	run, kind string
	stage     int
	store     activities.StoreSeedsInput
	recrawl   activities.RecrawlInput
}

func (s *seeding) step(b *bench, f *flow) (ended bool) {
	f.waiting = false
	pending := true
	_, err := callFor(b, f.id, func(ctx context.Context, a *activities.Activities) (struct{}, error) {
		switch {
		case s.stage == 1:
			b.world.Now = b.now()
			err := a.StartCrawl(ctx, activities.StartCrawlInput{Run: s.run, Scheduled: s.kind == "schedule"})
			if err == nil {
				b.world.Start(b.world.Runs[s.run], s.kind == "schedule")
			}
			return struct{}{}, err
		case s.stage == 2:
			_, err := a.FilterSeeds(stopping(ctx), activities.FilterSeedsInput{Run: s.run, Wake: s.store.Settings != (settings.Settings{})})
			return struct{}{}, err
		case s.kind == "recrawl":
			res, err := a.Recrawl(ctx, s.recrawl)
			pending = res.Pending > 0
			b.world.Runs[s.run].Resumes = pending
			return struct{}{}, err
		}
		_, err := a.StoreSeeds(ctx, s.store)
		if err == nil {
			b.seeded(s)
		}
		return struct{}{}, err
	})
	if err != nil {
		return !f.again(b.now(), err)
	}
	s.stage++
	if !pending {
		b.goesOn(s.run)
	}
	return s.kind == "stage" || !pending || s.stage == 3 || s.stage == 2 && s.kind == "recrawl"
}
