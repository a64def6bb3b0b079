package dns

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestCacheKeepsAddressesForTheirTTL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, aaaa uint32 // TTL
		want    time.Duration
	}{
		"Zero":              {0, 0, 300 * time.Second},
		"BelowTheMinimum":   {299, 299, 300 * time.Second},
		"Between":           {1200, 1200, 1200 * time.Second},
		"AboveTheMaximum":   {3601, 86_400, 3600 * time.Second},
		"Negative":          {1 << 31, 1 << 31, 300 * time.Second},
		"TheShorterDecides": {3000, 1000, 1000 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]behaviour{"site.test.": gives(
				fmt.Sprintf("site.test. %d IN A 192.0.2.1", test.a),
				fmt.Sprintf("site.test. %d IN AAAA 2001:db8::1", test.aaaa))})
			resolver, clock := newResolver(t, Config{}, server)
			requireLookup(t, resolver, "site.test", "192.0.2.1", "2001:db8::1")

			clock.advance(test.want - 1)
			requireLookup(t, resolver, "site.test", "192.0.2.1", "2001:db8::1")
			all, _ := server.counts()
			require.Equal(t, 2, all)
			clock.advance(1)
			requireLookup(t, resolver, "site.test", "192.0.2.1", "2001:db8::1")
			all, _ = server.counts()
			require.Greater(t, all, 2)
		})
	}
}

func TestCacheKeepsDenialsForTheTTLOfTheSOA(t *testing.T) {
	t.Parallel()
	empty := func(w dns.ResponseWriter, query *dns.Msg) { send(w, newReply(query)) }
	for name, test := range map[string]struct {
		act  behaviour
		want time.Duration
	}{
		"Zero":             {denies(0, 0), 60 * time.Second},
		"MinimumDecides":   {denies(3600, 120), 120 * time.Second},
		"TTLDecides":       {denies(130, 3600), 130 * time.Second},
		"AboveTheMaximum":  {denies(86_400, 86_400), 300 * time.Second},
		"NoSOA":            {fails(dns.RcodeNameError), 60 * time.Second},
		"NODATA":           {gives(), 60 * time.Second},
		"NODATAWithoutSOA": {empty, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]behaviour{"site.test.": test.act})
			resolver, clock := newResolver(t, Config{}, server)
			_, first := resolver.Lookup(t.Context(), "site.test")
			require.ErrorIs(t, first, ErrNotFound)

			clock.advance(test.want - 1)
			_, err := resolver.Lookup(t.Context(), "site.test")
			require.Equal(t, first, err)
			all, _ := server.counts()
			require.Equal(t, 2, all)

			clock.advance(1)
			server.set("site.test.", fails(dns.RcodeServerFailure))
			asked := clock.now()
			_, err = resolver.Lookup(t.Context(), "site.test")
			require.ErrorIs(t, err, ErrTemporary, "a denial is never stale")
			clock.advance(failureTTL / 2)
			_, err = resolver.Lookup(t.Context(), "site.test")
			remembered, is := errors.AsType[*Error](err)
			require.True(t, is)
			require.True(t, remembered.QueriedAt.Equal(asked), "a failure that is remembered says since when")
			clock.advance(failureTTL)
			server.set("site.test.", gives("site.test. 60 IN A 192.0.2.1"))
			requireLookup(t, resolver, "site.test", "192.0.2.1")
		})
	}
}

