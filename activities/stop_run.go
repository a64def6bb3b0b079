package activities

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
)

// StopRunInput names a run and the reason to stop it.
type StopRunInput struct {
	Run    string `json:"run"`
	Reason string `json:"reason,omitempty"`
}

// StopRun stops a run. It does not change a run that has ended.
func (a *Activities) StopRun(ctx context.Context, in StopRunInput) error {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return orBadInput(err)
	}
	if _, err := run.Status.Apply(crawl.ChangeStop); err != nil {
		return nil //nolint:nilerr // it is stopped, or done
	}
	return a.ChangeRun(ctx, ChangeRunInput{Run: in.Run, RunChange: crawl.RunChange{
		Action: crawl.ChangeStop, Reason: in.Reason, SetBy: byWorkflow(ctx),
	}})
}
