package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Values of the search attribute MoseyStatus.
const (
	// StatusRunning means that a dispatcher or a SeedWorkflow is at work.
	StatusRunning = "running"
	// StatusCrawling means that a domain's pages are being fetched.
	StatusCrawling = "crawling"
	// StatusWaiting and the next mark a waiting domain (see the table of reasons) or a paused run.
	StatusWaiting    = reasons.StatusWaiting
	StatusGraylisted = reasons.StatusGraylisted
	StatusDeferred   = reasons.StatusDeferred
	StatusPaused     = reasons.StatusPaused
	// StatusFinished means that a domain's workflow has ended.
	StatusFinished = "finished"
	// StatusDone means that a run, a seeding or a recrawl has ended.
	StatusDone = "done"
	// StatusStopped means that an operator stopped the run, or that the workflow was cancelled.
	StatusStopped = "stopped"
	// StatusFailed means that a seeding or a recrawl was refused.
	StatusFailed = "failed"
)

func setStatus(ctx workflow.Context, status string) error {
	return workflow.UpsertTypedSearchAttributes(ctx, attrStatus.ValueSet(status))
}

// endAs sets the status of a workflow that ends now. It returns cause, which may be nil.
func endAs(ctx workflow.Context, status string, cause error) error {
	if err := setStatus(ctx, status); cause == nil {
		return err
	}
	return cause
}

// endWithOutcome sets the final status of a one-step workflow, and returns cause.
func endWithOutcome(ctx workflow.Context, cause error) error {
	switch {
	case cause == nil:
		return endAs(ctx, StatusDone, nil)
	case temporal.IsCanceledError(cause):
		return endAs(ctx, StatusStopped, cause)
	default:
		return endAs(ctx, StatusFailed, cause)
	}
}

// updatePauseStatus sets the status of a run that has not ended to paused or running.
func updatePauseStatus(ctx workflow.Context, res activities.DispatchResult) error {
	status, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(attrStatus)
	switch wasPaused := status == StatusPaused; {
	case res.Paused && !wasPaused:
		return setStatus(ctx, StatusPaused)
	case wasPaused && !res.Paused && !res.Ended:
		return setStatus(ctx, StatusRunning)
	}
	return nil
}

// end sets the status of an ended domain, unless it is paused, deferred or graylisted.
func (d *domain) end(ctx workflow.Context) error {
	switch d.state.Status {
	case StatusCrawling, StatusWaiting:
		return endAs(ctx, StatusFinished, nil)
	}
	return nil
}
