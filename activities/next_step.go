package activities

import (
	"cmp"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// Step is the next action of a domain's workflow.
type Step string

// The steps an activity can request.
const (
	// StepFetch calls FetchPages after Wait.
	StepFetch Step = "fetch"
	// StepRobots calls FetchRobots for Origin after Wait.
	StepRobots Step = "robots"
	// StepFinish calls FinishDomain.
	StepFinish Step = "finish"
)

// NextStep is the next step of a domain's workflow.
type NextStep struct {
	// Next is the step after Wait; empty means StepFetch.
	Next   Step              `json:"next,omitempty"`
	Wait   settings.Duration `json:"wait,omitempty"`
	Reason reasons.Reason    `json:"reason,omitempty"`
	// Defer, with StepFinish, defers the domain for Wait.
	Defer bool `json:"defer,omitempty"`
	// URL is the next page, for operators. With StepRobots it is the target of the last redirect.
	URL string `json:"url,omitempty"`
	// Origin, Kind and Hops are the fields of a FetchRobotsInput, with StepRobots.
	Origin string     `json:"origin,omitempty"`
	Kind   kinds.Kind `json:"kind,omitempty"`
	Hops   int        `json:"redirects,omitempty"`
	// Queued is set once the domain has waited in the queue of a shared address.
	Queued bool `json:"queued,omitempty"`
}

// HasLongURL reports whether URL, such as a robots.txt's location, takes most of a payload.
func (n NextStep) HasLongURL() bool { return len(n.URL) > maxShownURLBytes }

// Robots returns the input of the FetchRobots for StepRobots.
func (n NextStep) Robots(domain string) FetchRobotsInput {
	return FetchRobotsInput{Domain: domain, Origin: n.Origin, Kind: n.Kind, URL: n.URL, Hops: n.Hops, Queued: n.Queued}
}

// Then returns the step that follows a FetchRobots.
func (in FetchRobotsInput) Then(res FetchRobotsResult) NextStep {
	n := NextStep{Next: StepRobots, Wait: res.Wait, Reason: res.Reason, URL: res.URL, Hops: res.Hops, Queued: res.Queued}
	switch {
	case res.Defer:
		n.Next, n.Defer = StepFinish, true
	case res.Done:
		n.Next = StepFetch
	default:
		n.Origin, n.Kind = cmp.Or(res.Origin, in.Origin), cmp.Or(res.Kind, in.Kind)
	}
	return n
}
