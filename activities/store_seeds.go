package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

// SeedStore reads and writes the rows of seeds, and the progress of seed files.
type SeedStore interface {
	AddSeeds(ctx context.Context, runID int64, pages []urls.URL) (int, error)
	StoreSeeds(ctx context.Context, runID int64, source seeds.Source, all []seeds.Seed) (seeds.StoreResult, error)
	StagedSeeds(ctx context.Context, runID int64, limit int) ([]crawl.StagedSeed, error)
	UnstageSeeds(ctx context.Context, runID, lastID int64) error
	OpenSeeds(ctx context.Context, runID, after int64, limit int) ([]crawl.SeedCrawl, error)
	SeedFileProgress(ctx context.Context, runID int64, file, version string) (int64, error)
	StoreSeedFileProgress(ctx context.Context, runID int64, file, version string, entries int64) error
	DeleteSeedFileProgress(ctx context.Context, runID int64, file string) error
}

// StoreSeedsInput requests to store the given seeds, and the seeds that a command line has staged.
type StoreSeedsInput struct {
	Run      string            `json:"run"`
	URLs     []string          `json:"urls,omitempty"`
	Settings settings.Settings `json:"settings"`
}

// StoreSeedsResult counts the stored seeds.
type StoreSeedsResult struct {
	Added int `json:"added"`
	Known int `json:"known"`
	// Listed counts seeds of domains that a list excludes from crawls.
	Listed int `json:"listed,omitempty"`
	// Refused counts seeds that are no URLs. Example is a refused seed with its error.
	Refused int    `json:"invalid,omitempty"`
	Example string `json:"example,omitempty"`
}

func (r *StoreSeedsResult) add(stored seeds.StoreResult) {
	r.Added, r.Known, r.Listed = r.Added+stored.Added, r.Known+stored.Known, r.Listed+stored.Listed
}

const (
	// seedChunk caps the seeds that one transaction stores.
	seedChunk      = 500
	seedExampleMax = 200
)

// StoreSeeds creates the run if needed, and stores its seeds in chunks. It also begins to follow
// known links if the depth or scope was widened. Each chunk is unstaged once it is stored, so that
// a retry resumes. Given seeds that are no URLs are bad input; staged ones are counted.
func (a *Activities) StoreSeeds(ctx context.Context, in StoreSeedsInput) (StoreSeedsResult, error) {
	defer heartbeat(ctx)()
	var res StoreSeedsResult
	if activity.HasHeartbeatDetails(ctx) {
		// Resume from the counts of an interrupted attempt.
		if err := activity.GetHeartbeatDetails(ctx, &res); err != nil {
			return res, fmt.Errorf("read the heartbeat: %w", err)
		}
	}
	if _, err := urls.ParseSeeds(in.URLs); err != nil {
		return res, badInput(err)
	}
	if err := politeness.ValidateSettings(in.Settings); err != nil {
		return res, badInput(err)
	}
	if len(in.URLs) == 0 {
		// This changes or resumes a run. Staged seeds always have a run.
		if _, err := a.store.Run(ctx, in.Run); errors.Is(err, crawl.ErrNotFound) {
			return res, badInput(fmt.Errorf("%w: urls: run %q does not exist yet: want at least one URL, such as [\"https://example.org/\"]",
				crawl.ErrInvalid, in.Run))
		}
	}
	run, err := a.store.EnsureRun(ctx, in.Run, byWorkflow(ctx), in.Settings)
	if err != nil {
		return res, err
	}
	if res.Added+res.Known+res.Listed == 0 {
		if err := a.addSeeds(ctx, run, in.URLs, &res); err != nil {
			return res, err
		}
	}
	for {
		staged, err := a.store.StagedSeeds(ctx, run.ID, seedChunk)
		if err != nil {
			return res, err
		}
		if len(staged) == 0 {
			_, _, err := a.widen(ctx, run, time.Now().Add(initialWidenTimeout))
			return res, err
		}
		if err := a.storeChunk(ctx, run, staged, &res); err != nil {
			return res, err
		}
		activity.RecordHeartbeat(ctx, res)
		if stopping(ctx) {
			return res, fmt.Errorf("the worker is stopping; %d seeds stored so far", res.Added)
		}
	}
}

func (a *Activities) storeChunk(ctx context.Context, run crawl.Run, staged []crawl.StagedSeed, res *StoreSeedsResult) error {
	raw := make([]string, len(staged))
	for i, s := range staged {
		raw[i] = s.URL
	}
	if err := a.addSeeds(ctx, run, raw, res); err != nil {
		return err
	}
	return a.store.UnstageSeeds(ctx, run.ID, staged[len(staged)-1].ID)
}

func (a *Activities) addSeeds(ctx context.Context, run crawl.Run, raw []string, res *StoreSeedsResult) error {
	var parsed []seeds.Seed
	for _, text := range raw {
		seed, err := seeds.Parse(text)
		if err != nil {
			res.Refused++
			res.Example = crawl.CleanText(err.Error(), seedExampleMax)
			continue
		}
		parsed = append(parsed, seed)
	}
	if len(parsed) == 0 {
		return nil
	}
	stored, err := a.store.StoreSeeds(ctx, run.ID, seeds.URLs, parsed)
	res.add(stored)
	return err
}
