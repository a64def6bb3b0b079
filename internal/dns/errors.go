package dns

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound says that the host has no address: its name does not exist,
	// has no A or AAAA record, or is no name.
	ErrNotFound = errors.New("no such host")

	// ErrTemporary says that the answer is not known: no name server answered
	// in time, or it answered with a failure such as SERVFAIL or REFUSED.
	ErrTemporary = errors.New("no usable answer from the name server")

	// ErrAliases says that the host's CNAME records form a loop or a chain of
	// more than 8. Its zone is at fault, so it comes with ErrNotFound.
	ErrAliases = errors.New("CNAME records form a loop or a chain of more than 8")

	// ErrLimited says that this process has too many queries to make: a limit would
	// delay the lookup beyond its time. The site is not to blame. It comes with
	// ErrTemporary.
	ErrLimited = errors.New("too many DNS queries")
)

// Error is a host whose addresses could not be found. It satisfies errors.Is
// for exactly one of ErrNotFound and ErrTemporary.
type Error struct {
	// Err is the cause.
	Err error

	// Host is the name that was asked for.
	Host string

	// Temporary is true for ErrTemporary, false for ErrNotFound.
	Temporary bool

	// Asked is when the queries began that failed, with ErrTemporary. A failure is remembered, and
	// lookups share queries, so that may be before the lookup. It is zero where none was sent.
	Asked time.Time
}

// Error names the host, the class and the cause.
func (e *Error) Error() string {
	return fmt.Sprintf("dns: %.*q: %v: %v", maxName, e.Host, e.class(), e.Err)
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error { return []error{e.class(), e.Err} }

func (e *Error) class() error {
	if e.Temporary {
		return ErrTemporary
	}
	return ErrNotFound
}
