package urls

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// MaxLength caps the canonical form of a URL, in bytes. RFC 9110, section 4.1 recommends supporting
// 8,000; in practice a longer URL is a trap or a data structure, not the address of a page.
const MaxLength = 2048

// maxRawLength caps the parsed text, in bytes: far above MaxLength, because fragments and tracking
// parameters do not count towards that.
const maxRawLength = 4 * MaxLength

// Reasons for refusing a URL. errors.Is finds them in an [Error].
var (
	// ErrScheme reports a scheme that is missing, or is neither http nor https.
	ErrScheme = errors.New("scheme is not http or https")
	// ErrUserinfo reports a user name or a password: a crawl would use and store credentials.
	ErrUserinfo = errors.New("user names and passwords are refused")
	// ErrTooLong reports a canonical form longer than MaxLength, or an input too long to be parsed.
	ErrTooLong = fmt.Errorf("longer than %d bytes", MaxLength)
	// ErrHost reports a host that is missing, or invalid as an IP address and as a DNS name.
	ErrHost = errors.New("host is missing or malformed")
	// ErrSyntax reports a malformed port.
	ErrSyntax = errors.New("malformed")
)

// Error reports a refused URL or host, and the reason.
type Error struct {
	Input  string // the input, without credentials, cut to about 100 bytes
	Reason error  // one of the Err… errors
}

// Error names the input, quoted, and the reason.
func (e *Error) Error() string { return fmt.Sprintf("URL %q: %v", e.Input, e.Reason) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

func refuse(input string, reason error) *Error {
	const limit = 100
	input = WithoutCredentials(input)
	if len(input) > limit {
		cut := limit
		for cut > limit-utf8.UTFMax && !utf8.RuneStart(input[cut]) {
			cut--
		}
		input = input[:cut] + "…"
	}
	return &Error{Input: strings.Clone(input), Reason: reason}
}

// WithoutCredentials removes the user name and password from a text that may not be a URL, because
// errors are printed and stored. The authority of such a text may end later than it seems, as in
// https://user:a/b@host/.
func WithoutCredentials(input string) string {
	at := strings.LastIndexByte(input, '@')
	if at < 0 {
		return input
	}
	start := 0
	scheme, rest := cutScheme(clean(input))
	if scheme == "http" || scheme == "https" || scheme != "" && startsWithTwoSlashes(rest) {
		start = strings.IndexByte(input, ':') + 1
	}
	for start < at && strings.IndexByte(slashes, input[start]) >= 0 {
		start++
	}
	authority := input[start:]
	if i := strings.IndexAny(authority, authorityEnders); i >= 0 {
		authority = authority[:i]
	}
	if !strings.ContainsAny(authority, ":@") {
		return input // the sign is part of a path
	}
	return input[:start] + "…" + input[at:]
}

// URL is the canonical form of an absolute http or https URL. Two URLs are the same page to Mosey
// if and only if they are ==.
//
// The canonical form is a browser's form (WHATWG URL Standard), made valid by RFC 3986, and
// normalised further if that cannot change the page:
//
//   - The scheme and host are in lower case; an international host is in punycode, an IPv4 address
//     in dotted decimal; the host's trailing dot, a default port and the fragment are dropped; an
//     empty path is "/".
//   - Dot segments are resolved. Empty segments and trailing slashes stay.
//   - Percent-encodings have upper-case digits. Those of unreserved characters are decoded (RFC
//     3986, section 6.2.2), those of reserved characters stay. Other raw characters are encoded as
//     UTF-8, bytes that are not UTF-8 as U+FFFD, and a "%" that encodes nothing as "%25".
//   - Query parameters keep their order. Parameters that hold a session or track a visitor are
//     removed, and so are session ids in path parameters, such as ";jsessionid=…". An empty query
//     is dropped.
//
// It is ASCII, at most MaxLength bytes, has no userinfo, and is a fixed point: parsing it, here or
// with net/url, and writing it returns it.
//
// The zero value is not valid: its methods, except Resolve, return zero values.
type URL struct {
	s         string // the canonical form
	hostEnd   uint16 // offset in s of the byte past the host
	pathStart uint16 // offset in s of the path's first "/"
	port      uint16 // the effective port
}

// Parse returns the canonical form of an absolute URL, read like in a browser: white space around
// it and line breaks and tabs inside it are ignored, and "\" is "/". Errors are of type [*Error].
// It is pure, although the standard library interns parts of IPv6 addresses in a way that looks
// impure.
//
//workflowcheck:ignore
func Parse(raw string) (URL, error) {
	u, reason := newURL(parseAbsolute(clean(raw)))
	if reason != nil {
		return URL{}, refuse(raw, reason)
	}
	return u, nil
}

// ParseAll parses URLs. It joins all faults; each wraps [crawl.ErrInvalid].
func ParseAll(raw []string) ([]URL, error) {
	return parseAll(raw, Parse, "an absolute http or https URL, such as https://example.org/")
}

func parseAll(raw []string, parse func(string) (URL, error), expected string) ([]URL, error) {
	parsed := make([]URL, 0, len(raw))
	var errs []error
	for _, s := range raw {
		u, err := parse(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %w: want %s", crawl.ErrInvalid, err, expected))
			continue
		}
		parsed = append(parsed, u)
	}
	return parsed, errors.Join(errs...)
}

// Resolve returns the URL of ref, absolute or relative, on a page of the URL u (or of the base URL
// u). Errors are of type [*Error]. On the zero value it is Parse.
func (u URL) Resolve(ref string) (URL, error) {
	target, reason := newURL(u.resolve(clean(ref), u.RequestTarget()))
	if reason != nil {
		return URL{}, refuse(ref, reason)
	}
	return target, nil
}

// String returns the canonical form.
func (u URL) String() string { return u.s }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	scheme, _, _ := strings.Cut(u.s, ":")
	return scheme
}

