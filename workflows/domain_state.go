package workflows

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
)

// DomainState is all that a domain's workflow carries from one execution to the
// next. It is small whatever the domain's size: the work is in Postgres.
type DomainState struct {
	activities.NextStep

	// Closed counts attempts, and Outcomes how they ended, for people. So is Shown, and Last,
	// the last request.
	Closed   int64                   `json:"closed,omitempty"`
	Outcomes map[crawl.Outcome]int64 `json:"outcomes,omitempty"`
	Shown    activities.Shown        `json:"shown,omitzero"`
	Last     activities.Asked        `json:"last,omitzero"`
	// Pending is what was pending at CountedAt.
	Pending   *activities.Pending `json:"pending,omitempty"`
	CountedAt time.Time           `json:"counted_at,omitzero"`
	// Runs are the runs that want something of the domain, and Status is what it
	// does: the values of the search attributes.
	Runs   []string `json:"runs,omitempty"`
	Status string   `json:"status,omitempty"`
}

// carried is what the next execution gets.
func (s DomainState) carried() DomainState {
	if s.Long() {
		s.Last, s.Shown, s.Pending, s.CountedAt = activities.Asked{}, activities.Shown{}, nil, time.Time{}
	}
	return s
}

// DomainResult says why a domain's workflow has ended, and what it has done.
type DomainResult struct {
	Reason string `json:"reason"`
	// Until is when the domain is asked again; nil is not before something changes.
	Until *time.Time `json:"until,omitempty"`
	// Attempts is how many were recorded since the workflow began, and Outcomes how they ended.
	Attempts int64                   `json:"attempts"`
	Outcomes map[crawl.Outcome]int64 `json:"outcomes,omitempty"`
}

// result is that of a workflow that ends now.
func (s DomainState) result(now time.Time) DomainResult {
	res := DomainResult{Reason: cmp.Or(string(s.Reason), "nothing is due"), Attempts: s.Closed, Outcomes: s.Outcomes}
	if s.Wait > 0 {
		until := now.Add(time.Duration(s.Wait)).UTC().Truncate(time.Second)
		res.Until = &until
	}
	return res
}

// countEvery is how often what is pending is counted.
const countEvery = time.Minute

// domain is one execution of DomainWorkflow.
type domain struct {
	name  string
	pages int
	state DomainState
	wake  workflow.ReceiveChannel
	// news is set if work may have come since FetchPages was last called. decided is
	// set if a person has changed what holds. Both may change what to wait for.
	news, decided bool
	// unfinished counts how often in a row FinishDomain has found work where
	// FetchPages has found none.
	unfinished int
}

func newDomain(ctx workflow.Context, in DomainInput) (*domain, error) {
	d := &domain{
		name: in.Domain, pages: in.PagesPerActivity, state: in.State,
		wake: workflow.GetSignalChannel(ctx, SignalWake),
	}
	if d.state.Next == "" {
		d.state.Next = activities.StepFetch
	}
	if d.state.Status == "" {
		d.state.Status = StatusCrawling
	}
	return d, d.handle(ctx)
}

// takeWakes takes the waiting signals. News only ends a wait for work: a closed
// slot is still closed. A person's decision ends any wait: the guard is asked
// again and knows the rest of it.
func (d *domain) takeWakes() {
	d.news = d.news || d.wake.Len() > 0
	if w := drain(d.wake); w.PagesPerActivity != 0 {
		d.pages = max(w.PagesPerActivity, settings.PagesPerActivityAuto)
	}
	if d.decided && d.state.Next != activities.StepFinish || d.news && d.state.endsWithNews() {
		d.state.Wait = 0
	}
}

// endsWithNews reports whether the workflow waits for something that news may
// change.
func (s DomainState) endsWithNews() bool {
	return s.Next != activities.StepFinish && s.Reason.Row().EndsWithNews
}

// serve keeps the search attribute of the runs that the domain is crawled for.
func (d *domain) serve(ctx workflow.Context, runs []string) error {
	runs = slices.Sorted(slices.Values(runs)) // the database's order is any
	if len(runs) == 0 || slices.Equal(runs, d.state.Runs) {
		return nil
	}
	d.state.Runs = runs
	return workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(runs))
}

// count notes what an activity has done.
func (d *domain) count(ctx workflow.Context, res activities.FetchPagesResult) {
	s := &d.state
	s.Closed += int64(res.Closed)
	for _, o := range crawl.Outcomes() {
		if n := res.Outcomes[o]; n > 0 {
			if s.Outcomes == nil {
				s.Outcomes = map[crawl.Outcome]int64{}
			}
			s.Outcomes[o] += int64(n)
		}
	}
	if d.asked(res.Asked, res.Shown); res.Pending != nil {
		s.Pending, s.CountedAt = res.Pending, workflow.Now(ctx).UTC()
	}
}

// asked notes the last request, and what it says of the domain. One for robots.txt says
// nothing new of that.
func (d *domain) asked(last activities.Asked, shown activities.Shown) {
	if last.URL == "" {
		return
	}
	if d.state.Last = last; shown != (activities.Shown{}) {
		d.state.Shown = shown
	}
}

// describe keeps the workflow's current details, and its status, for people.
func (d *domain) describe(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, d.details(workflow.Now(ctx)))
	status := d.state.status()
	if status == d.state.Status {
		return nil
	}
	d.state.Status = status
	return setStatus(ctx, status)
}

// status is what a domain does, in a word. The delay between two pages is part of
// crawling.
func (s DomainState) status() string {
	switch status := s.Reason.Row().Status; {
	case status == StatusPaused, status == StatusDeferred, status == StatusGraylisted && s.Wait > 0:
		return status
	case status == StatusWaiting && s.Defer:
		return StatusDeferred
	case status == StatusWaiting && s.Wait > 0 && s.Next != activities.StepFinish:
		return status
	}
	return StatusCrawling
}
