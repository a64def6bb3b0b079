package urls

import (
	"fmt"
	"net/netip"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

const (
	maxHostLength  = 253 // bytes of a host name in text form (RFC 1035, 2.3.4)
	maxLabelLength = 63
)

var errReserved = fmt.Errorf("%w: .invalid and .onion are reserved, so that they never resolve", ErrHost)

// canonicalHost returns the canonical form of a URL's host, without the port: a name in lower-case
// ASCII without a trailing dot, an IPv4 address in dotted decimal, or an IPv6 address in brackets.
//
// It is stricter than the WHATWG host parser: names fulfil HostName, IPv4 addresses are ASCII.
func canonicalHost(raw string) (string, error) {
	if host, ok := plainName(raw); ok {
		return HostName(host)
	}
	if raw == "" || strings.LastIndexByte(raw, '[') > 0 {
		return "", ErrHost
	}
	// The library handles IDNA, percent-encoded hosts, and the many spellings of an IP address.
	parsed, err := whatwg.Parse("http://" + raw + "/")
	if err != nil {
		return "", ErrHost
	}
	host := parsed.Hostname()
	switch {
	case parsed.IsIPv6():
		return bracketIPv6(host)
	case parsed.IsIPv4():
		// The library's number parser accepts a sign; a browser's does not.
		if strings.Trim(raw, "0123456789abcdefABCDEFxX.") != "" {
			return "", ErrHost
		}
		return host, nil
	}
	name, err := HostName(host)
	if err != nil || name == raw || !strings.Contains(name, "xn--") {
		return name, err
	}
	// The library writes some names, such as that of U+226F, in a form that it refuses itself.
	if reparsed, err := whatwg.Parse("http://" + name + "/"); err != nil || reparsed.Hostname() != name {
		return "", ErrHost
	}
	return name, nil
}

// plainName returns s in lower case and true if it is a host name that needs no more than that.
func plainName(s string) (string, bool) {
	lower, label := true, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			label = i + 1
		case c == '-':
			// Punycode must be validated.
			if i-label == 3 && (s[label]|0x20) == 'x' && (s[label+1]|0x20) == 'n' && s[label+2] == '-' {
				return "", false
			}
		case 'A' <= c && c <= 'Z':
			lower = false
		case !isNameByte(c):
			return "", false
		}
	}
	s = strings.TrimSuffix(s, ".")
	// A last label that starts with a digit may make it an IPv4 address.
	if last := s[strings.LastIndexByte(s, '.')+1:]; last == "" || isDigit(last[0]) {
		return "", false
	}
	if !lower {
		s = strings.ToLower(s)
	}
	return s, true
}

func isNameByte(c byte) bool { return isAlpha(c) || isDigit(c) || c == '-' || c == '_' }

// HostName returns a host name in lower case and without a trailing dot. It refuses names that
// never resolve. Labels consist of letters, digits and hyphens (RFC 952 and RFC 1123, section 2.1),
// and of underscores and hyphens at their ends, which some sites do use. Errors wrap [ErrHost].
func HostName(host string) (string, error) {
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > maxHostLength {
		return "", ErrHost
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabelLength {
			return "", ErrHost
		}
		for i := range len(label) {
			if !isNameByte(label[i]) {
				return "", ErrHost
			}
		}
	}
	host = strings.ToLower(host)
	// RFC 6761, section 6.4, and RFC 7686
	if top := host[strings.LastIndexByte(host, '.')+1:]; top == "invalid" || top == "onion" {
		return "", errReserved
	}
	return host, nil
}

func bracketIPv6(host string) (string, error) {
	inner := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(inner); err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", ErrHost
	}
	return "[" + inner + "]", nil
}
