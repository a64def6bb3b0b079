package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
)

// CrawlInput names the run to dispatch.
type CrawlInput struct {
	Run string `json:"run"`

	decodeErr error
}

// UnmarshalJSON decodes an input. The workflow returns its error.
func (in *CrawlInput) UnmarshalJSON(data []byte) error {
	type plain CrawlInput
	in.decodeErr = crawl.JSONError(json.Unmarshal(data, (*plain)(in)))
	return nil
}

func (in CrawlInput) validate() error {
	if in.decodeErr != nil {
		return in.decodeErr
	}
	return crawl.ValidateRunName(in.Run)
}

// CrawlResult explains why the run ended.
type CrawlResult struct {
	Reason string `json:"reason"`
}

// CrawlWorkflow starts the domains of a run that have due work, then sleeps until a page is due or
// a signal wakes it. It ends when nothing is active or due, waits while the run is paused, and
// stops the run if it is cancelled. Package reconcile restarts it if it was terminated.
func CrawlWorkflow(ctx workflow.Context, in CrawlInput) (CrawlResult, error) {
	if err := in.validate(); err != nil {
		return CrawlResult{}, temporal.NewNonRetryableApplicationError(err.Error(), activities.TypeBadInput, nil)
	}
	d := &dispatcher{run: in.Run, wake: workflow.GetSignalChannel(ctx, SignalWake)}
	if err := d.handle(ctx); err != nil {
		return CrawlResult{}, err
	}
	for {
		res, err := d.dispatch(ctx)
		switch {
		case err != nil:
			return CrawlResult{}, d.stopIfCancelled(ctx, err)
		// A new seed has resumed the run.
		case res.Ended && d.wake.Len() == 0:
			status := StatusDone
			if res.Stopped {
				status = StatusStopped
			}
			return CrawlResult{Reason: res.Reason}, endAs(ctx, status, nil)
		case res.Ended:
			continue
		case shouldContinueAsNew(ctx):
			drain(d.wake)
			return CrawlResult{}, continueAsNew(ctx, CrawlWorkflow, in)
		}
		// An idle run waits only for a signal, and so adds no events.
		summary := fmt.Sprintf("%d domains active", res.Active)
		if res.Paused {
			summary = "paused"
		}
		err = awaitOrTimer(ctx, time.Duration(res.NextIn), summary, func() bool {
			return d.changed || d.wake.Len() > 0 || hasUpgrade(ctx)
		})
		if err != nil {
			return CrawlResult{}, d.stopIfCancelled(ctx, err)
		}
	}
}

type dispatcher struct {
	run  string
	wake workflow.ReceiveChannel
	// changed is set if an operator has changed the run since the last dispatch.
	changed bool
}

func (d *dispatcher) dispatch(ctx workflow.Context) (res activities.DispatchResult, err error) {
	drain(d.wake)
	d.changed = false
	err = workflow.ExecuteActivity(withRecordOptions(ctx, "start domains with due work"), act.Dispatch,
		activities.DispatchInput{Run: d.run}).Get(ctx, &res)
	if err != nil {
		return res, err
	}
	details := fmt.Sprintf("Run **%s**: %d domains active", d.run, res.Active)
	if res.Paused {
		details = fmt.Sprintf("Run **%s** is paused: %s", d.run, res.Reason)
	}
	workflow.SetCurrentDetails(ctx, details)
	if err := updatePauseStatus(ctx, res); err != nil {
		return res, err
	}
	return res, workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// stopIfCancelled stops the run of a cancelled workflow, which would otherwise appear to run for
// ever.
func (d *dispatcher) stopIfCancelled(ctx workflow.Context, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	err := workflow.ExecuteActivity(withRecordOptions(ctx, "stop run "+d.run), act.StopRun,
		activities.StopRunInput{Run: d.run, Reason: "its workflow was canceled"}).Get(ctx, nil)
	if err != nil {
		return err
	}
	return endAs(ctx, StatusStopped, cause)
}

// handle sets the run's update handlers. A decision is stored first, to outlive the workflow.
func (d *dispatcher) handle(ctx workflow.Context) error {
	return errors.Join(
		setUpdate[Stop](ctx, UpdateStop, d.stop, "Stop the run. No page of it is requested afterwards"),
		setUpdate[Pause](ctx, UpdatePause, d.pause,
			"Pause the run until resume, or until a given time. Requests in flight are finished"),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, d.resume, workflow.UpdateHandlerOptions{
			Description: "Resume the run",
		}),
		setUpdate[Set](ctx, UpdateSet, d.set, "Change settings of the run. They apply from the next request on"),
	)
}

func (d *dispatcher) stop(ctx workflow.Context, in input[Stop]) error {
	return d.decide(ctx, "stop run "+d.run, act.StopRun,
		activities.StopRunInput{Run: d.run, Reason: in.message.Reason})
}

func (d *dispatcher) pause(ctx workflow.Context, in input[Pause]) error {
	m := in.message
	return d.change(ctx, "pause run "+d.run,
		crawl.RunChange{Action: crawl.ChangePause, Reason: m.Reason, Until: m.until()})
}

func (d *dispatcher) resume(ctx workflow.Context) error {
	return d.change(ctx, "resume run "+d.run, crawl.RunChange{Action: crawl.ChangeResume})
}

func (d *dispatcher) set(ctx workflow.Context, in input[Set]) error {
	return d.change(ctx, "change settings of run "+d.run,
		crawl.RunChange{Action: crawl.ChangeSet, Settings: in.message.Settings, Reason: in.message.Reason})
}

func (d *dispatcher) change(ctx workflow.Context, summary string, c crawl.RunChange) error {
	c.SetBy = setBy
	return d.decide(ctx, summary, act.ChangeRun, activities.ChangeRunInput{Run: d.run, RunChange: c})
}

func (d *dispatcher) decide(ctx workflow.Context, summary string, activity, in any) error {
	err := workflow.ExecuteActivity(withUpdateOptions(ctx, summary), activity, in).Get(ctx, nil)
	d.changed = true // the activity may have failed after storing
	return updateError(summary, err)
}
