package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
)

// handle sets the domain's query and update handlers. A decision is stored first, to outlive the
// workflow.
func (d *domain) handle(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetQueryHandler(ctx, QueryState, func() (DomainState, error) { return d.state, nil }),
		setUpdate[Pause](ctx, UpdatePause, d.pause,
			"Pause the domain until resume, or until a given time. A request in flight is finished, then the workflow ends"),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, d.resume, workflow.UpdateHandlerOptions{
			Description: "Resume the domain",
		}),
		setUpdate[Stop](ctx, UpdateStop, d.stop, "Stop the domain until it is seeded again"),
		setUpdate[SetDelay](ctx, UpdateSetDelay, d.setDelay,
			"Set the domain's minimum delay, from the next request on; null removes it"),
		setUpdate[SetBudget](ctx, UpdateSetBudget, d.setBudget,
			"Set the domain's budget of page requests per run; null removes it"),
		setUpdate[SetWindow](ctx, UpdateSetWindow, d.setWindow,
			"Set the times of requests to the domain, such as Mon-Fri 22:00-06:00 Europe/Berlin; null removes them"),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateAddURLs, d.addURLs, workflow.UpdateHandlerOptions{
			Validator: func(_ workflow.Context, in input[AddURLs]) error {
				example := `{"run":"small-web","urls":["https://` + d.name + `/new"]}`
				return cmp.Or(in.check(example), in.message.validate(d.name))
			},
			Description: "Add pages of the domain to a run",
		}),
	)
}

const setBy = "a workflow update"

func (d *domain) pause(ctx workflow.Context, in input[Pause]) error {
	m := in.message
	return d.control(ctx, "pause "+d.name,
		crawl.Control{Type: crawl.ControlPause, Reason: m.Reason, Until: m.until()})
}

func (d *domain) resume(ctx workflow.Context) error {
	return d.decide(ctx, "resume "+d.name, act.LiftControl, activities.LiftControlInput{
		Domain: d.name, Kinds: []crawl.ControlType{crawl.ControlPause}, By: setBy,
	})
}

func (d *domain) stop(ctx workflow.Context, in input[Stop]) error {
	return d.control(ctx, "stop "+d.name, crawl.Control{Type: crawl.ControlStop, Reason: in.message.Reason})
}

func (d *domain) setDelay(ctx workflow.Context, in input[SetDelay]) error {
	var delay *crawl.Millis
	summary := "remove the delay"
	if own := in.message.Delay; own != nil {
		delay, summary = new(crawl.Millis(*own)), "set the delay to "+own.String()
	}
	return d.set(ctx, summary, crawl.ControlDelay, delay)
}

func (d *domain) setBudget(ctx workflow.Context, in input[SetBudget]) error {
	return d.set(ctx, "set the budget", crawl.ControlBudget, in.message.MaxPages)
}

func (d *domain) setWindow(ctx workflow.Context, in input[SetWindow]) error {
	return d.set(ctx, "set the window", crawl.ControlWindow, in.message.Window)
}

// set stores a domain's own setting; a nil value lifts it.
func (d *domain) set(ctx workflow.Context, summary string, kind crawl.ControlType, value any) error {
	//workflowcheck:ignore a number or a text is the same JSON every time
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return d.control(ctx, summary, crawl.Control{Type: kind, Value: data})
}

// control stores a decision, and makes the workflow obey it at once.
func (d *domain) control(ctx workflow.Context, summary string, c crawl.Control) error {
	c.SetBy = setBy
	return d.decide(ctx, summary, act.SetControl, activities.SetControlInput{Domain: d.name, Control: c})
}

func (d *domain) decide(ctx workflow.Context, summary string, activity, in any) error {
	err := workflow.ExecuteActivity(withUpdateOptions(ctx, summary), activity, in).Get(ctx, nil)
	if err != nil {
		return updateError(summary, err)
	}
	d.hasNewWork, d.controlChanged = true, true
	return nil
}

func (d *domain) addURLs(ctx workflow.Context, in input[AddURLs]) (activities.AddURLsResult, error) {
	m := in.message
	var res activities.AddURLsResult
	summary := "add pages to run " + m.Run
	err := workflow.ExecuteActivity(withUpdateOptions(ctx, summary), act.AddURLs,
		activities.AddURLsInput{Domain: d.name, Run: m.Run, URLs: m.URLs}).Get(ctx, &res)
	// Even after a failure, some pages may have been added.
	d.hasNewWork = true
	return res, updateError(summary, err)
}

// updateError adds how long the update was tried, unless the update itself is wrong.
func updateError(summary string, err error) error {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if err == nil || temporal.IsCanceledError(err) || ok && app.NonRetryable() {
		return err
	}
	return temporal.NewApplicationErrorWithCause(
		fmt.Sprintf("could not %s within %s: try again later", summary, updateTimeout), TypeUnavailable, err)
}
