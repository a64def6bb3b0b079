package dns

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
)

// hosts are the addresses of a hosts file by name, by family.
type hosts map[string]*[len(families)][]netip.Addr

// parseHosts reads a hosts(5). Lines that it does not understand, and addresses
// with a zone of a network interface, are skipped. A name has at most maxAddrs
// addresses of a family, in their order.
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
		for _, field := range fields[1:] {
			if name, ok := canonical(field); ok {
				known.add(name, addr.Unmap())
			}
		}
	}
	return known
}

func (h hosts) add(name string, addr netip.Addr) {
	entry := h[name]
	if entry == nil {
		entry = new([len(families)][]netip.Addr)
		h[name] = entry
	}
	list := &entry[0]
	if addr.Is6() {
		list = &entry[1]
	}
	if len(*list) < maxAddrs && !slices.Contains(*list, addr) {
		*list = append(*list, addr)
	}
}
