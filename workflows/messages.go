package workflows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

// Names of signals, updates and queries. Do not rename: clients send them.
const (
	// SignalWake makes a workflow check for work at once. It carries a Wake.
	SignalWake = "wake"
	// UpdatePause pauses a domain or a run, optionally until a time. It carries a Pause.
	UpdatePause = "pause"
	// UpdateResume ends a pause.
	UpdateResume = "resume"
	// UpdateStop stops a domain or a run. It carries a Stop.
	UpdateStop = "stop"
	// UpdateSet changes settings of a run. It carries a Set.
	UpdateSet = "set"
	// UpdateSetDelay sets a domain's own least delay. It carries a SetDelay.
	UpdateSetDelay = "set-delay"
	// UpdateSetBudget sets a domain's own budget. It carries a SetBudget.
	UpdateSetBudget = "set-budget"
	// UpdateSetWindow sets when a domain may be requested. It carries a SetWindow.
	UpdateSetWindow = "set-window"
	// UpdateAddURLs adds pages of the domain to a run. It carries an AddURLs.
	UpdateAddURLs = "add-urls"
	// QueryState returns a domain's DomainState.
	QueryState = "state"
	// QueryStarted reports whether a SeedWorkflow has stored its seeds and started its run.
	QueryStarted = "started"
)

// TypeUnavailable is the error type of an update while the database is unreachable. Send it again.
const TypeUnavailable = "Unavailable"

// Wake carries a run's settings for a domain. Zero fields change nothing.
type Wake struct {
	// PagesPerActivity is the field of a DomainInput, but -1 means auto.
	PagesPerActivity int `json:"pages_per_activity,omitempty"`
}

// Pause pauses a domain or a run for a reason.
type Pause struct {
	Reason string `json:"reason"`
	// Until is the end of the pause; nil means not before resume.
	Until *time.Time `json:"until,omitempty"`
}

func (Pause) example() string { return `{"reason":"a quiet night"}, optionally with "until"` }

func (m Pause) validate(now time.Time) error {
	c := crawl.Control{Type: crawl.ControlPause, Until: m.until()}
	return cmp.Or(validateReason(m.Reason), c.Validate(now))
}

func (m Pause) until() (t time.Time) {
	if m.Until != nil {
		t = *m.Until
	}
	return t
}

// Stop stops a domain or a run for a reason.
type Stop struct {
	Reason string `json:"reason"`
}

func (Stop) example() string { return `{"reason":"the site owner objects"}` }

func (m Stop) validate(time.Time) error { return validateReason(m.Reason) }

// Set changes the given settings of a run.
type Set struct {
	Settings settings.Settings `json:"settings"`
	Reason   string            `json:"reason,omitempty"`
}

func (Set) example() string { return `{"settings":{"delay":"5s"}}, optionally with "reason"` }

func (m Set) validate(time.Time) error {
	return cmp.Or(validateReason(m.Reason), m.Settings.Validate())
}

// SetDelay sets a domain's own least delay, beside others; null lifts it.
type SetDelay struct {
	Delay *settings.Duration `json:"delay"`
}

func (SetDelay) example() string { return `{"delay":"1m"}, or null to remove it` }

func (m SetDelay) validate(time.Time) error {
	if m.Delay != nil && (*m.Delay < 0 || time.Duration(*m.Delay) > settings.DelayMax) {
		return fmt.Errorf("%w: delay %s: want 0s to %s", crawl.ErrInvalid, *m.Delay, settings.DelayMax)
	}
	return nil
}

// SetBudget sets a domain's own budget of page requests a run; -1 is no limit, null lifts it.
type SetBudget struct {
	MaxPages *int64 `json:"max_pages"`
}

func (SetBudget) example() string {
	return `{"max_pages":200}, -1 for no limit, or null to remove it`
}

func (m SetBudget) validate(time.Time) error {
	if m.MaxPages != nil && *m.MaxPages < settings.Unlimited {
		return fmt.Errorf("%w: max_pages %d: want -1 or more", crawl.ErrInvalid, *m.MaxPages)
	}
	return nil
}

// SetWindow sets when a domain may be requested, beside its runs' windows; null lifts it. The
// activity checks the time zones.
type SetWindow struct {
	Window *string `json:"window"`
}

func (SetWindow) example() string {
	return `{"window":"Mon-Fri 22:00-06:00 Europe/Berlin"}, or null to remove it`
}

