package dns

import (
	"errors"
	"net/netip"
	"strings"
)

const (
	// maxName and maxLabel are the longest name, without its last dot, and the
	// longest label there are, in bytes: RFC 1035, section 2.3.4.
	maxName  = 253
	maxLabel = 63
)

// literal gives the address that a host is, in brackets or not; invalid if it
// is a name.
func literal(host string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(host, "."), "["), "]"))
	if err != nil {
		return netip.Addr{}, nil //nolint:nilerr // then it is a name
	}
	if addr.Zone() != "" {
		return netip.Addr{}, errors.New("a zone means nothing to other machines")
	}
	return addr.Unmap(), nil
}

// canonical gives a name in lower case and without its last dot. It reports
// false for what is no host name: RFC 1123, section 2.1, and "_", which hosts
// have nevertheless.
func canonical(host string) (string, bool) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if len(name) > maxName {
		return "", false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return "", false
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return "", false
			}
		}
	}
	return name, true
}

// special gives the addresses of names that no name server may be asked for:
// RFC 6761, sections 6.3 and 6.4, and RFC 7686. It reports whether it is one.
func special(name string) ([]netip.Addr, bool) {
	top := name[strings.LastIndexByte(name, '.')+1:]
	switch top {
	case "localhost":
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, true
	case "invalid", "onion":
		return nil, true
	}
	return nil, false
}
