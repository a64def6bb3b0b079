package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/reasons"
)

// Values of the search attribute MoseyStatus.
const (
	// StatusRunning is a dispatcher or a seeding that is at work.
	StatusRunning = "running"
	// StatusCrawling is a domain whose pages are being fetched, politely.
	StatusCrawling = "crawling"
	// StatusWaiting and the next are of a waiting domain, see the table of reasons, or of a paused run.
	StatusWaiting    = reasons.StatusWaiting
	StatusGraylisted = reasons.StatusGraylisted
	StatusDeferred   = reasons.StatusDeferred
	StatusPaused     = reasons.StatusPaused
	// StatusFinished is a domain whose workflow has ended.
	StatusFinished = "finished"
	// StatusDone is a run, a seeding or a recrawl that has ended.
	StatusDone = "done"
	// StatusStopped is a run that a person has stopped, or what was cancelled.
	StatusStopped = "stopped"
	// StatusFailed is a seeding or a recrawl that was refused.
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

// endOf is endAs of a workflow that does one thing.
func endOf(ctx workflow.Context, cause error) error {
	switch {
	case cause == nil:
		return endAs(ctx, StatusDone, nil)
	case temporal.IsCanceledError(cause):
		return endAs(ctx, StatusStopped, cause)
	default:
		return endAs(ctx, StatusFailed, cause)
	}
}

// showPause sets the status of a run that goes on to paused or running.
func showPause(ctx workflow.Context, res activities.DispatchResult) error {
	status, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(attrStatus)
	switch was := status == StatusPaused; {
	case res.Paused && !was:
		return setStatus(ctx, StatusPaused)
	case was && !res.Paused && !res.Ended:
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
