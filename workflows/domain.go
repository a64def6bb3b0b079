package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// DomainInput starts a domain's workflow, or carries it over to a new execution.
type DomainInput struct {
	Domain string `json:"domain"`
	// PagesPerActivity is how many pages one activity may fetch; 0 is 1.
	PagesPerActivity int         `json:"pages_per_activity,omitempty"`
	State            DomainState `json:"state,omitzero"`
}

// DomainWorkflow makes a domain's requests, one after the other, and sleeps in
// between until the domain may be asked again. It serves every run that has work
// for the domain, and ends when nothing is due.
func DomainWorkflow(ctx workflow.Context, in DomainInput) error {
	d, err := newDomain(ctx, in)
	if err != nil {
		return err
	}
	for {
		finished, err := d.step(ctx)
		if err != nil {
			return d.leave(ctx, err)
		}
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return d.leave(ctx, err)
		}
		switch {
		// A signal that came meanwhile says that there is work again.
		case finished && d.wake.Len() == 0:
			return nil
		case finished:
			d.state.Next = activities.StepFetch
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			d.takeWakes()
			return workflow.NewContinueAsNewError(ctx, DomainWorkflow, DomainInput{
				Domain: d.name, PagesPerActivity: d.pages, State: d.state,
			})
		}
	}
}

// step does the next thing there is to do for a domain. It returns true when the
// workflow may end.
func (d *domain) step(ctx workflow.Context) (finished bool, err error) {
	d.takeWakes()
	d.describe(ctx)
	switch {
	case d.state.Stopped:
		return d.finish(ctx, activities.FinishDomainInput{Domain: d.name, PutAway: true, Reason: d.state.Why})
	case d.state.Paused:
		return false, workflow.Await(ctx, func() bool { return !d.state.Paused || d.state.Stopped })
	case d.state.Wait > 0:
		return false, d.sleep(ctx)
	}
	switch d.state.Next {
	case activities.StepRobots:
		return false, d.fetchRobots(ctx)
	case activities.StepFinish:
		return d.finish(ctx, activities.FinishDomainInput{
			Domain: d.name, PutAway: d.state.PutAway > 0, Wait: d.state.PutAway, Reason: string(d.state.Reason),
		})
	case activities.StepFetch:
	}
	return false, d.fetchPages(ctx)
}

// sleep waits until the domain may be asked again. The wait is a Temporal timer:
// it outlives this worker.
func (d *domain) sleep(ctx workflow.Context) error {
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timerCtx, time.Duration(d.state.Wait), workflow.TimerOptions{
		Summary: urls.Shorten(d.waitSummary(), summaryMax),
	})
	idle := d.state.endsWithNews()
	var err error
	s := workflow.NewNamedSelector(ctx, "sleep").
		AddFuture(timer, func(f workflow.Future) {
			err = f.Get(ctx, nil)
			d.state.Wait = 0
		}).
		AddReceive(d.changed, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = temporal.NewCanceledError() })
	if idle {
		s.AddReceive(d.wake, func(workflow.ReceiveChannel, bool) { d.takeWakes() })
	}
	began := workflow.Now(ctx)
	s.Select(ctx)
	if d.state.Wait > 0 {
		// woken before the time: the rest of the wait remains
		d.state.Wait = max(d.state.Wait-crawl.Duration(workflow.Now(ctx).Sub(began)), 0)
	}
	return err
}

func (d *domain) fetchPages(ctx workflow.Context) error {
	var res activities.FetchPagesResult
	d.news = false
	err := d.interruptible(ctx, func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(withFetchOptions(ctx, d.fetchSummary()), act.FetchPages,
			activities.FetchPagesInput{Domain: d.name, MaxPages: max(d.pages, 1), Queued: d.state.Queued})
	}, &res)
	if err != nil {
		return err
	}
	d.state.Closed += int64(res.Closed)
	d.state.Next, d.state.URL, d.state.Queued = res.Next, res.URL, res.Queued
	d.state.Wait, d.state.Reason, d.state.PutAway = res.Wait, res.Reason, 0
	if res.Next == activities.StepFinish {
		d.state.Wait = 0
		if res.PutAway {
			d.state.PutAway = res.Wait
		}
	}
	if res.Next == activities.StepRobots {
		d.state.Origin, d.state.URL, d.state.Hops = res.URL, "", 0
	}
	return nil
}

func (d *domain) fetchRobots(ctx workflow.Context) error {
	var res activities.FetchRobotsResult
	err := d.interruptible(ctx, func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(withRobotsOptions(ctx, d.robotsSummary()), act.FetchRobots,
			activities.FetchRobotsInput{
				Domain: d.name, Origin: d.state.Origin, URL: d.state.URL, Hops: d.state.Hops, Queued: d.state.Queued,
			})
	}, &res)
	if err != nil {
		return err
	}
	if res.Done {
		d.state.Next, d.state.Wait, d.state.URL, d.state.Hops, d.state.Queued = activities.StepFetch, 0, "", 0, false
		d.state.Origin = ""
		return nil
	}
	d.state.Wait, d.state.Reason = res.Wait, res.Reason
	d.state.URL, d.state.Hops, d.state.Queued = res.URL, res.Hops, res.Queued
	return nil
}

// interruptible runs an activity that pausing or stopping cancels; a request that
// has begun is finished all the same. Being interrupted is no error.
func (d *domain) interruptible(
	ctx workflow.Context, start func(workflow.Context) workflow.Future, result any,
) error {
	actCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	future := start(actCtx)
	for !future.IsReady() {
		workflow.NewNamedSelector(ctx, "activity").
			AddFuture(future, func(workflow.Future) {}).
			AddReceive(d.changed, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
			Select(ctx)
		if d.state.Paused || d.state.Stopped {
			cancel()
		}
	}
	err := future.Get(ctx, result)
	if temporal.IsCanceledError(err) && ctx.Err() == nil {
		d.state.Next, d.state.Wait = activities.StepFetch, 0
		return nil
	}
	return err
}

func (d *domain) finish(ctx workflow.Context, in activities.FinishDomainInput) (bool, error) {
	var res activities.FinishDomainResult
	err := workflow.ExecuteActivity(withRecordOptions(ctx, "nothing is due: finish"), act.FinishDomain, in).Get(ctx, &res)
	if err == nil && !res.Finished {
		d.state.Next = activities.StepFetch
	}
	return res.Finished, err
}

// leave gives the claim back when the workflow ends otherwise than by having
// nothing to do: when it is cancelled. The dispatcher may start it again.
func (d *domain) leave(ctx workflow.Context, cause error) error {
	if !temporal.IsCanceledError(cause) {
		return cause
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if _, err := d.finish(ctx, activities.FinishDomainInput{Domain: d.name, PutAway: true, Reason: "cancelled"}); err != nil {
		return err
	}
	return cause
}
