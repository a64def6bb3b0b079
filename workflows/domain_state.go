package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// DomainState is all that a domain's workflow carries from one execution to the
// next. It is small whatever the domain's size: the work is in Postgres.
type DomainState struct {
	// Next is what to do after Wait; empty is StepFetch.
	Next   activities.Step `json:"next,omitempty"`
	Wait   crawl.Duration  `json:"wait,omitempty"`
	Reason crawl.Reason    `json:"reason,omitempty"`
	// URL is the page that is next, for people, or robots.txt's own location.
	URL string `json:"url,omitempty"`
	// Origin and Hops are of the robots.txt being fetched.
	Origin string `json:"origin,omitempty"`
	Hops   int    `json:"hops,omitempty"`
	// Queued says that the wait for an address's queue is over.
	Queued bool `json:"queued,omitempty"`
	// PutAway is how long to leave the domain alone after finishing.
	PutAway crawl.Duration `json:"put_away,omitempty"`
	// Closed counts attempts, for people.
	Closed  int64  `json:"closed,omitempty"`
	Paused  bool   `json:"paused,omitempty"`
	Stopped bool   `json:"stopped,omitempty"`
	Why     string `json:"why,omitempty"`
}

// domain is one execution of DomainWorkflow.
type domain struct {
	name  string
	pages int
	state DomainState
	wake  workflow.ReceiveChannel
	// news says that work may have come since FetchPages was last called.
	news bool
	// changed interrupts a sleep or an activity after an update.
	changed workflow.Channel
}

func newDomain(ctx workflow.Context, in DomainInput) (*domain, error) {
	d := &domain{
		name: in.Domain, pages: in.PagesPerActivity, state: in.State,
		wake:    workflow.GetSignalChannel(ctx, SignalWake),
		changed: workflow.NewNamedBufferedChannel(ctx, "changed", 1),
	}
	if d.state.Next == "" {
		d.state.Next = activities.StepFetch
	}
	return d, d.handle(ctx)
}

// notify interrupts what the workflow waits for.
func (d *domain) notify(ctx workflow.Context) {
	d.changed.SendAsync(struct{}{})
	d.describe(ctx)
}

// takeWakes takes the signals that are there. News ends a wait for work, and no
// other: a closed slot is still closed.
func (d *domain) takeWakes() {
	d.news = d.news || d.wake.Len() > 0
	if w := drain(d.wake); w.PagesPerActivity > 0 {
		d.pages = w.PagesPerActivity
	}
	if d.news && d.state.endsWithNews() {
		d.state.Wait = 0
	}
}

// endsWithNews says whether what is waited for may be another by now.
func (s DomainState) endsWithNews() bool {
	return s.Reason == crawl.ReasonScheduled || s.Reason == crawl.ReasonWindow
}

func (d *domain) waitSummary() string {
	after := ""
	if d.state.Reason != "" {
		after = " (" + string(d.state.Reason) + ")"
	}
	switch {
	case d.state.Next == activities.StepRobots:
		return "robots.txt of " + d.state.Origin + after
	case d.state.URL != "":
		return d.state.URL + after
	default:
		return "nothing is due yet" + after
	}
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

func (d *domain) robotsSummary() string {
	if d.state.URL != "" {
		return urls.Shorten("robots.txt of "+d.state.Origin+" at "+d.state.URL, summaryMax)
	}
	return urls.Shorten("robots.txt of "+d.state.Origin, summaryMax)
}

// describe keeps the workflow's current details readable for people.
func (d *domain) describe(ctx workflow.Context) {
	now := "now: " + string(d.state.Next)
	switch {
	case d.state.Stopped:
		now = "stopped: " + d.state.Why
	case d.state.Paused:
		now = "paused: " + d.state.Why
	case d.state.Wait > 0:
		now = "waiting " + d.state.Wait.String() + " for " + d.waitSummary()
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("**%s**: %s\n\n%d attempts recorded, %d pages an activity",
		d.name, now, d.state.Closed, max(d.pages, 1)))
}
