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

// ControlType is what a person can decide about a domain. The values are stored.
type ControlType string

// The decisions a person can make.
const (
	ControlPause  ControlType = "pause"  // makes no request until it is lifted or its time is over
	ControlStop   ControlType = "stop"   // makes no request until the domain is seeded again
	ControlBlock  ControlType = "block"  // makes no request, in any run, until it is lifted
	ControlDelay  ControlType = "delay"  // sets a least delay beside those of the runs and of robots.txt
	ControlBudget ControlType = "budget" // sets the requests that each run may make
	ControlWindow ControlType = "window" // sets when requests may be made, beside the windows of the runs
)

// ControlTypes are all of them.
var ControlTypes = []ControlType{ControlPause, ControlStop, ControlBlock, ControlDelay, ControlBudget, ControlWindow}

// Control is what a person has decided about a domain.
type Control struct {
	Type ControlType `json:"kind"`
	// Value is the milliseconds of a delay, the pages of a budget, or the text of a window.
	Value  json.RawMessage `json:"value,omitempty"`
	Reason string          `json:"reason,omitempty"`
	// List is the list that blocks it, by Entry; without one the domain is not on the allow list.
	List  string `json:"list,omitempty"`
	Entry string `json:"entry,omitempty"`
	// SetBy names who or what made the decision.
	SetBy string    `json:"set_by"`
	SetAt time.Time `json:"set_at,omitzero"`
	// Until is when it ends by itself; zero is not before it is lifted.
	Until time.Time `json:"until,omitzero"`
	// Decision identifies the decision, so that it is stored once; empty does not.
	Decision string `json:"-"`
}

// The bounds of a Control, in bytes.
const (
	ControlReasonMax = 500
	ControlByMax     = 200
)

// Validate checks a control that is to be stored at an instant. Errors wrap ErrInvalid.
func (c Control) Validate(now time.Time) error {
	switch {
	case len(c.Reason) > ControlReasonMax:
		return fmt.Errorf("%w: reason: %d bytes, at most %d allowed", ErrInvalid, len(c.Reason), ControlReasonMax)
	case len(c.SetBy) > ControlByMax:
		return fmt.Errorf("%w: set_by: %d bytes, at most %d allowed", ErrInvalid, len(c.SetBy), ControlByMax)
	case !c.Until.IsZero() && !c.Until.After(now):
		return fmt.Errorf("%w: until %s: is past; want a time to come", ErrInvalid, c.Until.Format(time.RFC3339))
	}
	return nil
}

// Listed says which list blocks a domain, and by what; empty where none does.
func (c Control) Listed() string {
	switch {
	case c.List == "":
		return ""
	case c.Entry == "":
		return "not on the " + c.List + " list"
	}
	return "on the " + c.List + " list (" + c.Entry + ")"
}

// Controls are those in force for a domain, at most one of a kind.
type Controls []Control

// Refusal is why no address of a host may be asked.
type Refusal struct {
	// Addr is one of them.
	Addr netip.Addr
	// Listed is the list that forbids it; zero means that the address is not public.
	Listed Control
}

// Forbidding returns the control of the first rank that lets no request be made at an instant.
func (cs Controls) Forbidding(now time.Time) (first Control, found bool) {
	rank := func(c Control) int { return reasons.OfControl(string(c.Type)).Row().Rank }
	for _, c := range cs {
		forbids := reasons.OfControl(string(c.Type)) != "" && (c.Until.IsZero() || c.Until.After(now))
		if forbids && (!found || rank(c) < rank(first)) {
			first, found = c, true
		}
	}
	return first, found
}

// Delay is the least delay that a person has set; 0 where none is.
func (cs Controls) Delay() time.Duration {
	var ms Millis
	cs.value(ControlDelay, &ms)
	return time.Duration(ms)
}

// Budget is the requests that each run may make; false where none is set.
func (cs Controls) Budget() (pages int64, set bool) {
	set = cs.value(ControlBudget, &pages)
	return pages, set
}

// Window is the text of the windows that a person has set; empty where none are.
func (cs Controls) Window() string {
	var text string
	cs.value(ControlWindow, &text)
	return text
}

// value reads the value of the control of a kind; without one it leaves v as it is.
func (cs Controls) value(kind ControlType, v any) bool {
	i := slices.IndexFunc(cs, func(c Control) bool { return c.Type == kind })
	return i >= 0 && json.Unmarshal(cs[i].Value, v) == nil
}

// RunAction is what is done to a run. The values are stored.
type RunAction string

// What can be done to a run.
const (
	ChangeCreate RunAction = "create" // makes it
	ChangeSet    RunAction = "set"    // changes settings, from the next request on
	ChangePause  RunAction = "pause"  // begins no request until it is resumed, or until an instant
	ChangeResume RunAction = "resume" // continues a run that was paused, stopped or done
	ChangeStop   RunAction = "stop"   // ends it until it is resumed
)

// RunChange is what somebody has done to a run.
type RunChange struct {
	Action RunAction `json:"kind"`
	// Settings are those that ChangeSet changes; the fields that are nil stay.
	Settings settings.Settings `json:"settings,omitzero"`
	Reason   string            `json:"reason,omitempty"`
	// Until is when a pause ends by itself; zero is not before it is resumed.
	Until time.Time `json:"until,omitzero"`
	// SetBy names who or what made it.
	SetBy string    `json:"set_by"`
	SetAt time.Time `json:"set_at,omitzero"`
	// Decision names it where it is stored, so that it is made once; empty does not.
	Decision string `json:"-"`
	// Was and Value are, of one that was made, the changed settings before and after.
	Was   map[string]json.RawMessage `json:"was,omitempty"`
	Value map[string]json.RawMessage `json:"value,omitempty"`
}

// Validate checks a change that is to be made at an instant. Errors wrap ErrInvalid.
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
	return s, NotNow("it is %s: only what runs can be %s", s, pastOf[kind])
}

var pastOf = map[RunAction]string{ChangePause: "paused", ChangeStop: "stopped"}
