package activities

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
)

// FilterSeedsInput names a run.
type FilterSeedsInput struct {
	Run string `json:"run"`
	// Wake makes the run's sleeping domains decide again, because its settings were changed.
	Wake bool `json:"wake,omitempty"`
}

// FilterSeedsResult counts the filtered seeds.
type FilterSeedsResult struct {
	// Disallowed counts the seeds that robots.txt forbids.
	Disallowed int `json:"disallowed,omitempty"`
}

const (
	// seedFilterTimeout limits the requests for robots.txt. The domains' workflows request the rest.
	seedFilterTimeout = time.Minute
	// dispatcherHeadStart is the head start of the dispatcher, so that its workflows request
	// robots.txt.
	dispatcherHeadStart = 3 * time.Second
	seedFilterParallel  = 64
)

type seedFilter struct {
	*Activities

	run   crawl.Run
	until time.Time
}

// FilterSeeds closes the seeds that robots.txt forbids, so that their domains need no workflow. It
// requests the robots.txt of many origins at once, beside the crawl, and stops after a minute.
func (a *Activities) FilterSeeds(ctx context.Context, in FilterSeedsInput) (FilterSeedsResult, error) {
	defer heartbeat(ctx)()
	var res FilterSeedsResult
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return res, orBadInput(err)
	}
	if run.Status != crawl.RunRunning {
		return res, nil // its pages may not be requested
	}
	if in.Wake {
		if err := a.wakeDomains(ctx, run); err != nil {
			return res, err
		}
	}
	if added, _, err := a.widen(ctx, run, time.Time{}); err != nil {
		return res, err
	} else if added > 0 {
		if err := a.wakeDispatcher(ctx, run.Name); err != nil {
			return res, err
		}
	}
	if !sleep(ctx, dispatcherHeadStart) {
		return res, nil
	}
	f := &seedFilter{Activities: a, run: run, until: time.Now().Add(seedFilterTimeout)}
	for after := int64(0); time.Now().Before(f.until) && !stopping(ctx); {
		open, err := a.store.OpenSeeds(ctx, run.ID, after, seedChunk)
		if err != nil || len(open) == 0 {
			return res, err
		}
		if err := f.filter(ctx, open, after, &res); err != nil {
			return res, err
		}
		after = open[len(open)-1].ID
	}
	return res, nil
}

func (a *Activities) wakeDomains(ctx context.Context, run crawl.Run) error {
	claimed, err := a.store.ClaimedDomains(ctx, run.ID)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(dispatchParallel)
	for _, d := range claimed {
		group.Go(func() error { return a.starter.StartDomain(ctx, d, run.Name, *run.Settings.PagesPerActivity) })
	}
	return group.Wait()
}

func (f *seedFilter) filter(ctx context.Context, open []crawl.SeedCrawl, after int64, res *FilterSeedsResult) error {
	unknown := map[string]string{} // domains by origin
	for _, c := range open {
		d, err := f.decide(ctx, c)
		if err != nil {
			return err
		}
		if d.Action == decide.FetchPrerequisite {
			unknown[c.Origin] = c.Domain
		}
	}
	if len(unknown) > 0 {
		var group errgroup.Group
		group.SetLimit(seedFilterParallel)
		for origin, domain := range unknown {
			group.Go(func() error { return f.requestRobots(ctx, domain, origin) })
		}
		err := group.Wait()
		if err != nil {
			f.log.WarnContext(ctx, "could not check robots.txt of some seeds; their domains' workflows will", "error", err)
		}
		if open, err = f.store.OpenSeeds(ctx, f.run.ID, after, len(open)); err != nil {
			return err
		}
	}
	for _, c := range open {
		if err := f.closeDisallowed(ctx, c, res); err != nil {
			return err
		}
	}
	return nil
}

func (f *seedFilter) decide(ctx context.Context, c crawl.SeedCrawl) (decide.Decision, error) {
	facts := crawl.Facts{Now: c.Now, Domain: crawl.DomainFacts{Name: c.Domain}, Runs: []crawl.RunFacts{{
		ID: f.run.ID, Name: f.run.Name, Settings: f.run.Settings, Attempt: &c.AttemptFacts,
	}}}
	full, err := f.completeAttemptFacts(ctx, facts, &c.AttemptFacts)
	if err != nil {
		return decide.Decision{}, err
	}
	full.Windows = nil
	return decide.Attempt(full, facts.Now), nil
}

func (f *seedFilter) closeDisallowed(ctx context.Context, c crawl.SeedCrawl, res *FilterSeedsResult) error {
	d, err := f.decide(ctx, c)
	if err != nil || d.Action != decide.Refuse {
		return err
	}
	attempt := decide.ClosingAttempt(d, c.Domain, time.Now()).Clean()
	rec, err := f.store.Record(ctx, attempt)
	if rec.Closed {
		res.Disallowed++
		f.requests.LogAttempt(ctx, attempt)
	}
	return err
}

// requestRobots requests one origin's robots.txt while there is time. It leaves failures to the
// workflow.
func (f *seedFilter) requestRobots(ctx context.Context, domain, origin string) error {
	in := FetchRobotsInput{Domain: domain, Origin: origin}
	for time.Now().Before(f.until) && !stopping(ctx) {
		o, err := f.newOriginFetch(ctx, in, nil)
		if err != nil {
			return err
		}
		// The run may not be running yet.
		o.Run = crawl.RunFacts{ID: f.run.ID, Name: f.run.Name, Settings: f.run.Settings}
		o.Facts.Runs = append(o.Facts.Runs, o.Run)
		res, err := o.fetch(ctx)
		switch wait := time.Duration(res.Wait); {
		case isSiteFailure(err):
			return nil // it is recorded
		case err != nil || res.Done || res.Defer || wait > time.Until(f.until) || !sleep(ctx, wait):
			return err
		}
		in = in.Then(res).Robots(domain)
	}
	return nil
}
