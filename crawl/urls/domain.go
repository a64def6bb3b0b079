package urls

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// DomainOf returns the key of the domain that a host belongs to, the unit of politeness: the host
// in lower case and punycode, without a trailing dot, a port, and leading "www." labels. An IP
// address is its own key, an IPv6 address without brackets.
//
// "www." stays if the rest could not be a site of its own: on a single label ("www.com") and on a
// public suffix ("www.gov.uk", "www.github.io"). Every "www." is removed, so that the key of a key
// is itself.
//
// name may also be a URL or a host with a path, see [ReadName]. Errors are of type [*Error].
func DomainOf(name string) (string, error) {
	n, err := ReadName(name)
	return n.Page.Domain(), err
}

// domainKey is DomainOf for a canonical host.
func domainKey(host string) string {
	for {
		rest, found := strings.CutPrefix(host, "www.")
		if !found || !strings.Contains(rest, ".") {
			return host
		}
		if suffix, _ := publicsuffix.PublicSuffix(rest); suffix == rest {
			return host
		}
		host = rest
	}
}

// Registered returns the registered part of a domain: the public suffix and one label more,
// "example.co.uk" for "a.b.example.co.uk". It returns IP addresses, single labels, public suffixes
// and invalid domains themselves. domain is treated as by [DomainOf] first.
func Registered(domain string) string {
	key, err := DomainOf(domain)
	if err != nil {
		return domain
	}
	return registrable(key)
}

// registrable is [Registered] of a key.
func registrable(key string) string {
	if isAddress(key) {
		return key
	}
	suffix, _ := publicsuffix.PublicSuffix(key)
	if len(suffix) >= len(key) {
		return key
	}
	return key[strings.LastIndexByte(key[:len(key)-len(suffix)-1], '.')+1:]
}

// isAddress reports whether a canonical host is an IP address: no TLD begins with a digit.
func isAddress(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Contains(host, ":") || last != "" && isDigit(last[0])
}

// RegisteredParent returns the registered domain above the URL's domain, see [Registered];
// empty if the domain is registered itself.
func (u URL) RegisteredParent() string {
	key := u.Domain()
	if registered := registrable(key); registered != key {
		return registered
	}
	return ""
}
