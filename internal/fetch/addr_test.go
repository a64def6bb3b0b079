package fetch_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestPermits(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(c *fetch.Config) { c.AllowNetworks = nil })

	for _, addr := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
		"126.255.255.255", "128.0.0.0", "168.63.129.15", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2001:200::1", "2606:4700::1111", "2a00:1450::1", "3ffe::1", "3fff:1000::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		require.NoError(t, client.Permits(netip.MustParseAddr(addr)), addr)
	}

	for _, addr := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200",
		"100.127.255.255", "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "100::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fe80::1%eth0", "fec0::1", "ff02::1", "2001::1", "2001:2::1", "2001:10::1", "2001:db8::1",
		"3fff::1", "64:ff9b:1::8.8.8.8",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
	} {
		requireForbidden(t, client.Permits(netip.MustParseAddr(addr)), addr)
	}
	requireForbidden(t, client.Permits(netip.Addr{}), "no address")
}

func requireForbidden(t *testing.T, err error, addr string) {
	t.Helper()
	require.ErrorIs(t, err, fetch.CauseForbiddenAddr, addr)
	var failure *fetch.Error
	require.ErrorAs(t, err, &failure, addr)
	require.False(t, failure.Sent, addr)
}

func TestPermitsAllowedNetworks(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(c *fetch.Config) {
		c.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}
	})

	for addr, want := range map[string]bool{
		"10.1.2.3":         true,
		"::ffff:10.1.2.3":  true,
		"fd00:1::1":        true,
		"10.2.0.1":         false,
		"fd00:2::1":        false,
		"64:ff9b::a01:203": false,
		"8.8.8.8":          true,
	} {
		require.Equal(t, want, client.Permits(netip.MustParseAddr(addr)) == nil, addr)
	}
}

func TestDoRefusesForbiddenAddresses(t *testing.T) {
	t.Parallel()
	s := serve(t, answer("HTTP/1.1 200 OK\r\n\r\nsecret"))

	t.Run("WhateverTheHostIsCalled", func(t *testing.T) {
		t.Parallel()
		client := newClient(t, func(c *fetch.Config) { c.AllowNetworks = nil })
		for _, addr := range []string{"127.0.0.1", "::ffff:127.0.0.1"} {
			for _, scheme := range []string{"http", "https"} {
				_, err := client.Do(t.Context(), fetch.Request{
					Addr: netip.MustParseAddr(addr),
					URL:  fmt.Sprintf("%s://www.example.org:%d/", scheme, s.at.Port()),
				})
				require.False(t, requireKind(t, fetch.CauseForbiddenAddr, err).Sent)
			}
		}
		require.Zero(t, s.accepted.Load())
	})

	t.Run("OnPortsOfOtherProtocols", func(t *testing.T) {
		t.Parallel()
		client := newClient(t)
		for _, port := range []int{0, 1, 22, 25, 53, 587, 6000, 6667, 10080} {
			_, err := client.Do(t.Context(), fetch.Request{
				Addr: netip.MustParseAddr("192.0.43.8"),
				URL:  fmt.Sprintf("http://www.example.org:%d/", port),
			})
			require.False(t, requireKind(t, fetch.CauseForbiddenAddr, err).Sent, port)
		}
	})

	t.Run("ButAnyPortOfAnAllowedNetwork", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:6697")
		if err != nil {
			t.Skip("port 6697 is taken")
		}
		require.NoError(t, listener.Close())
		_, err = newClient(t).Do(t.Context(), fetch.Request{
			Addr: netip.MustParseAddr("127.0.0.1"), URL: "http://www.example.org:6697/",
		})
		requireKind(t, fetch.CauseConnect, err)
	})
}
