package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
)

// RecrawlWorkflow makes a run fetch old pages again, and starts it. BadInput fails it permanently.
func RecrawlWorkflow(ctx workflow.Context, in activities.RecrawlInput) (activities.RecrawlResult, error) {
	res, err := recrawl(ctx, in)
	return res, endWithOutcome(ctx, err)
}

func recrawl(ctx workflow.Context, in activities.RecrawlInput) (activities.RecrawlResult, error) {
	var res activities.RecrawlResult
	if err := in.Validate(); err != nil {
		return res, temporal.NewNonRetryableApplicationError(err.Error(), activities.TypeBadInput, nil)
	}
	summary := "find pages of run " + in.Run + " to fetch again"
	err := workflow.ExecuteActivity(withSeedOptions(ctx, summary), act.Recrawl, in).Get(ctx, &res)
	if err != nil || res.Pending == 0 {
		return res, err
	}
	return res, workflow.ExecuteActivity(withRecordOptions(ctx, "start run "+in.TargetRun()), act.StartCrawl,
		activities.StartCrawlInput{Run: in.TargetRun(), Scheduled: isScheduled(ctx)}).Get(ctx, nil)
}
