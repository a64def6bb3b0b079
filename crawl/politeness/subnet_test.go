package politeness_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
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

func TestReadNetworks(t *testing.T) {
	t.Parallel()

	t.Run("TakesCommentsAndBlankLines", func(t *testing.T) {
		t.Parallel()
		n, err := politeness.ReadNetworks(strings.NewReader("# a front end\n\n192.0.2.0/25 # half\n2001:db8::/32\n"))
		require.NoError(t, err)
		for addr, want := range map[string]bool{
			"192.0.2.127": true, "192.0.2.128": false, "::ffff:192.0.2.1": true, "2001:db8::1": true, "2001:db9::1": false,
		} {
			require.Equal(t, want, n.Contains(netip.MustParseAddr(addr)), addr)
		}
	})

	t.Run("NamesTheLine", func(t *testing.T) {
		t.Parallel()
		_, err := politeness.ReadNetworks(strings.NewReader("192.0.2.0/24\n192.0.2.1\n"))
		require.ErrorIs(t, err, crawl.ErrInvalid)
		require.ErrorContains(t, err, `line 2: "192.0.2.1": want a network such as 192.0.2.0/24`)
	})

	t.Run("HasABound", func(t *testing.T) {
		t.Parallel()
		_, err := politeness.ReadNetworks(strings.NewReader(strings.Repeat("192.0.2.0/24\n", 100_001)))
		require.ErrorContains(t, err, "more than 100000 networks")
		_, err = politeness.ReadNetworks(strings.NewReader(strings.Repeat("x", 1<<20)))
		require.ErrorIs(t, err, crawl.ErrInvalid)
	})
}
