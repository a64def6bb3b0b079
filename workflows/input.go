package workflows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// input holds the faults in the JSON of an update's input. They are kept for the
// update's validator, which has clear words for them and does not run in a
// replay, since an input that was accepted once must stay readable.
type input struct {
	read  bool
	fault error
}

// readInput reads JSON into a struct. Each of the wanted fields has to be there, if
// only as null.
func readInput[T any](data []byte, into *T, wanted ...string) input {
	in := input{read: true}
	var fields map[string]json.RawMessage
	if in.fault = json.Unmarshal(data, into); in.fault != nil {
		return in
	}
	if in.fault = json.Unmarshal(data, &fields); in.fault != nil {
		return in
	}
	if name := crawl.UnknownField[T](data); name != "" {
		in.fault = fmt.Errorf("there is no field %q", name)
		return in
	}
	for _, name := range wanted {
		if !hasField(fields, name) {
			in.fault = fmt.Errorf("%s is missing", name)
		}
	}
	return in
}

// hasField reports whether an object has a field, without regard to case, as
// package json does.
func hasField(fields map[string]json.RawMessage, name string) bool {
	for field := range fields {
		if strings.EqualFold(field, name) {
			return true
		}
	}
	return false
}

// check reports what is wrong, also where there is no input at all. example is one
// that is right.
func (in input) check(example string) error {
	switch {
	case !in.read:
		return fmt.Errorf("%w: there is none: want %s", crawl.ErrInvalid, example)
	case in.fault != nil:
		return fmt.Errorf("%w: %w: want %s", crawl.ErrInvalid, in.fault, example)
	}
	return nil
}
