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
func (s Spelt) Resolve(ref string) (Spelt, error) {
	p, reason := s.resolve(clean(ref), s.RequestTarget())
	u, reason := newURL(p, reason)
	if reason != nil {
		return Spelt{}, refuse(ref, reason)
	}
	var space [512]byte
	b := appendTarget(space[:0], p.target, linked)
	if len(b) > MaxLength || ambiguous(b) || string(b) == u.RequestTarget() {
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

// ambiguous reports whether a target could be taken for an authority, as "//a" could. Such a target
// is requested in its canonical form only.
func ambiguous(target []byte) bool { return bytes.HasPrefix(target, []byte("//")) }

// Verbatim returns the RequestTarget of Resolve(ref) with all parameters.
func (s Spelt) Verbatim(ref string) (string, error) {
	p, reason := s.resolve(clean(ref), s.RequestTarget())
	if reason != nil {
		return "", refuse(ref, reason)
	}
	b := appendTarget(nil, p.target, verbatim)
	switch {
	case len(b) > MaxLength:
		return "", refuse(ref, ErrTooLong)
	case ambiguous(b):
		b = appendTarget(nil, p.target, canonical)
	}
	return string(b), nil
}
