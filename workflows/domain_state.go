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

// DomainState is carried to the next execution. Its size does not depend on the domain's.
type DomainState struct {
	activities.NextStep

	// Backoff is the domain's wait after its next failure; 0 means unknown.
	Backoff settings.Duration `json:"backoff,omitempty"`
	// Closed and Outcomes count attempts, LastRequest is the last request. They are for operators.
	Closed      int64                     `json:"attempts,omitempty"`
	Outcomes    map[crawl.Outcome]int64   `json:"outcomes,omitempty"`
	Summary     activities.DomainSummary  `json:"summary,omitzero"`
	LastRequest activities.RequestSummary `json:"last_request,omitzero"`
	// Pending counts the requests that were pending at CountedAt.
	Pending   *activities.Pending `json:"pending,omitempty"`
	CountedAt time.Time           `json:"counted_at,omitzero"`
	// Runs, which have work for the domain, and Status are the search attributes.
	Runs   []string `json:"runs,omitempty"`
	Status string   `json:"status,omitempty"`
}

func (s DomainState) forNextExecution() DomainState {
	if s.HasLongURL() {
		s.LastRequest, s.Summary, s.Pending, s.CountedAt = activities.RequestSummary{}, activities.DomainSummary{}, nil, time.Time{}
	}
	return s
}

// DomainResult explains why a domain's workflow has ended, and counts its attempts.
type DomainResult struct {
	Reason string `json:"reason"`
	// Until is the earliest time of the next request; nil means not before a change.
	Until *time.Time `json:"until,omitempty"`
	// Attempts counts the attempts since the workflow began, and Outcomes counts them by outcome.
	Attempts int64                   `json:"attempts"`
	Outcomes map[crawl.Outcome]int64 `json:"outcomes,omitempty"`
}

func (s DomainState) result(now time.Time) DomainResult {
	res := DomainResult{Reason: cmp.Or(string(s.Reason), "no page is due"), Attempts: s.Closed, Outcomes: s.Outcomes}
	if s.Wait > 0 {
		res.Until = new(now.Add(time.Duration(s.Wait)).UTC().Truncate(time.Second))
	}
	return res
}

const countInterval = time.Minute

type domain struct {
	name             string
	pagesPerActivity int
	state            DomainState
	wake             workflow.ReceiveChannel
	// hasNewWork is set if work may have come since FetchPages, controlChanged if an operator has
	// decided.
	hasNewWork, controlChanged bool
	// unfinishedCount counts the consecutive times that only FinishDomain has found work.
	unfinishedCount int
}

func newDomain(ctx workflow.Context, in DomainInput) (*domain, error) {
	d := &domain{
		name: in.Domain, pagesPerActivity: in.PagesPerActivity, state: in.State,
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

// receiveWakes receives the waiting signals. News ends only a wait for work: a closed slot stays
// closed. An operator's decision ends any wait, and the guard decides again.
func (d *domain) receiveWakes() {
	d.hasNewWork = d.hasNewWork || d.wake.Len() > 0
	if w := drain(d.wake); w.PagesPerActivity != 0 {
		d.pagesPerActivity = max(w.PagesPerActivity, settings.PagesPerActivityAuto)
	}
	if d.controlChanged && d.state.Next != activities.StepFinish || d.hasNewWork && d.state.endsOnNewWork() {
		d.state.Wait = 0
	}
}

func (s DomainState) endsOnNewWork() bool {
	return s.Next != activities.StepFinish && s.Reason.Row().EndsOnNewWork
}

func (d *domain) setRuns(ctx workflow.Context, runs []string) error {
	runs = slices.Sorted(slices.Values(runs)) // the query has no ORDER BY
	if len(runs) == 0 || slices.Equal(runs, d.state.Runs) {
		return nil
	}
	d.state.Runs = runs
	return workflow.UpsertTypedSearchAttributes(ctx, attrRun.ValueSet(runs))
}

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
	s.Backoff = cmp.Or(res.Backoff, s.Backoff)
	if d.recordRequest(res.LastRequest, res.Summary); res.Pending != nil {
		s.Pending, s.CountedAt = res.Pending, workflow.Now(ctx).UTC()
	}
}

// recordRequest records the last request. A request for robots.txt does not change Shown.
func (d *domain) recordRequest(request activities.RequestSummary, summary activities.DomainSummary) {
	if request.URL == "" {
		return
	}
	if d.state.LastRequest = request; summary != (activities.DomainSummary{}) {
		d.state.Summary = summary
	}
}

func (d *domain) describe(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, d.details(workflow.Now(ctx)))
	status := d.state.status()
	if status == d.state.Status {
		return nil
	}
	d.state.Status = status
	return setStatus(ctx, status)
}

// status returns the domain's status. The delay between two pages is part of crawling.
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
