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
