package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
)

// handle sets the run's update handlers. What an update decides is a row first, which the
// guard obeys: it holds even if this workflow is lost.
func (d *dispatcher) handle(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateStop, d.stop, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m Stop) error { return m.validate() },
			Description: "Stop the run: no page of it is requested any more",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdatePause, d.pause, workflow.UpdateHandlerOptions{
			Validator:   func(ctx workflow.Context, m Pause) error { return m.validate(workflow.Now(ctx)) },
			Description: "Request nothing of the run until resume, or until a time; what has begun is finished",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, d.resume, workflow.UpdateHandlerOptions{
			Description: "End a pause",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSet, d.set, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m Set) error { return m.validate() },
			Description: "Change settings of the run, from the next request on",
		}),
	)
}

func (d *dispatcher) stop(ctx workflow.Context, m Stop) error {
	return d.decide(ctx, "stop run "+d.run, act.StopRun, activities.StopRunInput{Run: d.run, Reason: m.Reason})
}

func (d *dispatcher) pause(ctx workflow.Context, m Pause) error {
	c := crawl.RunChange{Action: crawl.ChangePause, Reason: m.Reason}
	if m.Until != nil {
		c.Until = *m.Until
	}
	return d.change(ctx, "pause run "+d.run, c)
}

func (d *dispatcher) resume(ctx workflow.Context) error {
	return d.change(ctx, "resume run "+d.run, crawl.RunChange{Action: crawl.ChangeResume})
}

func (d *dispatcher) set(ctx workflow.Context, m Set) error {
	return d.change(ctx, "change settings of run "+d.run,
		crawl.RunChange{Action: crawl.ChangeSet, Settings: m.Settings, Reason: m.Reason})
}

func (d *dispatcher) change(ctx workflow.Context, summary string, c crawl.RunChange) error {
	c.SetBy = setBy
	return d.decide(ctx, summary, act.ChangeRun, activities.ChangeRunInput{Run: d.run, RunChange: c})
}

// decide stores a person's decision by an activity, then has the dispatcher look.
func (d *dispatcher) decide(ctx workflow.Context, summary string, activity, in any) error {
	err := workflow.ExecuteActivity(withUpdateOptions(ctx, summary), activity, in).Get(ctx, nil)
	d.changed = true // perhaps even if it failed
	return updateError(summary, err)
}
