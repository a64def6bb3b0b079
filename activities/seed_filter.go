package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
)

const (
	// seedFilterSpan is when a seeding stops to ask for robots.txt. The rest is left
	// to the domains' workflows, which ask for it before any page.
	seedFilterSpan = time.Minute
	// seedFilterWait is how long the answers for a batch are waited for. A request
	// that takes longer is given up, and left to its domain's workflow.
	seedFilterWait = 5 * time.Second
	// seedFilterParallel is how many are asked for at once.
	seedFilterParallel = 64
)

// seedFilter closes the seeds that robots.txt forbids, so that their domains need
// no workflow. It asks for the robots.txt of a batch of seeds at once, and so
// costs one wait a batch.
type seedFilter struct {
	*Activities

	run   crawl.Run
	until time.Time
}

func (a *Activities) newSeedFilter(run crawl.Run) *seedFilter {
	return &seedFilter{Activities: a, run: run, until: time.Now().Add(seedFilterSpan)}
}

// filter looks at seeds that have been stored.
func (f *seedFilter) filter(ctx context.Context, seeds []urls.URL, res *StoreSeedsResult) error {
	if time.Now().After(f.until) || stopping(ctx) {
		return nil
	}
	open, err := f.store.OpenSeeds(ctx, f.run.ID, seeds)
	if err != nil {
		return err
	}
	unknown := map[string]string{} // domains by origin
	for _, c := range open {
		d, err := f.decide(ctx, c)
		if err != nil {
			return err
		}
		if d.Do == decide.FetchPrerequisite {
			unknown[c.Origin] = c.Domain
		}
	}
	if len(unknown) > 0 {
		if err := f.askAll(ctx, unknown); err != nil {
			f.log.WarnContext(ctx, "some seeds are left to their domains' workflows", "error", err)
		}
		if open, err = f.store.OpenSeeds(ctx, f.run.ID, seeds); err != nil {
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

// askAll asks for the robots.txt of origins, at once, and waits for seedFilterWait
// at the most: one slow host must not hold the run up.
func (f *seedFilter) askAll(ctx context.Context, domains map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, seedFilterWait)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(seedFilterParallel)
	for origin, domain := range domains {
		group.Go(func() error { return f.ask(ctx, domain, origin) })
	}
	return group.Wait()
}

// decide says what is to become of a seed by its robots.txt alone.
func (f *seedFilter) decide(ctx context.Context, c crawl.SeedCrawl) (decide.Decision, error) {
	facts := crawl.Facts{Now: time.Now(), Domain: crawl.DomainFacts{Name: c.Domain}, Runs: []crawl.RunFacts{{
		ID: f.run.ID, Name: f.run.Name, Settings: f.run.Settings, Crawl: &c.CrawlFacts,
	}}}
	full, err := f.completeFor(ctx, facts, &c.CrawlFacts)
	if err != nil {
		return decide.Decision{}, err
	}
	full.Windows = nil
	return decide.Crawl(full, facts.Now), nil
}

// closeDisallowed records that a seed is not requested.
func (f *seedFilter) closeDisallowed(ctx context.Context, c crawl.SeedCrawl, res *StoreSeedsResult) error {
	d, err := f.decide(ctx, c)
	if err != nil || d.Do != decide.Refuse {
		return err
	}
	rec, err := f.store.Record(ctx, closing(d, c.Domain))
	if rec.Closed {
		res.Disallowed++
	}
	return err
}

// ask makes the requests for one origin's robots.txt that end within the context,
// paced as any other. A site in trouble is left to its domain's workflow.
func (f *seedFilter) ask(ctx context.Context, domain, origin string) error {
	in := FetchRobotsInput{Domain: domain, Origin: origin}
	for !stopping(ctx) {
		o, err := f.newOriginFetch(ctx, in)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		o.bind(f.run)
		res, err := o.fetch(ctx)
		var trouble *temporal.ApplicationError
		switch {
		case errors.As(err, &trouble):
			return nil // it is recorded
		case err != nil:
			return ignoreEnd(ctx, err)
		case res.Done || !sleep(ctx, time.Duration(res.Wait)):
			return nil
		}
		in.Kind, in.URL, in.Hops, in.Queued = res.Kind, res.URL, res.Hops, res.Queued
	}
	return nil
}

// ignoreEnd is nil where an error only says that the time is over.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, fetch.KindCanceled) {
		return nil
	}
	return err
}
