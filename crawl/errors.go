package crawl

import (
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Errors that any layer may return and callers test with errors.Is.
var (
	// ErrNotFound reports that a requested item is not stored.
	ErrNotFound = errors.New("not found")
	// ErrFull reports that a store is full.
	ErrFull = errors.New("the store is full")
	// ErrInvalid is [settings.ErrInvalid].
	ErrInvalid = settings.ErrInvalid
	// ErrRefused reports that the database will never accept a value.
	ErrRefused = errors.New("refused by the database")
)

// NewStateError returns an error that wraps ErrInvalid, without its text, for a valid input that
// the present state of its subject forbids. The format names the state and a remedy.
func NewStateError(format string, args ...any) error { return stateError{fmt.Errorf(format, args...)} }

type stateError struct{ error }

func (e stateError) Unwrap() error { return e.error }

func (stateError) Is(target error) bool { return target == ErrInvalid }
