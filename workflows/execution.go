package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl/urls"
)

// awaitOrTimer waits for a condition, and no longer than wait unless wait is 0.
func awaitOrTimer(ctx workflow.Context, wait time.Duration, summary string, condition func() bool) error {
	isDone := condition
	if wait > 0 {
		timerCtx, cancel := workflow.WithCancel(ctx)
		defer cancel()
		timer := workflow.NewTimerWithOptions(timerCtx, wait, workflow.TimerOptions{
			Summary: urls.Shorten(summary, summaryMax),
		})
		isDone = func() bool { return timer.IsReady() || condition() }
	}
	if err := workflow.Await(ctx, isDone); err != nil {
		return err
	}
	return ctx.Err()
}

// drain receives all waiting signals. It returns the last one, if any.
func drain(c workflow.ReceiveChannel) (last Wake) {
	for {
		var w Wake
		if !c.ReceiveAsync(&w) {
			return last
		}
		if w != (Wake{}) {
			last = w
		}
	}
}

func hasUpgrade(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetTargetWorkerDeploymentVersionChanged()
}

// shouldContinueAsNew reports whether to continue as new: for a long history, or on another
// version.
func shouldContinueAsNew(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() || hasUpgrade(ctx)
}

// continueAsNew continues as new. The previous version must read the input too, for rollbacks.
func continueAsNew(ctx workflow.Context, workflowFunc, in any) error {
	var opts workflow.ContinueAsNewErrorOptions
	if hasUpgrade(ctx) {
		opts.InitialVersioningBehavior = workflow.ContinueAsNewVersioningBehaviorAutoUpgrade
	}
	return workflow.NewContinueAsNewErrorWithOptions(ctx, opts, workflowFunc, in)
}
