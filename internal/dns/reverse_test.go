package dns

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestReverse(t *testing.T) {
	t.Parallel()
	const v6 = "2001:db8::7"
	pointer, err := dns.ReverseAddr(v6)
	require.NoError(t, err)
	var many []string
	for n := range 20 {
		many = append(many, fmt.Sprintf("9.2.0.192.in-addr.arpa. 60 IN PTR n%02d.bot.test.", n))
	}
	server := serve(t, map[string]behaviour{
		"1.2.0.192.in-addr.arpa.": gives("1.2.0.192.in-addr.arpa. 60 IN PTR Crawl-1.bot.test.", "1.2.0.192.in-addr.arpa. 60 IN PTR other.test."),
		"crawl-1.bot.test.":       gives("crawl-1.bot.test. 60 IN A 192.0.2.1", "crawl-1.bot.test. 60 IN AAAA "+v6),
		"other.test.":             gives("other.test. 60 IN A 192.0.2.200"),
		pointer:                   gives(pointer + " 60 IN PTR crawl-1.bot.test."),
		// by an alias, as RFC 2317 has it, that the server does not follow itself
		"2.2.0.192.in-addr.arpa.":     gives("2.2.0.192.in-addr.arpa. 60 IN CNAME 2.0-7.2.0.192.in-addr.arpa."),
		"2.0-7.2.0.192.in-addr.arpa.": gives("2.0-7.2.0.192.in-addr.arpa. 60 IN PTR two.bot.test."),
		"two.bot.test.":               gives("two.bot.test. 60 IN CNAME two-a.bot.test.", "two-a.bot.test. 60 IN A 192.0.2.2"),
		"3.2.0.192.in-addr.arpa.":     fails(dns.RcodeServerFailure),
		"4.2.0.192.in-addr.arpa.":     gives(`4.2.0.192.in-addr.arpa. 60 IN PTR bad\032name.test.`, "x.test. 60 IN PTR foreign.test."),
		"5.2.0.192.in-addr.arpa.":     gives("5.2.0.192.in-addr.arpa. 60 IN CNAME 5.2.0.192.in-addr.arpa."),
		"6.2.0.192.in-addr.arpa.":     gives("6.2.0.192.in-addr.arpa. 60 IN PTR gone.test."),
		"9.2.0.192.in-addr.arpa.":     gives(many...),
	})
	r, _ := newResolver(t, Config{timeout: 5 * time.Second}, server)
	ask := func(addr string) ([]Name, error) { return r.Reverse(t.Context(), netip.MustParseAddr(addr)) }

	names, err := ask("192.0.2.1")
	require.NoError(t, err)
	require.Len(t, names, 2)
	require.Equal(t, Name{Host: "crawl-1.bot.test", Addrs: addresses("192.0.2.1")}, names[0])
	require.True(t, names[0].ResolvesTo(netip.MustParseAddr("::ffff:192.0.2.1")))
	require.False(t, names[1].ResolvesTo(netip.MustParseAddr("192.0.2.1")))

	names, err = ask(v6)
	require.NoError(t, err)
	require.Equal(t, []Name{{Host: "crawl-1.bot.test", Addrs: addresses(v6)}}, names)

	names, err = ask("192.0.2.2")
	require.NoError(t, err)
	require.Equal(t, []Name{{Host: "two.bot.test", Addrs: addresses("192.0.2.2")}}, names)

	names, err = ask("192.0.2.6")
	require.NoError(t, err)
	require.ErrorIs(t, names[0].Err, errNoName)
	require.False(t, names[0].ResolvesTo(netip.MustParseAddr("192.0.2.6")))

	names, err = ask("192.0.2.9")
	require.NoError(t, err)
	require.Len(t, names, maxNames)

	_, err = ask("192.0.2.3")
	require.ErrorIs(t, err, ErrTemporary)
	for _, addr := range []string{"192.0.2.4", "192.0.2.5", "192.0.2.77"} {
		_, err = ask(addr)
		require.ErrorIs(t, err, ErrNotFound, addr)
		require.ErrorContains(t, err, addr)
	}
	before := server.count("crawl-1.bot.test. A")
	_, err = ask("192.0.2.1")
	require.NoError(t, err)
	require.Equal(t, before+1, server.count("crawl-1.bot.test. A"), "others have no cache of ours")
}
