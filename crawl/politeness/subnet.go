package politeness

import "net/netip"

// The sizes of a subnet: that of one customer of a provider.
const (
	subnetBits4 = 24
	subnetBits6 = 48
)

// Subnet returns the subnet of an address, such as 192.0.2.0/24 or 2001:db8::/48; empty if invalid.
func Subnet(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	bits := subnetBits6
	if addr.Is4() {
		bits = subnetBits4
	}
	prefix, err := addr.Prefix(bits)
	if err != nil || !addr.IsValid() {
		return ""
	}
	return prefix.String()
}