// Host returns the host without its port: a name or an IP address, without brackets.
func (u URL) Host() string {
	if u.s == "" {
		return ""
	}
	host := u.s[len(u.Scheme())+len("://") : u.hostEnd]
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// Port returns the effective port, the scheme's default unless the URL has a port.
func (u URL) Port() uint16 { return u.port }

// Origin returns scheme, host and port, such as "https://example.org" or
// "https://example.org:8443": the scope of one robots.txt (RFC 9309, section 2.3).
func (u URL) Origin() string { return u.s[:u.pathStart] }

// RequestTarget returns path and query, such as "/a?b=c": the origin-form of RFC 9112, section
// 3.2.1, which robots.txt rules are matched against.
func (u URL) RequestTarget() string { return u.s[u.pathStart:] }

// Domain returns the key of the URL's domain, like [DomainOf] for its host.
//
//workflowcheck:ignore
func (u URL) Domain() string { return domainKey(u.Host()) }

// MarshalText returns the canonical form, empty for the zero value.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText sets u to the result of Parse, or to the zero value for an empty text.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

// Shorten returns a URL cut to limit bytes for a one-line summary, without its middle.
func Shorten(u string, limit int) string {
	const ellipsis = "…"
	if len(u) <= limit || limit <= 2*len(ellipsis) {
		return u
	}
	head := (limit - len(ellipsis)) * 2 / 3
	tail := limit - len(ellipsis) - head
	return strings.ToValidUTF8(u[:head], "") + ellipsis + strings.ToValidUTF8(u[len(u)-tail:], "")
}

// SameAddress reports whether two URLs differ only in scheme, port, "www." and a slash at the end
// of the path: a site writes one address in several ways, and redirects the others.
func SameAddress(a, b URL) bool {
	if a.Domain() != b.Domain() {
		return false
	}
	pathA, queryA, _ := strings.Cut(a.RequestTarget(), "?")
	pathB, queryB, _ := strings.Cut(b.RequestTarget(), "?")
	return queryA == queryB && strings.TrimSuffix(pathA, "/") == strings.TrimSuffix(pathB, "/")
}
