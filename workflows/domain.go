package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// DomainInput starts a domain's workflow, or carries it over to a new execution.
type DomainInput struct {
	Domain string `json:"domain"`
	// PagesPerActivity limits the pages of an activity; 0 is settings.PagesPerActivityAuto.
	PagesPerActivity int         `json:"pages_per_activity,omitempty"`
	State            DomainState `json:"state,omitzero"`

	decodeErr error
}

// UnmarshalJSON decodes an input. The workflow returns its error.
func (in *DomainInput) UnmarshalJSON(data []byte) error {
	type plain DomainInput
	in.decodeErr = crawl.JSONError(json.Unmarshal(data, (*plain)(in)))
	return nil
}

// DomainWorkflow makes a domain's requests for all runs, one after the other, and sleeps in
// between. It ends when nothing is due, or when an operator forbids all requests.
func DomainWorkflow(ctx workflow.Context, in DomainInput) (DomainResult, error) {
	if in.decodeErr != nil {
		return DomainResult{}, temporal.NewNonRetryableApplicationError(in.decodeErr.Error(), activities.TypeBadInput, nil)
	}
	d, err := newDomain(ctx, in)
	if err != nil {
		return DomainResult{}, err
	}
	for {
		finished, err := d.step(ctx)
		if err != nil {
			return DomainResult{}, d.releaseIfCancelled(ctx, err)
		}
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return DomainResult{}, d.releaseIfCancelled(ctx, err)
		}
		switch {
		// A new signal or update means that there is work again.
		case finished && d.wake.Len() == 0 && !d.hasNewWork:
			return d.state.result(workflow.Now(ctx)), d.end(ctx)
		case finished:
			d.fetchNext()
		case shouldContinueAsNew(ctx):
			d.receiveWakes()
			return DomainResult{}, continueAsNew(ctx, DomainWorkflow, DomainInput{
				Domain: d.name, PagesPerActivity: d.pagesPerActivity, State: d.state.forNextExecution(),
			})
		}
	}
}

func (d *domain) step(ctx workflow.Context) (finished bool, err error) {
	d.receiveWakes()
	if err := d.describe(ctx); err != nil {
		return false, err
	}
	if d.state.Wait > 0 && d.state.Next != activities.StepFinish {
		return false, d.sleep(ctx)
	}
	switch d.state.Next {
	case activities.StepRobots:
		return false, d.fetchRobots(ctx)
	case activities.StepFinish:
		return d.finish(ctx, activities.FinishDomainInput{
			Domain: d.name, Defer: d.state.Defer, Wait: d.state.Wait, Reason: string(d.state.Reason),
		})
	case activities.StepFetch:
	}
	return false, d.fetchPages(ctx)
}

// sleep waits with a timer, which outlives this worker, until the domain may be requested again or
// hasNewWork ends the wait. An upgrade carries the rest of the wait over.
func (d *domain) sleep(ctx workflow.Context) error {
	isOver := func() bool {
		return d.controlChanged || d.state.endsOnNewWork() && (d.hasNewWork || d.wake.Len() > 0)
	}
	until := workflow.Now(ctx).Add(time.Duration(d.state.Wait))
	err := awaitOrTimer(ctx, time.Duration(d.state.Wait), d.state.waitSummary(), func() bool {
		return isOver() || hasUpgrade(ctx)
	})
	d.state.Wait = 0
	if hasUpgrade(ctx) && !isOver() {
		d.state.Wait = settings.Duration(max(until.Sub(workflow.Now(ctx)), 0))
	}
	return err
}

func (d *domain) fetchPages(ctx workflow.Context) error {
	var res activities.FetchPagesResult
	d.hasNewWork, d.controlChanged = false, false
	err := workflow.ExecuteActivity(withFetchOptions(ctx, d.fetchSummary(), d.state.Backoff), act.FetchPages,
		activities.FetchPagesInput{
			Domain: d.name, MaxPages: max(d.pagesPerActivity, 1), Auto: d.pagesPerActivity == settings.PagesPerActivityAuto, Queued: d.state.Queued,
			Backoff: d.state.Backoff, CountPending: workflow.Now(ctx).Sub(d.state.CountedAt) >= countInterval,
		}).Get(ctx, &res)
	if err != nil {
		return err
	}
	d.count(ctx, res)
	d.state.NextStep = res.NextStep
	if res.Next != activities.StepFinish {
		d.unfinishedCount = 0
	}
	return d.setRuns(ctx, res.Runs)
}

func (d *domain) fetchRobots(ctx workflow.Context) error {
	in, res := d.state.Robots(d.name), activities.FetchRobotsResult{}
	d.controlChanged, in.Backoff = false, d.state.Backoff
	summary := d.state.prerequisite()
	if d.state.URL != "" {
		summary += " at " + d.state.URL
	}
	err := workflow.ExecuteActivity(withBackoff(withFilterOptions(ctx, summary), d.state.Backoff),
		act.FetchRobots, in).Get(ctx, &res)
	if err != nil {
		return err
	}
	d.recordRequest(res.Request, activities.DomainSummary{})
	d.state.NextStep = in.Then(res)
	return nil
}

// finish releases the domain's claim. It returns false if work is due.
func (d *domain) finish(ctx workflow.Context, in activities.FinishDomainInput) (bool, error) {
	var res activities.FinishDomainResult
	d.hasNewWork, d.controlChanged = false, false
	summary := "no page is due: finish"
	if in.Reason != "" {
		summary = "finish: " + in.Reason
	}
	err := workflow.ExecuteActivity(withRecordOptions(ctx, summary), act.FinishDomain, in).Get(ctx, &res)
	if err == nil && !res.Finished {
		d.fetchNext()
		d.state.Wait = unfinishedWait(d.unfinishedCount)
		d.unfinishedCount++
	}
	return res.Finished, err
}

// unfinishedWait returns the wait after FinishDomain has found work, count times in a row, that
// FetchPages has not found. The first wait is 0, since the work may be new; then it grows.
func unfinishedWait(count int) settings.Duration {
	const minWait, maxWait = time.Second, time.Minute
	if count == 0 {
		return 0
	}
	return settings.Duration(min(minWait<<min(count-1, 6), maxWait))
}

func (d *domain) fetchNext() {
	d.state.Next, d.state.Wait, d.state.Defer = activities.StepFetch, 0, false
}

// releaseIfCancelled releases a cancelled workflow's claim. The dispatcher may start it again.
func (d *domain) releaseIfCancelled(ctx workflow.Context, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if _, err := d.finish(ctx, activities.FinishDomainInput{Domain: d.name, Defer: true, Reason: "cancelled"}); err != nil {
		return err
	}
	return endAs(ctx, StatusDeferred, cause)
}
