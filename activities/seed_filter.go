package activities

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// seedFilterSpan is when a seeding stops to ask for robots.txt. The rest is left
	// to the domains' workflows, which ask for it before any page.
	seedFilterSpan = time.Minute
	// seedFilterWait is how long one robots.txt is waited for where its domain is not
	// to be asked yet.
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
func (f *seedFilter) filter(ctx context.Context, urls []crawl.URL, res *StoreSeedsResult) error {
	if time.Now().After(f.until) || stopping(ctx) {
		return nil
	}
	open, err := f.store.OpenSeeds(ctx, f.run.ID, urls)
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
	var group errgroup.Group
	group.SetLimit(seedFilterParallel)
	for origin, domain := range unknown {
		group.Go(func() error { return f.ask(ctx, domain, origin) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if open, err = f.store.OpenSeeds(ctx, f.run.ID, urls); err != nil {
		return err
	}
	for _, c := range open {
		if err := f.closeDisallowed(ctx, c, res); err != nil {
			return err
		}
	}
	return nil
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
	_, closed, err := f.store.Finish(ctx, crawl.Attempt{
		CrawlID: c.CrawlID, Domain: c.Domain, Outcome: crawl.OutcomeBlockedRobots,
		Error: v.why, EndedAt: time.Now(), RetryIn: crawl.NoRetry,
	})
	if closed {
		res.Disallowed++
	}
	return err
}

// ask makes the requests for one origin's robots.txt that can be made now, paced
// as any other. A site in trouble is left to its domain's workflow.
func (f *seedFilter) ask(ctx context.Context, domain, origin string) error {
	in := FetchRobotsInput{Domain: domain, Origin: origin}
	for time.Now().Before(f.until) && !stopping(ctx) {
		fetch, err := f.newRobotsFetch(ctx, in)
		if err != nil {
			return err
		}
		fetch.bind(f.run.Settings)
		res, err := fetch.run(ctx)
		if err != nil || res.Done || time.Duration(res.Wait) > seedFilterWait || !sleep(ctx, time.Duration(res.Wait)) {
			return ctx.Err() // the site's trouble is recorded, ours comes up again
		}
		in.URL, in.Hops, in.Queued = res.URL, res.Hops, res.Queued
	}
	return nil
}
