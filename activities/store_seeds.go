package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
)

// SeedStore is the rows of seeds.
type SeedStore interface {
	AddSeeds(ctx context.Context, runID int64, seeds []urls.URL) (int, error)
	StagedSeeds(ctx context.Context, runID int64, most int) ([]crawl.StagedSeed, error)
	UnstageSeeds(ctx context.Context, runID, lastID int64) error
	OpenSeeds(ctx context.Context, runID, after int64, most int) ([]crawl.SeedCrawl, error)
}

// StoreSeedsInput asks to store seeds: those given, and those that a command line
// has staged for the run.
type StoreSeedsInput struct {
	Run      string         `json:"run"`
	URLs     []string       `json:"urls,omitempty"`
	Settings crawl.Settings `json:"settings"`
}

// StoreSeedsResult counts what came of the seeds.
type StoreSeedsResult struct {
	Added int `json:"added"`
	Known int `json:"known"`
	// Refused seeds are no URLs; Example is one of them and why.
	Refused int    `json:"refused,omitempty"`
	Example string `json:"example,omitempty"`
}

const (
	// seedChunk is how many seeds one transaction stores.
	seedChunk = 500
	// seedExampleMax bounds the example of a refused seed.
	seedExampleMax = 200
)

// StoreSeeds makes sure that the run exists, and stores its seeds in chunks. Where its
// depth or scope was widened it begins to add the pages that are known already. Each
// chunk is forgotten once it is stored, so a second attempt goes on where the
// first was interrupted. Seeds that are given and are not URLs fail the activity for
// good; staged ones, of which there may be a million, are counted.
func (a *Activities) StoreSeeds(ctx context.Context, in StoreSeedsInput) (StoreSeedsResult, error) {
	defer heartbeat(ctx)()
	var res StoreSeedsResult
	if activity.HasHeartbeatDetails(ctx) {
		// what an attempt that was interrupted has counted
		if err := activity.GetHeartbeatDetails(ctx, &res); err != nil {
			return res, fmt.Errorf("read the heartbeat: %w", err)
		}
	}
	parsed, err := urls.ParseAll(in.URLs)
	if err != nil {
		return res, badInput(err)
	}
	if err := politeness.ValidateSettings(in.Settings); err != nil {
		return res, badInput(err)
	}
	if len(parsed) == 0 {
		// a run is changed, or goes on; seeds that are staged have one
		if _, err := a.store.Run(ctx, in.Run); errors.Is(err, crawl.ErrNotFound) {
			return res, badInput(fmt.Errorf("%w: urls: run %q does not exist yet: at least one is needed, such as [\"https://example.org/\"]",
				crawl.ErrInvalid, in.Run))
		}
	}
	run, err := a.store.EnsureRun(ctx, in.Run, in.Settings)
	if err != nil {
		return res, err
	}
	if len(parsed) > 0 && res.Added+res.Known == 0 {
		if res.Added, err = a.store.AddSeeds(ctx, run.ID, parsed); err != nil {
			return res, err
		}
		res.Known = len(parsed) - res.Added
	}
	for {
		staged, err := a.store.StagedSeeds(ctx, run.ID, seedChunk)
		if err != nil {
			return res, err
		}
		if len(staged) == 0 {
			_, err := a.widen(ctx, run, time.Now().Add(widenFirst))
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
	parsed := make([]urls.URL, 0, len(staged))
	for _, s := range staged {
		u, err := urls.Parse(s.URL)
		if err != nil {
			res.Refused++
			res.Example = crawl.CleanText(err.Error(), seedExampleMax)
			continue
		}
		parsed = append(parsed, u)
	}
	added, err := a.store.AddSeeds(ctx, run.ID, parsed)
	if err != nil {
		return err
	}
	res.Added += added
	res.Known += len(parsed) - added
	return a.store.UnstageSeeds(ctx, run.ID, staged[len(staged)-1].ID)
}
