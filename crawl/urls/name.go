package urls

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// Name is a page or a domain in the form that an operator types: a URL, a host with a path, or a
// host.
type Name struct {
	// Page is the named page. Its scheme is https if none was typed.
	Page URL
	// Schemeless is set if no scheme was typed, so that Page may be reachable over HTTP only.
	Schemeless bool
	// Host is set if only a host was typed, perhaps with a port. It can stand for its domain.
	Host bool
}

// ReadName reads a typed page or domain, for every command, form and seed. Errors are of type
// [*Error]. It is as pure as [Parse].
//
//workflowcheck:ignore
func ReadName(raw string) (Name, error) {
	u, err := Parse(raw)
	if err == nil || !errors.Is(err, ErrScheme) || !IsSchemeless(raw) {
		return Name{Page: u}, err
	}
	text := clean(raw)
	if text == "" || strings.IndexByte(`/\?#.`, text[0]) >= 0 {
		return Name{Schemeless: true}, refuse(raw, ErrHost)
	}
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is6() {
		text = "[" + text + "]"
	}
	u, reason := newURL(parseAbsolute("https://" + text))
	if reason != nil {
		return Name{Schemeless: true}, refuse(raw, reason)
	}
	return Name{Page: u, Schemeless: true, Host: !strings.ContainsAny(text, authorityEnders)}, nil
}

// IsSite reports whether the name is a host or its front page, and so can stand for a whole domain.
func (n Name) IsSite() bool { return n.Host || n.Page.RequestTarget() == "/" }

// typedError refuses a typed name. It wraps [crawl.ErrInvalid].
type typedError struct {
	reason            *Error
	subject, expected string
}

// Error names the input, the reason and the remedy.
func (e *typedError) Error() string {
	return fmt.Sprintf("%s %q: %v: want %s", e.subject, e.reason.Input, e.reason.Reason, e.expected)
}

// Unwrap returns the kind of the error and the reason.
func (e *typedError) Unwrap() []error { return []error{crawl.ErrInvalid, e.reason} }

func wrapTyped(err error, subject, expected string) error {
	if reason, ok := errors.AsType[*Error](err); ok {
		return &typedError{reason, subject, expected}
	}
	return err
}

const expectedPage = "a URL or a host with a path, such as https://example.org/about or example.org/about"

// ReadPage is [ReadName] for a page, as strict about hosts as [ParseSeed]. Errors wrap
// [crawl.ErrInvalid] and name the input, the reason and the remedy.
func ReadPage(raw string) (Name, error) {
	n, err := readSeed(raw)
	return n, wrapTyped(err, "URL", expectedPage)
}

// ReadDomain returns a typed domain's key, see [DomainOf]. Its errors are like [ReadPage]'s.
func ReadDomain(raw string) (string, error) {
	domain, err := DomainOf(raw)
	return domain, wrapTyped(err, "domain", "a host name, such as example.org")
}

// ReadPageOrDomain is [ReadName]: a host alone is a domain. Its errors are like [ReadPage]'s.
func ReadPageOrDomain(raw string) (Name, error) {
	n, err := ReadName(raw)
	if n.Schemeless && !strings.ContainsAny(raw, authorityEnders) {
		const want = "a host name such as example.org, or a URL such as https://example.org/about"
		return n, wrapTyped(err, "domain", want)
	}
	return n, wrapTyped(err, "URL", expectedPage)
}
