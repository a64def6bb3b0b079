package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl/urls"
)

// awaitOrTimer waits until a condition holds, and no longer than a time, if that is
// not 0.
func awaitOrTimer(ctx workflow.Context, wait time.Duration, summary string, condition func() bool) error {
	over := condition
	if wait > 0 {
		timerCtx, cancel := workflow.WithCancel(ctx)
		defer cancel()
		timer := workflow.NewTimerWithOptions(timerCtx, wait, workflow.TimerOptions{
			Summary: urls.Shorten(summary, summaryMax),
		})
		over = func() bool { return timer.IsReady() || condition() }
	}
	if err := workflow.Await(ctx, over); err != nil {
		return err
	}
	return ctx.Err()
}

// drain takes what is left in a signal channel. Returns the last, if any.
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

// upgrades reports whether another version of the workers is current than the one that
// this workflow is pinned to. A workflow without versions never upgrades.
func upgrades(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetTargetWorkerDeploymentVersionChanged()
}

// handsOver reports whether a workflow should go on in a new execution: its history has
// become long, or the workers of another version are to carry it on.
func handsOver(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() || upgrades(ctx)
}

// handOver goes on in a new execution, on the version that is current then. Its input has
// to be readable by the version before as well: a deployment may be taken back.
func handOver(ctx workflow.Context, to, in any) error {
	var opts workflow.ContinueAsNewErrorOptions
	if upgrades(ctx) {
		opts.InitialVersioningBehavior = workflow.ContinueAsNewVersioningBehaviorAutoUpgrade
	}
	return workflow.NewContinueAsNewErrorWithOptions(ctx, opts, to, in)
}
