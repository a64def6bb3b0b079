package dns

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound says that the host has no address, or is no name.
	ErrNotFound = errors.New("no such host")

	// ErrTemporary says that no name server gave a usable answer in time.
	ErrTemporary = errors.New("no usable answer from the name server")

	// ErrAliases says that the CNAME records are at fault. It comes with ErrNotFound.
	ErrAliases = errors.New("CNAME records form a loop or a chain of more than 8")

	// ErrLimited says that a limit of ours would delay the lookup beyond its time. The site is not to
	// blame. It comes with ErrTemporary.
	ErrLimited = errors.New("too many DNS queries")
)

// Error is a failed lookup. It wraps exactly one of ErrNotFound and ErrTemporary.
type Error struct {
	Err error

	Host string

	// Temporary is true for ErrTemporary, false for ErrNotFound.
	Temporary bool

	// Asked is when the failed queries began, perhaps before this lookup; zero means none was sent.
	Asked time.Time
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
