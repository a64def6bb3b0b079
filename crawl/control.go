package crawl

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// ControlType is a kind of decision about a domain, made by an operator. The values are stored.
type ControlType string

// The decisions that an operator can make.
const (
	ControlPause  ControlType = "pause"  // makes no request until it is lifted or has expired
	ControlStop   ControlType = "stop"   // makes no request until the domain is seeded again
	ControlBlock  ControlType = "block"  // makes no request, in any run, until it is lifted
	ControlDelay  ControlType = "delay"  // sets a minimum delay beside runs and robots.txt
	ControlBudget ControlType = "budget" // sets the number of requests that each run may make
	ControlWindow ControlType = "window" // sets hours of requests, beside the windows of the runs
)

// ControlTypes lists every ControlType.
var ControlTypes = []ControlType{ControlPause, ControlStop, ControlBlock, ControlDelay, ControlBudget, ControlWindow}

// Control is an operator's decision about a domain.
type Control struct {
	Type ControlType `json:"kind"`
	// Value is the milliseconds of a delay, the pages of a budget, or the text of a window.
	Value  json.RawMessage `json:"value,omitempty"`
	Reason string          `json:"reason,omitempty"`
	// List and Entry name the blocking list and its entry; empty means missing on the allow list.
	List  string `json:"list,omitempty"`
	Entry string `json:"entry,omitempty"`
	// SetBy names the operator or program that made the decision.
	SetBy string    `json:"set_by"`
	SetAt time.Time `json:"set_at,omitzero"`
	// Until is the time of expiry; zero means no expiry.
	Until time.Time `json:"until,omitzero"`
	// Decision identifies the decision, so that it is stored once; empty does not.
	Decision string `json:"-"`
}

// The bounds of a Control, in bytes.
const (
	ControlReasonMax = 500
	ControlByMax     = 200
)

// Validate checks a control that will be stored at an instant. Errors wrap ErrInvalid.
func (c Control) Validate(now time.Time) error {
	switch {
	case len(c.Reason) > ControlReasonMax:
		return fmt.Errorf("%w: reason: %d bytes, at most %d allowed", ErrInvalid, len(c.Reason), ControlReasonMax)
	case len(c.SetBy) > ControlByMax:
		return fmt.Errorf("%w: set_by: %d bytes, at most %d allowed", ErrInvalid, len(c.SetBy), ControlByMax)
	case !c.Until.IsZero() && !c.Until.After(now):
		return fmt.Errorf("%w: until %s: want a time in the future", ErrInvalid, c.Until.Format(time.RFC3339))
	}
	return nil
}

// ListLabel returns the blocking list and its entry; empty if no list blocks the domain.
func (c Control) ListLabel() string {
	switch {
	case c.List == "":
		return ""
	case c.Entry == "":
		return "not on the " + c.List + " list"
	}
	return "on the " + c.List + " list (" + c.Entry + ")"
}

// Controls are a domain's controls in force, at most one of a kind.
type Controls []Control

// Refusal explains why every address of a host is forbidden.
type Refusal struct {
	// Addr is one of the addresses.
	Addr netip.Addr
	// ListControl names the forbidding list; zero means that the address is not public.
	ListControl Control
}

// FirstForbidding returns the control of the first rank that forbids requests at an instant.
func (cs Controls) FirstForbidding(now time.Time) (first Control, found bool) {
	rank := func(c Control) int { return reasons.OfControl(string(c.Type)).Row().Rank }
	for _, c := range cs {
		forbids := reasons.OfControl(string(c.Type)) != "" && (c.Until.IsZero() || c.Until.After(now))
		if forbids && (!found || rank(c) < rank(first)) {
			first, found = c, true
		}
	}
	return first, found
}

// Delay returns the minimum delay set by an operator; 0 if not set.
func (cs Controls) Delay() time.Duration {
	var ms Millis
	cs.value(ControlDelay, &ms)
	return time.Duration(ms)
}

// Budget returns the number of requests that each run may make; false if not set.
func (cs Controls) Budget() (pages int64, set bool) {
	set = cs.value(ControlBudget, &pages)
	return pages, set
}

// Window returns the text of the windows set by an operator; empty if not set.
func (cs Controls) Window() string {
	var text string
	cs.value(ControlWindow, &text)
	return text
}

// value reads the value of the control of a kind. It leaves v unchanged without a control.
func (cs Controls) value(kind ControlType, v any) bool {
	i := slices.IndexFunc(cs, func(c Control) bool { return c.Type == kind })
	return i >= 0 && json.Unmarshal(cs[i].Value, v) == nil
}

// RunAction is an action on a run. The values are stored.
type RunAction string

// The actions on a run.
const (
	ChangeCreate RunAction = "create" // creates it
	ChangeSet    RunAction = "set"    // changes settings, from the next request on
	ChangePause  RunAction = "pause"  // begins no request until it is resumed, or until an instant
	ChangeResume RunAction = "resume" // continues a run that was paused, stopped or done
	ChangeStop   RunAction = "stop"   // ends it until it is resumed
)

// RunChange is an operator's or a program's action on a run.
type RunChange struct {
	Action RunAction `json:"kind"`
	// Settings holds the settings that ChangeSet changes; nil fields keep their value.
	Settings settings.Settings `json:"settings,omitzero"`
	Reason   string            `json:"reason,omitempty"`
	// Event is the end of a command that stops the run, such as "with Ctrl-C", or empty.
	Event string `json:"-"`
	// Until ends a pause; zero means that the pause lasts until the run is resumed.
	Until time.Time `json:"until,omitzero"`
	// SetBy names the operator or program that made the change.
	SetBy string    `json:"set_by"`
	SetAt time.Time `json:"set_at,omitzero"`
	// Decision identifies the change, so that it is made once; empty does not.
	Decision string `json:"-"`
	// OldValues and NewValues hold the changed settings of a completed change, before and after.
	OldValues map[string]json.RawMessage `json:"old_value,omitempty"`
	NewValues map[string]json.RawMessage `json:"value,omitempty"`
}

// Validate checks a change that will be made at an instant. Errors wrap ErrInvalid.
func (c RunChange) Validate(now time.Time) error {
	if err := (Control{Reason: c.Reason, SetBy: c.SetBy, Until: c.Until}).Validate(now); err != nil {
		return err
	}
	return c.Settings.Validate()
}

// Ended reports whether a run neither runs nor is paused: it needs no dispatcher.
func (s RunStatus) Ended() bool { return s == RunStopped || s == RunDone }

// Apply returns the status of a run after the change, or an error that wraps ErrInvalid.
func (s RunStatus) Apply(kind RunAction) (RunStatus, error) {
	switch {
	case kind == ChangePause && !s.Ended():
		return RunPaused, nil
	case kind == ChangeStop && !s.Ended():
		return RunStopped, nil
	case kind == ChangeResume:
		return RunRunning, nil
	case kind == ChangeSet, kind == ChangeCreate:
		return s, nil
	}
	return s, NewStateError("the run is %s: only running runs can be %s", s, pastParticiples[kind])
}

var pastParticiples = map[RunAction]string{ChangePause: "paused", ChangeStop: "stopped"}
