package urls

import (
	"errors"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// ParseSeeds is [ParseAll] for seeds, see [ParseSeed].
func ParseSeeds(raw []string) ([]URL, error) { return parseAll(raw, ParseSeed, expectedPage) }

// IsSchemeless reports whether a seed is a host without a scheme.
func IsSchemeless(raw string) bool { return !strings.Contains(raw, "://") }

// ParseSeed is [ReadName] for a seed. It refuses a single label without a scheme, other than
// localhost, because that may be a mistyped file or run. Only the site decides whether a page
// without a scheme needs HTTP.
//
//workflowcheck:ignore
func ParseSeed(raw string) (URL, error) {
	n, err := readSeed(raw)
	return n.Page, err
}

func readSeed(raw string) (Name, error) {
	n, err := ReadName(raw)
	host := n.Page.Host()
	switch {
	case errors.Is(err, ErrUserinfo), errors.Is(err, errReserved), !n.Schemeless:
		return n, err
	case err != nil, !strings.ContainsAny(host, ".:") && host != "localhost":
		return Name{Schemeless: true}, refuse(raw, ErrScheme)
	}
	return n, nil
}

// WithHTTP returns the same page over HTTP. A default port becomes HTTP's default.
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
