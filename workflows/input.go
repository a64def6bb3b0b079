package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
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
	if in.fault = crawl.JSONFault(json.Unmarshal(data, into)); in.fault != nil {
		return in
	}
	if in.fault = crawl.JSONFault(json.Unmarshal(data, &fields)); in.fault != nil {
		return in
	}
	if name := unknownField[T](data); name != "" {
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

// check reports what is wrong, also where there is no input at all. example is one
// that is right.
func (in input) check(example string) error {
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
