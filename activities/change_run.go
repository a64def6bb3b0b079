package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

// ChangeRunInput names a run and its change.
type ChangeRunInput struct {
	Run string `json:"run"`
	crawl.RunChange
}

// ChangeRun changes, pauses, resumes or stops a run. A repeated call changes nothing.
func (a *Activities) ChangeRun(ctx context.Context, in ChangeRunInput) error {
	if err := politeness.ValidateSettings(in.Settings); err != nil {
		return badInput(err)
	}
	info := activity.GetInfo(ctx)
	in.Decision = fmt.Sprintf("%s/%s", info.WorkflowExecution.RunID, info.ActivityID)
	run, err := a.store.ChangeRun(ctx, in.Run, in.RunChange)
	if err != nil {
		return orBadInput(err)
	}
	if in.Action == crawl.ChangeSet {
		return a.wakeDomains(ctx, run)
	}
	return nil
}

func byWorkflow(ctx context.Context) string {
	id := "the workflow " + activity.GetInfo(ctx).WorkflowExecution.ID
	return id[:min(len(id), crawl.ControlByMax)]
}

// checkPausedRun checks a paused run. It resumes the run if its pause is over, else returns the
// time left.
func (a *Activities) checkPausedRun(ctx context.Context, run crawl.Run) (res DispatchResult, isOver bool, err error) {
	res = DispatchResult{Paused: true, Reason: run.Reason}
	if run.PausedUntil.IsZero() {
		return res, false, nil
	}
	_, now, err := a.store.NextDue(ctx, run.ID)
	if err != nil {
		return res, false, err
	}
	if remaining := run.PausedUntil.Sub(now); remaining > 0 {
		res.NextIn = settings.Duration(remaining + time.Millisecond)
		return res, false, nil
	}
	_, err = a.store.ChangeRun(ctx, run.Name, crawl.RunChange{
		Action: crawl.ChangeResume, SetBy: byWorkflow(ctx), Reason: "the pause is over",
	})
	return res, true, err
}
