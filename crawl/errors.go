package crawl

import "errors"

// Errors that any layer may return and callers test with errors.Is.
var (
	// ErrNotFound says that the thing asked for is not stored.
	ErrNotFound = errors.New("not found")
	// ErrInvalid says that an input was refused; the message says which and why.
	ErrInvalid = errors.New("invalid input")
)
