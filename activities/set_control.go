package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
)

// ControlStore reads and writes operators' decisions about domains.
type ControlStore interface {
	SetControl(ctx context.Context, domain string, c crawl.Control) error
	LiftControls(ctx context.Context, domain, by string, kinds ...crawl.ControlType) error
}

// SetControlInput is an operator's decision about a domain.
type SetControlInput struct {
	Domain string `json:"domain"`
	crawl.Control
}

// SetControl stores an operator's decision about a domain, which holds from the next request on. A
// delay, budget or window of null lifts an earlier one. A repeated call changes nothing.
func (a *Activities) SetControl(ctx context.Context, in SetControlInput) error {
	if string(in.Value) == "null" {
		return a.LiftControl(ctx, LiftControlInput{Domain: in.Domain, Kinds: []crawl.ControlType{in.Type}, By: in.SetBy})
	}
	if in.Type == crawl.ControlWindow {
		var text string
		if err := json.Unmarshal(in.Value, &text); err != nil {
			return badInput(fmt.Errorf("%w: window %s: want a string", crawl.ErrInvalid, in.Value))
		}
		if _, err := politeness.ParseWindows(text); text != "" && err != nil {
			return badInput(err)
		}
	}
	if err := in.Validate(time.Now()); err != nil {
		return badInput(err)
	}
	info := activity.GetInfo(ctx)
	in.Decision = fmt.Sprintf("%s/%s/%s", info.WorkflowExecution.RunID, info.ActivityID, in.Type)
	return orBadInput(a.store.SetControl(ctx, in.Domain, in.Control))
}
