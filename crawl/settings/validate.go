package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The bounds of patterns of URLs.
const (
	patternsMax = 100
	patternMax  = 500 // bytes
)

var checks = map[string]func(name string, value any) error{"patterns": checkPatterns, "window": checkWindow}

// Validate checks the fields that are set. It joins all faults; each wraps ErrInvalid.
func (s Settings) Validate() error {
	var errs []error
	for _, d := range table {
		if field := d.fieldIn(&s); !field.IsNil() {
			errs = append(errs, d.validate(field.Elem()))
		}
	}
	if s.unknown != "" {
		errs = append(errs, noSetting(s.unknown))
	}
	return errors.Join(errs...)
}

func (d Setting) validate(value reflect.Value) error {
	switch v := value.Interface().(type) {
	case []string:
		for _, part := range v {
			if d.Values != nil && !slices.Contains(d.Values, part) {
				return d.refuse(strconv.Quote(part), d.Bounds())
			}
		}
	default:
		if d.Values != nil && !slices.Contains(d.Values, value.String()) {
			return d.refuse(strconv.Quote(value.String()), d.Bounds())
		}
		if d.low.IsValid() && !d.isInBounds(value) {
			return d.refuse(fmt.Sprint(v), d.Bounds())
		}
	}
	if d.check != nil {
		return d.check(d.Name, value.Interface())
	}
	return nil
}

func (d Setting) isInBounds(v reflect.Value) bool {
	if d.keyword != "" && v.CanInt() && v.Int() == d.keywordValue.Int() {
		return true
	}
	return !less(v, d.low) && (!d.high.IsValid() || !less(d.high, v))
}

func less(a, b reflect.Value) bool {
	if a.CanInt() {
		return a.Int() < b.Int()
	}
	return !(a.Float() >= b.Float()) // nor is it NaN
}

func checkPatterns(name string, value any) error {
	patterns, _ := value.([]string)
	if n := len(patterns); n > patternsMax {
		return fmt.Errorf("%w: %s: %d patterns: want %d at most", ErrInvalid, name, n, patternsMax)
	}
	for _, p := range patterns {
		begins := strings.HasPrefix(p, "/") || strings.HasPrefix(p, "*") ||
			strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://")
		switch {
		case len(p) > patternMax:
			return fmt.Errorf("%w: %s %.50q: %d bytes: want %d at most", ErrInvalid, name, p, len(p), patternMax)
		case !begins, strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' }):
			return fmt.Errorf("%w: %s %q: want the beginning of a path or a URL as it is written in ASCII, such as /wiki/ or "+
				"https://example.org/wiki/; * is anything, $ the end", ErrInvalid, name, p)
		}
	}
	return nil
}

func checkWindow(_ string, value any) error {
	text, _ := value.(string)
	if text == "" {
		return nil
	}
	_, err := ParseWindows(text)
	return err
}
