package dns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// aliases are the records of a chain: a0.test. is an alias of a1.test., and so
// on, and the last has an address.
func aliases(links int) []string {
	records := make([]string, 0, links+1)
	for i := range links {
		records = append(records, fmt.Sprintf("a%d.test. 600 IN CNAME a%d.test.", i, i+1))
	}
	return append(records, fmt.Sprintf("a%d.test. 900 IN A 192.0.2.1", links))
}

// apart has a server answer for each name with its own records only, as one
// does that does not follow aliases.
func apart(records []string) map[string]behaviour {
	names := make(map[string]behaviour)
	for _, text := range records {
		owner, _, _ := strings.Cut(text, " ")
		names[owner] = func(w dns.ResponseWriter, query *dns.Msg) {
			reply := newReply(query)
			rr := newRecord(text)
			if kind := rr.Header().Rrtype; kind == query.Question[0].Qtype || kind == dns.TypeCNAME {
				reply.Answer = []dns.RR{rr}
			}
			send(w, reply)
		}
	}
	return names
}

func TestAliases(t *testing.T) {
	t.Parallel()
	for name, names := range map[string]func(records []string) map[string]behaviour{
		"InOneAnswer": func(records []string) map[string]behaviour {
			return map[string]behaviour{"a0.test.": gives(records...)}
		},
		"InOneAnswerBackwards": func(records []string) map[string]behaviour {
			backwards := make([]string, 0, len(records))
			for i := range records {
				backwards = append(backwards, records[len(records)-1-i])
			}
			return map[string]behaviour{"a0.test.": gives(backwards...)}
		},
		"AcrossAnswers": apart,
	} {
		lookup := func(t *testing.T, records ...string) error {
			resolver, _ := newResolver(t, Config{domainRate: -1}, serve(t, names(records)))
			_, err := resolver.Lookup(t.Context(), "a0.test")
			return err
		}
		t.Run("Follows8"+name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, names(aliases(8)))
			resolver, clock := newResolver(t, Config{domainRate: -1}, server)
			requireLookup(t, resolver, "a0.test", "192.0.2.1")
			clock.advance(maxDenialTTL - 1)
			requireLookup(t, resolver, "a0.test", "192.0.2.1")
			require.Equal(t, 1, server.count("a0.test. AAAA"))
			clock.advance(1)
			requireLookup(t, resolver, "a0.test", "192.0.2.1")
			require.Equal(t, 2, server.count("a0.test. AAAA"))
			require.Equal(t, 1, server.count("a0.test. A"), "the denied family expires first")
		})
		t.Run("Refuses9"+name, func(t *testing.T) {
			t.Parallel()
			err := lookup(t, aliases(9)...)
			require.ErrorIs(t, err, ErrAliases)
			require.ErrorIs(t, err, ErrNotFound)
		})
		t.Run("RefusesALoop"+name, func(t *testing.T) {
			t.Parallel()
			err := lookup(t, "a0.test. 60 IN CNAME a1.test.", "a1.test. 60 IN CNAME A0.test.")
			require.ErrorIs(t, err, ErrAliases)
			require.ErrorIs(t, err, ErrNotFound)
		})
		t.Run("RefusesAnAliasOfItself"+name, func(t *testing.T) {
			t.Parallel()
			err := lookup(t, "a0.test. 60 IN CNAME a0.test.")
			require.ErrorIs(t, err, ErrAliases)
		})
	}

	t.Run("AreNotFollowedRoundALoop", func(t *testing.T) {
		t.Parallel()
		server := serve(t, apart([]string{"a0.test. 60 IN CNAME a1.test.", "a1.test. 60 IN CNAME a0.test."}))
		resolver, _ := newResolver(t, Config{}, server)
		_, err := resolver.Lookup(t.Context(), "a0.test")
		require.ErrorIs(t, err, ErrAliases)
		all, _ := server.counts()
		require.Equal(t, 4, all, "both names, for both families")
	})

	t.Run("LeadToADenial", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"a0.test.": gives("a0.test. 60 IN CNAME absent.test.")})
		resolver, _ := newResolver(t, Config{}, server)
		_, err := resolver.Lookup(t.Context(), "a0.test")
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "NXDOMAIN")
		require.Equal(t, 1, server.count("absent.test. A"))
	})

	t.Run("AreNotAskedForWhenTheServerHasDeniedThem", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"a0.test.": func(w dns.ResponseWriter, query *dns.Msg) {
			reply := newReply(query)
			reply.Answer = []dns.RR{newRecord("a0.test. 60 IN CNAME a1.test.")}
			reply.Ns = []dns.RR{soa(60, 60)}
			send(w, reply)
		}})
		resolver, _ := newResolver(t, Config{}, server)
		_, err := resolver.Lookup(t.Context(), "a0.test")
		require.ErrorContains(t, err, "NODATA")
		require.Zero(t, server.count("a1.test. A"))
	})
}

func TestChainKeepsTheShortestTTL(t *testing.T) {
	t.Parallel()
	chain := newChain("a0.test")
	msg := &dns.Msg{}
	for _, text := range aliases(2) {
		msg.Answer = append(msg.Answer, newRecord(text))
	}
	found, done := chain.read(msg, dns.TypeA)
	require.True(t, done)
	require.Equal(t, finding{addrs: addresses("192.0.2.1"), ttl: 600 * time.Second}, found)
}

// FuzzAccept reads any bytes as the answer to a query for a0.test.
func FuzzAccept(f *testing.F) {
	query := func(qtype uint16) *dns.Msg {
		q := newQuery("a0.test.", qtype)
		q.Id = 1
		return q
	}
	for _, qtype := range families {
		for _, records := range [][]string{
			aliases(0), aliases(1), aliases(8), aliases(9),
			{"a0.test. 60 IN CNAME a0.test."},
			{"a0.test. 4294967295 IN AAAA ::ffff:192.0.2.1", "a0.test. 0 IN AAAA 2001:db8::1"},
		} {
			reply := newReply(query(qtype))
			for _, text := range records {
				reply.Answer = append(reply.Answer, newRecord(text))
			}
			reply.Ns = []dns.RR{soa(60, 60)}
			packed, err := reply.Pack()
			require.NoError(f, err)
			f.Add(packed)
			reply.Rcode, reply.Compress = dns.RcodeNameError, true
			packed, err = reply.Pack()
			require.NoError(f, err)
			f.Add(packed)
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, qtype := range families {
			msg, err := accept(message, query(qtype))
			if err != nil || responseError(msg) != nil {
				continue
			}
			chain := newChain("a0.test")
			found, done := chain.read(msg, qtype)
			require.LessOrEqual(t, len(chain.names), 1+maxAliases)
			require.GreaterOrEqual(t, found.ttl, time.Duration(0))
			if !done {
				require.Greater(t, len(chain.names), 1, "the chain must have grown")
				continue
			}
			require.NotEqual(t, found.denial == nil, len(found.addrs) == 0)
			require.LessOrEqual(t, len(found.addrs), maxAddrs)
			for _, addr := range found.addrs {
				require.Equal(t, qtype == dns.TypeA, addr.Is4(), addr)
				require.False(t, addr.Is4In6(), addr)
			}
		}
	})
}
