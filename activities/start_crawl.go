package activities

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
)

// StartCrawlInput names a run.
type StartCrawlInput struct {
	Run string `json:"run"`
	// Scheduled is set if a schedule starts the run, which does not resume a stopped or paused run.
	Scheduled bool `json:"scheduled,omitempty"`
}

// StartCrawl resumes a run and starts its CrawlWorkflow.
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
