package activities

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
)

// StartCrawlInput names a run.
type StartCrawlInput struct {
	Run string `json:"run"`
	// Scheduled says that a schedule starts it: a stopped or paused run stays so.
	Scheduled bool `json:"scheduled,omitempty"`
}

// StartCrawl makes a run go on, and its CrawlWorkflow run.
func (a *Activities) StartCrawl(ctx context.Context, in StartCrawlInput) error {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return orBadInput(err)
	}
	if in.Scheduled && (run.Status == crawl.RunStopped || run.Status == crawl.RunPaused) {
		return nil
	}
	if err := a.store.StartRun(ctx, run.ID); err != nil {
		return err
	}
	return a.starter.StartCrawl(ctx, run.Name)
}
