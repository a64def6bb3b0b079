package workflows

import (
	"fmt"
	"time"

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
	stopped := false // since the last look
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateStop, func(ctx workflow.Context, m Stop) error {
		summary := "stop run " + in.Run
		err := workflow.ExecuteActivity(withUpdateOptions(ctx, summary), act.StopRun,
			activities.StopRunInput{Run: in.Run, Reason: m.Reason}).Get(ctx, nil)
		stopped = true // perhaps even if it failed
		return updateError(summary, err)
	}, workflow.UpdateHandlerOptions{
		Validator:   func(_ workflow.Context, m Stop) error { return m.validate() },
		Description: "Stop the run: no page of it is requested any more",
	})
	if err != nil {
		return CrawlResult{}, err
	}
	for {
		drain(wake)
		stopped = false
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
		// An idle run waits for a signal alone, and so makes no events.
		err = awaitOrTimer(ctx, time.Duration(res.NextIn), fmt.Sprintf("%d domains active", res.Active), func() bool {
			return stopped || wake.Len() > 0
		})
		if err != nil {
			return CrawlResult{}, err
		}
	}
}
