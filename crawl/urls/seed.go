package urls

import (
	"errors"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// ParseSeeds is [ParseAll] for seeds, see [ParseSeed].
func ParseSeeds(raw []string) ([]URL, error) { return parseAll(raw, ParseSeed) }

// IsBare reports whether a seed is a host without a scheme.
func IsBare(raw string) bool { return !strings.Contains(raw, "://") }

// ParseSeed is [Parse] for what a person writes: a host without a scheme, perhaps with
// a port and a path, is a page of https, as in "example.org/blog". Whether it is one of
// http instead only the site can tell. It is as pure as Parse.
//
//workflowcheck:ignore
func ParseSeed(raw string) (URL, error) {
	u, err := Parse(raw)
	if err == nil || !errors.Is(err, ErrScheme) || strings.Contains(raw, "://") {
		return u, err
	}
	text := clean(raw)
	if text == "" || strings.IndexByte(`/\?#.`, text[0]) >= 0 {
		return u, err
	}
	bare, reason := parseAbsolute("https://" + text)
	switch host := bare.Host(); {
	case errors.Is(reason, ErrUserinfo), errors.Is(reason, errHyphen), errors.Is(reason, errReserved):
		return URL{}, refuse(raw, reason)
	case reason != nil, !strings.ContainsAny(host, ".:") && host != "localhost":
		return u, err
	}
	return bare, nil
}

// WithHTTP is the same page by http. A default port becomes http's default.
func (u URL) WithHTTP() (URL, error) {
	return Parse("http" + strings.TrimPrefix(u.String(), "https"))
}

// IsRegistered reports whether the host is an IP address or is below a public suffix of the
// compiled-in list. Then it is likely a host, and not a file such as seeds.txt.
func (u URL) IsRegistered() bool {
	host := u.Host()
	suffix, icann := publicsuffix.PublicSuffix(host)
	return isAddress(host) || suffix != host && (icann || strings.Contains(suffix, "."))
}
