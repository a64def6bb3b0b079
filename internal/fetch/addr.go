package fetch

import (
	"fmt"
	"net/netip"
	"slices"
)

var (
	// forbidden4 lists the networks that are not globally reachable (IANA IPv4 Special-Purpose
	// Address Registry, RFC 6890), multicast, and a public address of a cloud's metadata service.
	forbidden4 = prefixes(
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier-grade NAT, and Alibaba's metadata
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // Azure's metadata
		"169.254.0.0/16",   // link-local, and most clouds' metadata
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments, and Oracle's metadata
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarking
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, and broadcast
	)

	// global6 is the only part of IPv6 with global unicast addresses (RFC 4291, section 2.4).
	global6 = netip.MustParsePrefix("2000::/3")

	// forbidden6 lists the parts of global6 that are not globally reachable.
	forbidden6 = prefixes(
		"2001::/23",     // protocol assignments: Teredo, benchmarking, ORCHID
		"2001:db8::/32", // documentation
		"3fff::/20",     // documentation
	)

	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixTo4 = netip.MustParsePrefix("2002::/16")    // RFC 3056

	// badPorts are the "bad ports" of the WHATWG Fetch standard, section 2.9.
	badPorts = []uint16{
		0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
		101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
		389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
		636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
		6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
	}
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// Permits returns nil if addr is public or in Config.AllowNetworks, else an *Error of
// CauseForbiddenAddr. It treats an IPv4-mapped address as its IPv4 address, and also checks the
// address inside a NAT64 or 6to4 address.
func (c *Client) Permits(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if c.allowed(addr) || isPublic(addr) {
		return nil
	}
	return fail(CauseForbiddenAddr, fmt.Sprintf("%s is not a public address", addr), nil)
}

func (c *Client) permitsPort(to netip.AddrPort) error {
	if err := c.Permits(to.Addr()); err != nil {
		return err
	}
	_, bad := slices.BinarySearch(badPorts, to.Port())
	if bad && !c.allowed(to.Addr().Unmap().WithZone("")) {
		return fail(CauseForbiddenAddr, fmt.Sprintf("port %d is not a web port", to.Port()), nil)
	}
	return nil
}

func (c *Client) allowed(addr netip.Addr) bool {
	return contains(c.config.AllowNetworks, addr)
}

func isPublic(addr netip.Addr) bool {
	switch {
	case !addr.IsValid():
		return false
	case addr.Is4():
		return !contains(forbidden4, addr)
	case nat64.Contains(addr):
		return isPublic(embedded4(addr, 12))
	case sixTo4.Contains(addr):
		return isPublic(embedded4(addr, 2))
	default:
		return global6.Contains(addr) && !contains(forbidden6, addr)
	}
}

func embedded4(addr netip.Addr, offset int) netip.Addr {
	b := addr.As16()
	return netip.AddrFrom4([4]byte(b[offset : offset+4]))
}

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
