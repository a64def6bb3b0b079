package dns

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
)

const (
	// maxName and maxLabel bound names, without the last dot, and labels: RFC 1035, section 2.3.4.
	maxName  = 253
	maxLabel = 63
)

// literal gives the address that a host is, in brackets or not; invalid for a name.
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

// canonical gives a name in lower case and without its last dot. It reports false for an invalid host
// name: RFC 1123, section 2.1, but for "_", which hosts have nevertheless.
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

// special gives the addresses of reserved names: RFC 6761, sections 6.3 and 6.4, and RFC 7686.
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

// hosts are the addresses of a hosts file by name, by family.
type hosts map[string][len(families)][]netip.Addr

// parseHosts reads a hosts(5). It skips invalid lines and addresses with a zone, and keeps the first
// maxAddrs addresses of a name and family.
func parseHosts(text []byte) hosts {
	known := make(hosts)
	for line := range bytes.Lines(text) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		fields := strings.Fields(string(line))
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil || addr.Zone() != "" {
			continue
		}
		addr = addr.Unmap()
		family := 0
		if addr.Is6() {
			family = 1
		}
		for _, field := range fields[1:] {
			name, ok := canonical(field)
			entry := known[name]
			if ok && len(entry[family]) < maxAddrs && !slices.Contains(entry[family], addr) {
				entry[family] = append(entry[family], addr)
				known[name] = entry
			}
		}
	}
	return known
}
