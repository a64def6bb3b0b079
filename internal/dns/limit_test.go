package dns

import (
	"context"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// slowest lets the two queries of one lookup through, and another in 11 days.
const slowest = 1e-6

func TestLimits(t *testing.T) {
	t.Parallel()
	site := gives("a.one.test. 60 IN A 192.0.2.1", "b.one.test. 60 IN A 192.0.2.1", "two.test. 60 IN A 192.0.2.1")
	names := map[string]behaviour{"a.one.test.": site, "b.one.test.": site, "two.test.": site}

	t.Run("ARegistrableDomainAndNoOther", func(t *testing.T) {
		t.Parallel()
		server := serve(t, names)
		resolver, _ := newResolver(t, Config{domainRate: slowest}, server)
		requireLookup(t, resolver, "a.one.test", "192.0.2.1")
		_, err := resolver.Lookup(t.Context(), "b.one.test")
		require.ErrorIs(t, err, ErrLimited)
		require.ErrorIs(t, err, ErrTemporary)
		require.ErrorContains(t, err, "one.test")
		require.Zero(t, server.count("b.one.test. A"))
		requireLookup(t, resolver, "a.one.test", "192.0.2.1")
		requireLookup(t, resolver, "two.test", "192.0.2.1")
	})

	t.Run("All", func(t *testing.T) {
		t.Parallel()
		resolver, _ := newResolver(t, Config{rate: slowest}, serve(t, names))
		requireLookup(t, resolver, "a.one.test", "192.0.2.1")
		_, err := resolver.Lookup(t.Context(), "two.test")
		require.ErrorIs(t, err, ErrLimited)
		require.ErrorContains(t, err, "in total")
	})

	t.Run("NameTheFailureThatNeedsAnotherQuery", func(t *testing.T) {
		t.Parallel()
		broken := map[string]behaviour{"two.test.": fails(dns.RcodeServerFailure)}
		resolver, _ := newResolver(t, Config{rate: slowest}, serve(t, broken), serve(t, broken), serve(t, names))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := resolver.find(ctx, "two.test", dns.TypeA)
		require.ErrorIs(t, err, ErrLimited)
		require.ErrorContains(t, err, "SERVFAIL")
	})

	t.Run("GiveStaleAddressesTheirChance", func(t *testing.T) {
		t.Parallel()
		server := serve(t, names)
		resolver, clock := newResolver(t, Config{domainRate: slowest}, server)
		requireLookup(t, resolver, "two.test", "192.0.2.1")
		clock.advance(maxCacheTTL)
		requireLookup(t, resolver, "two.test", "192.0.2.1")
		require.Equal(t, 1, server.count("two.test. A"))
	})

	t.Run("EndWithTheContext", func(t *testing.T) {
		t.Parallel()
		l, err := newLimits(slowest, -1)
		require.NoError(t, err)
		require.NoError(t, l.wait(t.Context(), "a.test."))
		require.NoError(t, l.wait(t.Context(), "a.test."))
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() { waited <- l.wait(ctx, "a.test.") }()
		cancel()
		err = <-waited
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, ErrLimited)
	})

	t.Run("CanBeSwitchedOff", func(t *testing.T) {
		t.Parallel()
		l, err := newLimits(-1, -1)
		require.NoError(t, err)
		for range 10_000 {
			require.NoError(t, l.wait(t.Context(), "a.test."))
		}
	})

	t.Run("LetASecondsWorthThroughAtOnce", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 500, newLimiter(500).Burst())
		require.Equal(t, 2, newLimiter(0.5).Burst())
		require.Positive(t, newLimiter(1e300).Burst())
	})
}

func TestRegistrable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.b.example.co.uk.": "example.co.uk",
		"example.com.":       "example.com",
		"user.github.io.":    "user.github.io",
		"co.uk.":             "co.uk",
		"label.":             "label",
		".":                  "",
		`odd\000.b.test.`:    "b.test",
	} {
		require.Equal(t, want, registrable(name), name)
	}
}
