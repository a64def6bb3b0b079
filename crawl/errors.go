package crawl

import (
	"errors"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Errors that any layer may return and callers test with errors.Is.
var (
	// ErrNotFound says that the thing asked for is not stored.
	ErrNotFound = errors.New("not found")
	// ErrFull says that a store has no room for it.
	ErrFull = errors.New("there is no room")
	// ErrInvalid is [settings.ErrInvalid].
	ErrInvalid = settings.ErrInvalid
	// ErrRefused says that the database will never take a value.
	ErrRefused = errors.New("refused by the database")
)
