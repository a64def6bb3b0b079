package politeness

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// The networks that count as one subnet: what one customer of a provider
// usually gets.
const (
	subnetBits4 = 24
	subnetBits6 = 48
)

// Subnet is the subnet of an address, such as 192.0.2.0/24 or 2001:db8::/48. It
// is empty for an invalid address.
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

// Networks are the networks of large front ends, where addresses share no
// machine.
type Networks []netip.Prefix

// Contains reports whether an address is in one of the networks.
func (n Networks) Contains(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// networksMax bounds a file of networks; the largest front ends announce a few
// thousand.
const networksMax = 100_000

// ReadNetworks reads networks, one a line in CIDR notation; # begins a comment.
// An error wraps [crawl.ErrInvalid] and names the line.
func ReadNetworks(r io.Reader) (Networks, error) {
	var networks Networks
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %q: want a network such as 192.0.2.0/24", crawl.ErrInvalid, n, urls.Shorten(text, 50))
		}
		if networks = append(networks, p.Masked()); len(networks) > networksMax {
			return nil, fmt.Errorf("%w: line %d: more than %d networks", crawl.ErrInvalid, n, networksMax)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", crawl.ErrInvalid, err)
	}
	return networks, nil
}
