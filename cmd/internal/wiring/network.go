package wiring

import (
	"fmt"
	"net/netip"
	"reflect"

	"github.com/alecthomas/kong"
)

// decodeNetwork reads a network. An address is the network of it alone.
func decodeNetwork(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("network")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	network, ok := parseNetwork(text)
	if !ok {
		return fmt.Errorf("%q is not a network: want an address or a range, such as 192.0.2.7 or 10.0.0.0/8", text)
	}
	target.Set(reflect.ValueOf(network))
	return nil
}

func parseNetwork(text string) (network netip.Prefix, ok bool) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap() // as connections are compared
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	return network, err == nil && !network.Addr().Is4In6()
}
