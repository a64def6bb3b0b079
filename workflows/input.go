package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mosey-web/mosey/crawl"
)

// message is what an update carries.
type message interface {
	// example is a message that is right, for people.
	example() string
	// validate checks a message that could be read, at an instant.
	validate(now time.Time) error
}

// input is the input of an update, which is to hold an M, and what is wrong with its JSON. The
// fault is kept for the update's validator, which has clear words for it and does not run in
// a replay, since an input that was accepted once must stay readable.
type input[M any] struct {
	message M
	read    bool
	fault   error
}

// UnmarshalJSON reads a message. Each of its fields without omitempty has to be there, if only
// as null.
func (in *input[M]) UnmarshalJSON(data []byte) error {
	in.read = true
	var fields map[string]json.RawMessage
	if in.fault = crawl.JSONFault(json.Unmarshal(data, &in.message)); in.fault != nil {
		return nil
	}
	if in.fault = crawl.JSONFault(json.Unmarshal(data, &fields)); in.fault != nil {
		return nil
	}
	if name := unknownField[M](data); name != "" {
		in.fault = fmt.Errorf("there is no field %q", name)
		return nil
	}
	for f := range reflect.TypeFor[M]().Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option == "" && !hasField(fields, name) {
			in.fault = fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

// unknownField returns the first field in a JSON object that T, a struct, does
// not have; empty where there is none.
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

// hasField reports whether an object has a field as package json finds it: in
// whatever case.
func hasField(fields map[string]json.RawMessage, name string) bool {
	for field := range fields {
		if strings.EqualFold(field, name) {
			return true
		}
	}
	return false
}

// check reports what is wrong with the JSON, also where there is no input at all.
func (in input[M]) check(example string) error {
	switch {
	case !in.read:
		return fmt.Errorf("%w: there is none: want %s", crawl.ErrInvalid, example)
	case errors.Is(in.fault, crawl.ErrInvalid):
		return fmt.Errorf("%w: want %s", in.fault, example)
	case in.fault != nil:
		return fmt.Errorf("%w: %w: want %s", crawl.ErrInvalid, in.fault, example)
	}
	return nil
}

// setUpdate sets the handler of an update that carries an M. Its validator keeps bad input out
// of the history.
func setUpdate[M message](ctx workflow.Context, name string, handler any, description string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, handler, workflow.UpdateHandlerOptions{
		Validator: func(ctx workflow.Context, in input[M]) error {
			return firstOf(in.check(in.message.example()), in.message.validate(workflow.Now(ctx)))
		},
		Description: description,
	})
}