func (m SetWindow) validate(time.Time) error {
	if m.Window == nil {
		return nil
	}
	_, err := settings.ParseWindows(*m.Window)
	return err
}

// AddURLs adds pages of one domain to a run.
type AddURLs struct {
	Run  string   `json:"run"`
	URLs []string `json:"urls"`
}

const (
	// addURLsMax keeps the update small; use a SeedWorkflow for more seeds.
	addURLsMax = 20
	// addURLsBytes, as JSON, leaves space for the rest of a payload of 4 KB.
	addURLsBytes = 3500
)

func (m AddURLs) validate(domain string) error {
	if err := crawl.ValidateRunName(m.Run); err != nil {
		return err
	}
	if len(m.URLs) == 0 || len(m.URLs) > addURLsMax {
		return fmt.Errorf("%w: %d urls: want 1 to %d; use a SeedWorkflow for more", crawl.ErrInvalid, len(m.URLs), addURLsMax)
	}
	//workflowcheck:ignore this runs in a validator only
	data, err := json.Marshal(m.URLs)
	if err != nil {
		return err
	}
	if len(data) > addURLsBytes {
		return fmt.Errorf("%w: urls: %d bytes, at most %d allowed; use a SeedWorkflow for more", crawl.ErrInvalid, len(data), addURLsBytes)
	}
	seeds, err := urls.ParseAll(m.URLs)
	if err != nil {
		return err
	}
	for _, u := range seeds {
		if u.Domain() != domain {
			return fmt.Errorf("%w: %s belongs to domain %s, not to %s", crawl.ErrInvalid, u, u.Domain(), domain)
		}
	}
	return nil
}

const reasonMax = 200

func validateReason(reason string) error {
	if len(reason) > reasonMax {
		return fmt.Errorf("%w: reason: %d bytes, at most %d allowed", crawl.ErrInvalid, len(reason), reasonMax)
	}
	return nil
}

type message interface {
	// example returns a valid message, for operators.
	example() string
	// validate checks a decoded message at an instant.
	validate(now time.Time) error
}

// input is the input of an update, with the fault of its JSON. The validator reports the fault, and
// does not run in a replay, where an accepted input must stay readable.
type input[M any] struct {
	message   M
	decoded   bool
	decodeErr error
}

// UnmarshalJSON stores the fault for the validator.
func (in *input[M]) UnmarshalJSON(data []byte) error {
	in.decoded, in.decodeErr = true, readMessage(data, &in.message)
	return nil
}

// readMessage decodes JSON into a struct. Fields without omitempty are required, at least as null.
func readMessage[M any](data []byte, into *M) error {
	var fields map[string]json.RawMessage
	if err := cmp.Or(json.Unmarshal(data, into), json.Unmarshal(data, &fields)); err != nil {
		return crawl.JSONError(err)
	}
	if name := unknownField[M](data); name != "" {
		return fmt.Errorf("unknown field %q", name)
	}
	given := slices.Collect(maps.Keys(fields))
	for f := range reflect.TypeFor[M]().Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option == "" && !slices.ContainsFunc(given, func(field string) bool { return strings.EqualFold(field, name) }) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

// unknownField returns the first field in a JSON object that struct T lacks, or an empty string.
func unknownField[T any](data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var v T
	if err := d.Decode(&v); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return strings.Trim(name, `"`)
		}
	}
	return ""
}

// check returns the fault of the JSON, or an error if there is no input.
func (in input[M]) check(example string) error {
	switch {
	case !in.decoded:
		return fmt.Errorf("%w: the input is missing: want %s", crawl.ErrInvalid, example)
	case errors.Is(in.decodeErr, crawl.ErrInvalid):
		return fmt.Errorf("%w: want %s", in.decodeErr, example)
	case in.decodeErr != nil:
		return fmt.Errorf("%w: %w: want %s", crawl.ErrInvalid, in.decodeErr, example)
	}
	return nil
}

// setUpdate sets the handler of an update that carries an M. Bad input stays out of the history.
func setUpdate[M message](ctx workflow.Context, name string, handler any, description string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, handler, workflow.UpdateHandlerOptions{
		Validator: func(ctx workflow.Context, in input[M]) error {
			return cmp.Or(in.check(in.message.example()), in.message.validate(workflow.Now(ctx)))
		},
		Description: description,
	})
}
