package crawl

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// JSONError describes an error in an operator's JSON, from encoding/json or a type's own
// UnmarshalJSON. The result wraps ErrInvalid. It returns nil, and such an error, unchanged.
func JSONError(err error) error {
	if err == nil || errors.Is(err, ErrInvalid) {
		return err
	}
	if cause, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		fieldPrefix := ""
		if cause.Field != "" {
			fieldPrefix = cause.Field + ": "
		}
		return fmt.Errorf("%w: %swant %s, not %s", ErrInvalid, fieldPrefix, jsonType(cause.Type), jsonValue(cause.Value))
	}
	if cause, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: invalid JSON at byte %d", ErrInvalid, cause.Offset)
	}
	if cause, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Errorf("%w: %q: want a time such as 2030-12-01T06:00:00Z", ErrInvalid, strings.Trim(cause.Value, `"`))
	}
	return fmt.Errorf("%w: the JSON cannot be decoded", ErrInvalid)
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}

func jsonValue(described string) string {
	labels := map[string]string{"string": "a string", "bool": "true or false", "array": "a list", "object": "an object"}
	return cmp.Or(labels[described], "the "+described) // number 1.5
}