func TestStaleAddresses(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]behaviour{
		"OnServerFailure": fails(dns.RcodeServerFailure),
		"OnRefusal":       fails(dns.RcodeRefused),
		"OnTimeout":       silent,
	} {
		t.Run("AreGiven"+name, func(t *testing.T) {
			t.Parallel()
			good := gives("site.test. 300 IN A 192.0.2.1")
			server := serve(t, map[string]behaviour{"site.test.": good})
			resolver, clock := newResolver(t, Config{timeout: 400 * time.Millisecond, domainRate: -1}, server)
			requireLookup(t, resolver, "site.test", "192.0.2.1")

			server.set("site.test.", failure)
			clock.advance(300 * time.Second)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			asked, _ := server.counts()
			require.Greater(t, asked, 2)

			clock.advance(staleRetryInterval - 1)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			again, _ := server.counts()
			require.Equal(t, asked, again, "a dead resolver is left alone for a while")

			clock.advance(1)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			again, _ = server.counts()
			require.Greater(t, again, asked)

			server.set("site.test.", good)
			clock.advance(staleRetryInterval)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			asked, _ = server.counts()
			clock.advance(staleRetryInterval)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			again, _ = server.counts()
			require.Equal(t, asked, again, "they are fresh again")
		})
	}

	t.Run("EndAfterADay", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": gives("site.test. 300 IN A 192.0.2.1")})
		resolver, clock := newResolver(t, Config{}, server)
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		server.set("site.test.", fails(dns.RcodeServerFailure))
		clock.advance(300*time.Second + maxStaleAge - 1)
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		clock.advance(1)
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorIs(t, err, ErrTemporary)
	})

	t.Run("YieldToADenial", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": gives("site.test. 300 IN A 192.0.2.1")})
		resolver, clock := newResolver(t, Config{}, server)
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		server.set("site.test.", denies(60, 60))
		clock.advance(300 * time.Second)
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorIs(t, err, ErrNotFound)
	})

	t.Run("OfOneFamilyStandBesideTheOther", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{
			"site.test.": gives("site.test. 300 IN A 192.0.2.1", "site.test. 300 IN AAAA 2001:db8::1"),
		})
		resolver, clock := newResolver(t, Config{}, server)
		requireLookup(t, resolver, "site.test", "192.0.2.1", "2001:db8::1")
		server.set("site.test. A", fails(dns.RcodeServerFailure))
		server.set("site.test. AAAA", gives("site.test. 300 IN AAAA 2001:db8::2"))
		clock.advance(300 * time.Second)
		requireLookup(t, resolver, "site.test", "192.0.2.1", "2001:db8::2")
	})

	t.Run("AreGivenWhileTheAnswerIsLate", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": gives("site.test. 300 IN A 192.0.2.1")})
		resolver, clock := newResolver(t, Config{}, server)
		resolver.timeouts.stale = time.Millisecond
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		came, release := make(chan struct{}, 2), make(chan struct{})
		server.set("site.test.", blocks(came, release, gives("site.test. 300 IN A 192.0.2.2")))
		clock.advance(300 * time.Second)
		requireLookup(t, resolver, "site.test", "192.0.2.1")

		close(release)
		resolver.timeouts.stale = time.Hour
		requireLookup(t, resolver, "site.test", "192.0.2.2")
	})
}

func TestAFamilyThatIsNotNeededIsAskedForSeldom(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]behaviour{
		"Denied": denies(60, 60), "Failed": fails(dns.RcodeServerFailure),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]behaviour{
				"site.test. A": gives("site.test. 3600 IN A 192.0.2.1"), "site.test. AAAA": act,
			})
			resolver, clock := newResolver(t, Config{}, server)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			clock.advance(maxDenialTTL - 1)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			require.Equal(t, 1, server.count("site.test. AAAA"))
			clock.advance(1)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
			require.Equal(t, 2, server.count("site.test. AAAA"))
			require.Equal(t, 1, server.count("site.test. A"))
		})
	}
}

func TestFailuresAreRememberedForASecond(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string]behaviour{"site.test.": fails(dns.RcodeServerFailure)})
	resolver, clock := newResolver(t, Config{}, server)
	for range 2 {
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorIs(t, err, ErrTemporary)
	}
	require.Equal(t, 1, server.count("site.test. A"))
	require.Equal(t, 1, server.count("site.test. AAAA"))

	server.set("site.test.", gives("site.test. 300 IN A 192.0.2.1"))
	clock.advance(failureTTL)
	requireLookup(t, resolver, "site.test", "192.0.2.1")
}

func TestAddressesThatHaveBecomeTooOldAreNoDenial(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old := record{{addrs: addresses("192.0.2.1"), nextQueryAt: now, usableUntil: now}, {nextQueryAt: now.Add(time.Hour)}}
	require.Empty(t, old.addresses(now))
	require.ErrorIs(t, old.failure("site.test"), ErrTemporary)
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache, err := newCache(10_000)
	require.NoError(t, err)
	for i := range 1000 {
		cache.Set(fmt.Sprintf("host%d.test", i), &record{})
	}
	cache.CleanUp()
	require.LessOrEqual(t, cache.WeightedSize(), uint64(10_000))
	require.NotZero(t, cache.EstimatedSize())
}
