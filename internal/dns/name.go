package dns

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl/urls"
)

// maxName bounds names, without the last dot: RFC 1035, section 2.3.4.
const maxName = 253

// parseLiteral parses a host as an address with optional brackets. It is invalid for a name.
func parseLiteral(host string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(host, "."), "["), "]"))
	if err != nil {
		return netip.Addr{}, nil //nolint:nilerr // then it is a name
	}
	if addr.Zone() != "" {
		return netip.Addr{}, errors.New("the zone of the address is only valid on one machine")
	}
	return addr.Unmap(), nil
}

type hosts map[string][len(families)][]netip.Addr

// parseHosts reads a hosts(5) file. It skips invalid lines and addresses with a zone, and keeps the
// first maxAddrs addresses of a name and family.
func parseHosts(text []byte) hosts {
	table := make(hosts)
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
			name, err := urls.HostName(field)
			entry := table[name]
			if err == nil && len(entry[family]) < maxAddrs && !slices.Contains(entry[family], addr) {
				entry[family] = append(entry[family], addr)
				table[name] = entry
			}
		}
	}
	return table
}
