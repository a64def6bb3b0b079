package crawl

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

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
	return s, fmt.Errorf("%w: it is %s: only what runs can be %s", ErrInvalid, s, pastOf[kind])
}

var pastOf = map[RunAction]string{ChangePause: "paused", ChangeStop: "stopped"}
