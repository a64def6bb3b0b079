package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
)

// CrawlInput names the run to dispatch.
type CrawlInput struct {
	Run string `json:"run"`
}

// CrawlResult says why the run ended.
type CrawlResult struct {
	Reason string `json:"reason"`
}

// CrawlWorkflow keeps the domains of a run going: it starts those that have due
// work, then sleeps until something is due next or a signal wakes it. It ends when
// nothing is active and nothing is due.
func CrawlWorkflow(ctx workflow.Context, in CrawlInput) (CrawlResult, error) {
	wake := workflow.GetSignalChannel(ctx, SignalWake)
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateStop, func(ctx workflow.Context, m Stop) error {
		return workflow.ExecuteActivity(withUpdateOptions(ctx, "stop run "+in.Run), act.StopRun,
			activities.StopRunInput{Run: in.Run, Reason: m.Reason}).Get(ctx, nil)
	}, workflow.UpdateHandlerOptions{
		Validator:   func(_ workflow.Context, m Stop) error { return validateReason(m.Reason) },
		Description: "Stop the run: no page of it is requested any more",
	})
	if err != nil {
		return CrawlResult{}, err
	}
	for {
		drain(wake)
		var res activities.DispatchResult
		err := workflow.ExecuteActivity(withDispatchOptions(ctx), act.Dispatch,
			activities.DispatchInput{Run: in.Run}).Get(ctx, &res)
		if err != nil {
			return CrawlResult{}, err
		}
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("Run **%s**: %d domains active", in.Run, res.Active))
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return CrawlResult{}, err
		}
		switch {
		// A seed that came meanwhile has made the run go on: look again.
		case res.Ended && wake.Len() == 0:
			return CrawlResult{Reason: res.Reason}, nil
		case res.Ended:
			continue
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			drain(wake)
			return CrawlResult{}, workflow.NewContinueAsNewError(ctx, CrawlWorkflow, in)
		}
		if err := waitForWake(ctx, wake, res); err != nil {
			return CrawlResult{}, err
		}
	}
}

// waitForWake waits until it is time to look for work again, or a signal says so.
// An idle run waits for a signal alone, and so makes no events.
func waitForWake(ctx workflow.Context, wake workflow.ReceiveChannel, res activities.DispatchResult) error {
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	var err error
	s := workflow.NewNamedSelector(ctx, "dispatch").
		AddReceive(wake, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = temporal.NewCanceledError() })
	if res.NextIn > 0 {
		timer := workflow.NewTimerWithOptions(timerCtx, time.Duration(res.NextIn), workflow.TimerOptions{
			Summary: fmt.Sprintf("%d domains active", res.Active),
		})
		s.AddFuture(timer, func(f workflow.Future) { err = f.Get(ctx, nil) })
	}
	s.Select(ctx)
	return err
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
