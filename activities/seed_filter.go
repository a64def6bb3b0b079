package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// seedFilterSpan is when a seeding stops to ask for robots.txt. The rest is left
	// to the domains' workflows, which ask for it before any page.
	seedFilterSpan = time.Minute
	// seedFilterWait is how long a batch is waited for. Answers that come later are
	// stored all the same.
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
		v, err := f.verdict(ctx, c)
		if err != nil {
			return err
		}
		if v.fetch {
			unknown[c.Origin] = c.Domain
		}
	}
	if len(unknown) > 0 {
		f.askAll(ctx, unknown)
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

// askAll asks for the robots.txt of origins, at once. One slow host must not hold
// the run up: its request is not waited for.
func (f *seedFilter) askAll(ctx context.Context, domains map[string]string) {
	until := time.Now().Add(seedFilterWait)
	done := make(chan struct{})
	f.background.Go(func() {
		defer close(done)
		var group errgroup.Group
		group.SetLimit(seedFilterParallel)
		for origin, domain := range domains {
			group.Go(func() error { return f.ask(context.WithoutCancel(ctx), domain, origin, until) })
		}
		if err := group.Wait(); err != nil {
			f.log.WarnContext(ctx, "some seeds are left to their domains' workflows", "error", err)
		}
	})
	timer := time.NewTimer(seedFilterWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (f *seedFilter) verdict(ctx context.Context, c crawl.SeedCrawl) (verdict, error) {
	c.Purpose = *f.run.Settings.Purpose
	return f.robotsVerdict(ctx, c.Next)
}

// closeDisallowed records that a seed is not requested.
func (f *seedFilter) closeDisallowed(ctx context.Context, c crawl.SeedCrawl, res *StoreSeedsResult) error {
	v, err := f.verdict(ctx, c)
	if err != nil || v.fetch || v.deferred || v.allowed {
		return err
	}
	_, closed, err := f.store.Finish(ctx, unrequested(c.Next, c.Domain, crawl.OutcomeBlockedRobots, v.why))
	if closed {
		res.Disallowed++
	}
	return err
}

// ask makes the requests for one origin's robots.txt that can be begun until an
// instant, paced as any other. A site in trouble is left to its domain's workflow.
func (f *seedFilter) ask(ctx context.Context, domain, origin string, until time.Time) error {
	in := FetchRobotsInput{Domain: domain, Origin: origin}
	for time.Now().Before(until) && !stopping(ctx) {
		fetch, err := f.newRobotsFetch(ctx, in)
		if err != nil {
			return err
		}
		fetch.bind(f.run.Settings)
		res, err := fetch.run(ctx)
		var trouble *temporal.ApplicationError
		switch {
		case errors.As(err, &trouble):
			return nil // it is recorded
		case err != nil || res.Done || time.Duration(res.Wait) > time.Until(until) || !sleep(ctx, time.Duration(res.Wait)):
			return err
		}
		in.URL, in.Hops, in.Queued = res.URL, res.Hops, res.Queued
	}
	return nil
}
