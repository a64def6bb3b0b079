package dns

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound means that the host has no address, or is no valid name.
	ErrNotFound = errors.New("no such host")

	// ErrTemporary means that no name server gave a usable answer in time.
	ErrTemporary = errors.New("no usable answer from the name server")

	// ErrAliases means faulty CNAME records. It comes with ErrNotFound.
	ErrAliases = errors.New("CNAME records form a loop or a chain of more than 8")

	// ErrLimited means that our own limits would delay the lookup past its timeout. It comes with
	// ErrTemporary, and does not blame the site.
	ErrLimited = errors.New("too many DNS queries")
)

// Error is a failed lookup. It wraps exactly one of ErrNotFound and ErrTemporary.
type Error struct {
	Err error

	Host string

	// Temporary is true for ErrTemporary, false for ErrNotFound.
	Temporary bool

	// QueriedAt is the start of the failed queries, perhaps before this lookup. Zero means no queries.
	QueriedAt time.Time
}

func (e *Error) Error() string {
	return fmt.Sprintf("dns: %.*q: %v: %v", maxName, e.Host, e.class(), e.Err)
}

func (e *Error) Unwrap() []error { return []error{e.class(), e.Err} }

func (e *Error) class() error {
	if e.Temporary {
		return ErrTemporary
	}
	return ErrNotFound
}
