package activities

import "context"

// StartCrawlInput names a run.
type StartCrawlInput struct {
	Run string `json:"run"`
}

// StartCrawl makes a run go on, and its CrawlWorkflow run.
func (a *Activities) StartCrawl(ctx context.Context, in StartCrawlInput) error {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return orBadInput(err)
	}
	if err := a.store.StartRun(ctx, run.ID); err != nil {
		return err
	}
	return a.starter.StartCrawl(ctx, run.Name)
}
