package web

import (
	"fmt"
	"net/netip"
)

// network is the default of Options.Network.
var network = netip.MustParsePrefix("127.64.0.0/10")

var (
	// loopback is the target of hostile pages.
	loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

	// forbidden is the address of hostile names. It is a loopback address too, but a crawler that
	// only checks for 127.0.0.1 does not notice.
	forbidden = netip.AddrFrom4([4]byte{127, 32, 0, 1})
)

const (
	subnetAddrs = 250 // used of a /24, all ordinary
)

// subnetOf returns the network that shares one pace with an address: a /24, or a /48 of IPv6.
func subnetOf(addr netip.Addr) netip.Prefix {
	bits := 24
	if addr.Is6() {
		bits = 48
	}
	// The bits are in range, so an error means an invalid address, hence no network.
	prefix, _ := addr.Prefix(bits)
	return prefix
}

// layout gives each site its address in turn.
type layout struct {
	opts Options

	blocks  map[string]*block     // by Site.Subnet, "" for the sites without one
	groups  map[string]netip.Addr // by Site.IPGroup
	shared  netip.Addr            // of the sites that name neither
	sharers int
	subnets int // handed out so far
}

// block is a /24 that is being handed out.
type block struct{ number, used int }

func (l *layout) assign(s Site) (addr netip.Addr, err error) {
	switch {
	case s.IPGroup != "":
		if _, ok := l.groups[s.IPGroup]; !ok {
			l.groups[s.IPGroup], err = l.newAddr(s.Subnet)
		}
		return l.groups[s.IPGroup], err
	case s.Subnet != "", s.TLS != TLSNone:
		return l.newAddr(s.Subnet)
	}
	if l.sharers%l.opts.SitesPerIP == 0 {
		l.shared, err = l.newAddr("")
	}
	l.sharers++
	return l.shared, err
}

// newAddr returns an unused address.
func (l *layout) newAddr(subnet string) (netip.Addr, error) {
	b, limit := l.blocks[subnet], subnetAddrs
	if subnet == "" {
		limit = l.opts.AddrsPerSubnet
	}
	switch {
	case b == nil, subnet == "" && b.used == limit:
		if maxSubnets := subnetAddrs << (16 - l.opts.Network.Bits()); l.subnets == maxSubnets {
			return netip.Addr{}, fmt.Errorf("web: the sites need more than %d subnets, use fewer or a larger AddrsPerSubnet", maxSubnets)
		}
		b = &block{number: l.subnets}
		l.blocks[subnet] = b
		l.subnets++
	case b.used == limit:
		return netip.Addr{}, fmt.Errorf("web: Subnet %q has more than %d addresses", subnet, limit)
	}
	b.used++
	first := l.opts.Network.Addr().As4()
	return netip.AddrFrom4([4]byte{first[0], first[1] + byte(b.number/subnetAddrs), byte(b.number % subnetAddrs), byte(b.used)}), nil
}
