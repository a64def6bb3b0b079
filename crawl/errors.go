package crawl

import (
	"errors"
	"strings"
)

// Errors that any layer may return and callers test with errors.Is.
var (
	// ErrNotFound says that the thing asked for is not stored.
	ErrNotFound = errors.New("not found")
	// ErrFull says that a store has no room for it.
	ErrFull = errors.New("there is no room")
	// ErrInvalid says that an input was refused; the message says which and why.
	ErrInvalid = errors.New("invalid input")
	// ErrRefused says that the database does not take a value, now or ever: another
	// try with the same is of no use.
	ErrRefused = errors.New("refused by the database")
)

// shorten cuts what an error quotes to 50 bytes, the middle left out.
func shorten(text string) string {
	const limit, ellipsis = 50, "…"
	if len(text) <= limit {
		return text
	}
	head := (limit - len(ellipsis)) * 2 / 3
	tail := limit - len(ellipsis) - head
	return strings.ToValidUTF8(text[:head], "") + ellipsis + strings.ToValidUTF8(text[len(text)-tail:], "")
}
