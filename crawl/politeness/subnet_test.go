package politeness_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/politeness"
)

func TestSubnet(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.17":           "192.0.2.0/24",
		"::ffff:192.0.2.17":    "192.0.2.0/24",
		"2001:db8:1:2::3":      "2001:db8:1::/48",
		"fe80::1%eth0":         "fe80::/48",
		"2001:db8:1:ffff::aaa": "2001:db8:1::/48",
	} {
		require.Equal(t, want, politeness.Subnet(netip.MustParseAddr(addr)), addr)
	}
	require.Empty(t, politeness.Subnet(netip.Addr{}))
}
