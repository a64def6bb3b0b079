package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
)

// handle sets the domain's query and update handlers. Validators keep bad input
// out of the history.
func (d *domain) handle(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetQueryHandler(ctx, QueryState, func() (DomainState, error) { return d.state, nil }),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdatePause, d.pause, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m Pause) error { return validateReason(m.Reason) },
			Description: "Stop requests until resume; one that has begun is finished",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateResume, d.resume, workflow.UpdateHandlerOptions{
			Description: "End a pause",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateStop, d.stop, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m Stop) error { return validateReason(m.Reason) },
			Description: "Stop crawling the domain until it is seeded again",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSetDelay, d.setDelay, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m SetDelay) error { return m.validate() },
			Description: "Set the domain's own least delay, from the next request on",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSetBudget, d.setBudget, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m SetBudget) error { return m.validate() },
			Description: "Set the domain's own budget of page requests a run",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateSetWindow, d.setWindow, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m SetWindow) error { return m.validate() },
			Description: "Set when the domain may be asked, such as Mon-Fri 22:00-06:00 Europe/Berlin",
		}),
		workflow.SetUpdateHandlerWithOptions(ctx, UpdateAddURLs, d.addURLs, workflow.UpdateHandlerOptions{
			Validator:   func(_ workflow.Context, m AddURLs) error { return m.validate(d.name) },
			Description: "Add pages of the domain to a run",
		}),
	)
}

func (d *domain) pause(ctx workflow.Context, m Pause) error {
	d.state.Paused, d.state.Why = true, m.Reason
	d.notify(ctx)
	return workflow.UpsertTypedSearchAttributes(ctx, attrStatus.ValueSet(statusPaused))
}

func (d *domain) resume(ctx workflow.Context) error {
	d.state.Paused, d.state.Why = false, ""
	d.notify(ctx)
	return workflow.UpsertTypedSearchAttributes(ctx, attrStatus.ValueSet(statusRunning))
}

func (d *domain) stop(ctx workflow.Context, m Stop) error {
	reason := "stopped"
	if m.Reason != "" {
		reason += ": " + m.Reason
	}
	// The row first: even if this workflow is lost, no request is begun any more.
	err := workflow.ExecuteActivity(withRecordOptions(ctx, "stop "+d.name), act.BlockDomain,
		activities.BlockDomainInput{Domain: d.name, Reason: reason}).Get(ctx, nil)
	if err != nil {
		return err
	}
	d.state.Stopped, d.state.Why = true, reason
	d.notify(ctx)
	return nil
}

func (d *domain) setDelay(ctx workflow.Context, m SetDelay) error {
	return workflow.ExecuteActivity(withRecordOptions(ctx, "set the delay to "+m.Delay.String()), act.SetDomain,
		activities.SetDomainInput{Domain: d.name, Delay: &m.Delay}).Get(ctx, nil)
}

func (d *domain) setBudget(ctx workflow.Context, m SetBudget) error {
	err := workflow.ExecuteActivity(withRecordOptions(ctx, "set the budget"), act.SetDomain,
		activities.SetDomainInput{Domain: d.name, MaxPages: &m.MaxPages}).Get(ctx, nil)
	d.more(ctx)
	return err
}

func (d *domain) setWindow(ctx workflow.Context, m SetWindow) error {
	err := workflow.ExecuteActivity(withRecordOptions(ctx, "set the window"), act.SetDomain,
		activities.SetDomainInput{Domain: d.name, Window: &m.Window}).Get(ctx, nil)
	d.more(ctx)
	return err
}

func (d *domain) addURLs(ctx workflow.Context, m AddURLs) (activities.AddURLsResult, error) {
	var res activities.AddURLsResult
	err := workflow.ExecuteActivity(withRecordOptions(ctx, "add pages to run "+m.Run), act.AddURLs,
		activities.AddURLsInput{Domain: d.name, Run: m.Run, URLs: m.URLs}).Get(ctx, &res)
	d.more(ctx)
	return res, err
}

// more makes a workflow that is waiting for work look again.
func (d *domain) more(ctx workflow.Context) {
	if d.state.Next == activities.StepFinish {
		d.state.Next = activities.StepFetch
	}
	d.news = true
	d.notify(ctx)
}
