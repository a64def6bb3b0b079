package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads settings in the form name=value. Commas separate the elements of a list; an empty
// text is an empty list. Names may use - for _. Errors wrap ErrInvalid. [Settings.Validate] checks
// bounds.
func Parse(pairs []string) (Settings, error) {
	var s Settings
	for _, pair := range pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found {
			return Settings{}, fmt.Errorf("%w: setting %q: want name=value, such as delay=5s", ErrInvalid, pair)
		}
		d, known := Lookup(strings.ReplaceAll(name, "-", "_"))
		if !known {
			return Settings{}, noSetting(name)
		}
		if !d.fieldIn(&s).IsNil() {
			return Settings{}, fmt.Errorf("%w: setting %s is given twice", ErrInvalid, name)
		}
		value, err := d.parse(text)
		if err != nil {
			return Settings{}, err
		}
		d.fieldIn(&s).Set(pointer(value))
	}
	return s, nil
}

func noSetting(name string) error {
	return fmt.Errorf("%w: unknown setting %q: mosey set --help and docs/settings.md list all", ErrInvalid, name)
}

const none = "none"

func (d Setting) parse(text string) (reflect.Value, error) {
	switch {
	case d.keyword != "" && text == d.keyword:
		return d.keywordValue, nil
	case d.kind.Kind() == reflect.Slice:
		return reflect.ValueOf(parts(text)), nil
	}
	value, ok := scalar(text, d.kind)
	// the value of the keyword must not be written as a number
	if !ok || d.keyword != "" && (less(value, d.low) || less(d.high, value)) {
		return value, d.refuse(strconv.Quote(text), d.expectedText())
	}
	return value, nil
}

// expectedText describes the text that a value is read from.
func (d Setting) expectedText() string {
	switch kind := d.kind.Kind(); {
	case d.kind == durationType:
		return expectedDuration
	case kind == reflect.Bool:
		return "on or off"
	case d.keyword != "":
		return d.rangeText()
	}
	return "a number"
}

func (d Setting) refuse(value, want string) error {
	return fmt.Errorf("%w: %s %s: want %s", ErrInvalid, d.Name, value, want)
}

// scalar reads a value that is not a list.
func scalar(text string, kind reflect.Type) (reflect.Value, bool) {
	v := reflect.New(kind).Elem()
	switch kind.Kind() {
	case reflect.Bool:
		v.SetBool(text == "on")
		return v, text == "on" || text == "off"
	case reflect.Int, reflect.Int64:
		if kind == durationType {
			span, err := time.ParseDuration(text)
			return reflect.ValueOf(Duration(span)), err == nil
		}
		n, err := strconv.ParseInt(text, 10, kind.Bits())
		v.SetInt(n)
		return v, err == nil
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		v.SetFloat(n)
		return v, err == nil && n-n == 0 // neither infinite nor NaN
	default:
		v.SetString(text)
		return v, true
	}
}

func parts(text string) []string {
	if text == none {
		return []string{}
	}
	return slices.DeleteFunc(strings.Split(text, ","), func(part string) bool { return part == "" })
}

// Text returns the stored JSON of a setting in the form that Parse reads. It returns the JSON of an
// unknown setting, as of an earlier version, unchanged.
func Text(name string, data json.RawMessage) string {
	d, known := Lookup(name)
	if !known {
		return string(data)
	}
	value := reflect.New(d.kind)
	if json.Unmarshal(data, value.Interface()) != nil {
		return string(data)
	}
	return d.text(value.Elem())
}

// ValueText returns the setting's value in s, whose fields are all set, in the form that Parse
// reads.
func (d Setting) ValueText(s Settings) string { return d.text(d.fieldIn(&s).Elem()) }

func (d Setting) text(value reflect.Value) string {
	switch v := value.Interface().(type) {
	case bool:
		if v {
			return "on"
		}
		return "off"
	case []string:
		if len(v) == 0 {
			return none
		}
		return strings.Join(v, ",")
	}
	if d.keyword != "" && value.Equal(d.keywordValue) {
		return d.keyword
	}
	return fmt.Sprint(value)
}

// UnmarshalJSON reads settings. Unknown fields do not fail, because a later version may have
// written them. Validate refuses them, so that a mistyped delay does not mean the default.
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
		if err := d.decode(fields[name], d.fieldIn(s)); err != nil {
			return err
		}
	}
	return nil
}

func (d Setting) decode(data json.RawMessage, field reflect.Value) error {
	var text string
	if d.keyword != "" && data[0] == '"' && json.Unmarshal(data, &text) == nil {
		value, err := d.parse(text)
		if err == nil {
			field.Set(pointer(value))
		}
		return err
	}
	if json.Unmarshal(data, field.Addr().Interface()) != nil {
		return d.refuse(string(data), d.expectedJSON())
	}
	return nil
}

func (d Setting) expectedJSON() string {
	switch kind := d.kind.Kind(); {
	case d.kind == durationType:
		return `text such as "10s"`
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.String:
		return "text"
	case kind == reflect.Slice:
		return "a list of strings"
	}
	return "a number"
}
