package urls

import (
	"bytes"
	"cmp"
)

// Spelt is a URL and its request target as the site spells it. Servers may know the page under no
// other spelling, so it is requested in this one.
type Spelt struct {
	URL

	// Target is empty if it is the URL's own RequestTarget.
	Target string
}

// Resolve is [URL.Resolve] with the Target in the spelling of ref: percent-encodings stay as they
// are. The parameters that a canonical form lacks are removed.
func (s Spelt) Resolve(ref string) (Spelt, error) { return s.resolveAs(ref, linked) }

// Verbatim returns the RequestTarget of Resolve(ref) with all parameters.
func (s Spelt) Verbatim(ref string) (string, error) {
	to, err := s.resolveAs(ref, verbatim)
	return to.RequestTarget(), err
}

// resolveAs leaves the Target empty if it were too long, or could be taken for an authority, as
// "//a" could.
func (s Spelt) resolveAs(ref string, how spelling) (Spelt, error) {
	p, reason := s.resolve(clean(ref), s.RequestTarget())
	u, reason := newURL(p, reason)
	if reason != nil {
		return Spelt{}, refuse(ref, reason)
	}
	var space [512]byte
	b := appendTarget(space[:0], p.target, how)
	if len(b) > MaxLength || bytes.HasPrefix(b, []byte("//")) || string(b) == u.RequestTarget() {
		return Spelt{URL: u}, nil
	}
	return Spelt{u, string(b)}, nil
}

// SpeltSeed returns the URL u of a typed seed in the seed's spelling.
func SpeltSeed(raw string, u URL) Spelt {
	if IsSchemeless(raw) {
		raw = "https://" + clean(raw)
	}
	if s, err := (Spelt{}).Resolve(raw); err == nil && s.URL == u {
		return s
	}
	return Spelt{URL: u}
}

// RequestTarget returns the request target as the site spells it.
func (s Spelt) RequestTarget() string { return cmp.Or(s.Target, s.URL.RequestTarget()) }

// Address returns the absolute URL as the site spells it.
func (s Spelt) Address() string { return s.Origin() + s.RequestTarget() }
