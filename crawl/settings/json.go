package settings

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// UnmarshalJSON reads settings. It keeps unknown fields for Validate, which refuses them:
// a mistyped delay must not pass for the default. Reading them does not fail, as a later
// version may have written the history.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	//workflowcheck:ignore they are sorted
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		d, known := Lookup(name)
		if !known {
			s.unknown = name
			continue
		}
		if err := d.decode(fields[name], d.of(s)); err != nil {
			return err
		}
	}
	return nil
}

// decode reads a value from JSON.
func (d Setting) decode(data json.RawMessage, field reflect.Value) error {
	var text string
	if d.word != "" && data[0] == '"' && json.Unmarshal(data, &text) == nil {
		value, err := d.parse(text)
		if err == nil {
			field.Set(pointer(value))
		}
		return err
	}
	if json.Unmarshal(data, field.Addr().Interface()) != nil {
		return d.refuse(string(data), d.wantsJSON())
	}
	return nil
}

// wantsJSON says what kind of JSON a value is read from.
func (d Setting) wantsJSON() string {
	switch kind := d.kind.Kind(); {
	case d.kind == durationType:
		return `text such as "10s"`
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.String:
		return "text"
	case kind == reflect.Slice:
		return "a list of texts"
	}
	return "a number"
}
