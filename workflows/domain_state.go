package workflows

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

// DomainState is all that a domain's workflow carries from one execution to the
// next. It is small whatever the domain's size: the work is in Postgres.
type DomainState struct {
	activities.NextStep

	// Closed counts attempts, for people.
	Closed int64 `json:"closed,omitempty"`
	// Runs are the runs that want something of the domain, and Status is what it
	// does: the values of the search attributes.
	Runs   []string `json:"runs,omitempty"`
	Status string   `json:"status,omitempty"`
}

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

func (d *domain) waitSummary() string {
	after := ""
	if d.state.Reason != "" {
		after = " (" + string(d.state.Reason) + ")"
	}
	switch {
	case d.state.Next == activities.StepRobots:
		return d.prerequisite() + after
	case d.state.URL != "":
		return d.state.URL + after
	default:
		return "nothing is due yet" + after
	}
}

// prerequisite names what is fetched of an origin.
func (d *domain) prerequisite() string {
	return path.Base(cmp.Or(d.state.Kind, kinds.Robots).Traits().Path) + " of " + d.state.Origin
}

func (d *domain) fetchSummary() string {
	switch {
	case d.state.URL == "":
		return "next page of " + d.name
	case d.pages > 1:
		return urls.Shorten(d.state.URL, summaryMax-30) + fmt.Sprintf(" and up to %d more", d.pages-1)
	default:
		return urls.Shorten(d.state.URL, summaryMax)
	}
}

// batches says how many pages an activity fetches.
func (d *domain) batches() string {
	switch d.pages {
	case settings.PagesPerActivityAuto:
		return "one page an activity while Temporal is at ease, else more"
	case 1:
		return "one page an activity"
	}
	return fmt.Sprintf("up to %d pages an activity", d.pages)
}

func (d *domain) robotsSummary() string {
	if d.state.URL != "" {
		return urls.Shorten(d.prerequisite()+" at "+d.state.URL, summaryMax)
	}
	return urls.Shorten(d.prerequisite(), summaryMax)
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

// describe keeps the workflow's current details, and its status, for people.
func (d *domain) describe(ctx workflow.Context) error {
	now := "now: " + string(d.state.Next)
	switch {
	case d.state.Next == activities.StepFinish && d.state.Reason != "":
		now = "ending: " + string(d.state.Reason)
	case d.state.Wait > 0:
		now = "waiting " + d.state.Wait.String() + " for " + d.waitSummary()
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s**: %s\n\n%d attempts recorded, %s",
		d.name, now, d.state.Closed, d.batches()))
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
