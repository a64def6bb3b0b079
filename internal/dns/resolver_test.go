package dns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("many.test. 60 IN A 192.0.2.%d", len(many)-i)
	}
	server := serve(t, map[string]behaviour{
		"both.test.": gives(
			"both.test. 60 IN A 192.0.2.3", "both.test. 60 IN A 192.0.2.1", "both.test. 60 IN A 192.0.2.2",
			"both.test. 60 IN A 192.0.2.1", "both.test. 60 IN AAAA 2001:db8::2", "both.test. 60 IN AAAA 2001:db8::1"),
		"four.test.":         gives("four.test. 60 IN A 192.0.2.1"),
		"six.test.":          gives("six.test. 60 IN AAAA 2001:db8::1"),
		"capital.test.":      gives("CAPITAL.Test. 60 IN A 192.0.2.1"),
		"only4.test.":        gives("only4.test. 60 IN A 192.0.2.1"),
		"only4.test. AAAA":   fails(dns.RcodeServerFailure),
		"denies6.test.":      gives("denies6.test. 60 IN A 192.0.2.1"),
		"denies6.test. AAAA": denies(60, 60),
		"many.test.":         gives(many...),
		"more.test.":         gives("more.test. 60 IN A 192.0.2.1", "other.test. 60 IN A 192.0.2.2"),
		"chaos.test.":        gives("chaos.test. 60 CH A 192.0.2.2", "chaos.test. 60 IN A 192.0.2.1"),
	})
	resolver, _ := newResolver(t, Config{domainRate: -1}, server)

	for name, test := range map[string]struct {
		host string
		want []string
	}{
		"SortsAndInterleavesFamilies": {
			"both.test", []string{"192.0.2.1", "2001:db8::1", "192.0.2.2", "2001:db8::2", "192.0.2.3"},
		},
		"TakesATrailingDot":            {"four.test.", []string{"192.0.2.1"}},
		"TakesCapitals":                {"FOUR.Test", []string{"192.0.2.1"}},
		"ReadsCapitals":                {"capital.test", []string{"192.0.2.1"}},
		"GivesIPv6Alone":               {"six.test", []string{"2001:db8::1"}},
		"IgnoresAFailureForAAAA":       {"only4.test", []string{"192.0.2.1"}},
		"IgnoresADenialForAAAA":        {"denies6.test", []string{"192.0.2.1"}},
		"IgnoresRecordsOfOtherNames":   {"more.test", []string{"192.0.2.1"}},
		"IgnoresRecordsOfOtherClasses": {"chaos.test", []string{"192.0.2.1"}},
		"PassesAnIPv4Literal":          {"192.0.2.7", []string{"192.0.2.7"}},
		"PassesAnIPv6Literal":          {"2001:db8::7", []string{"2001:db8::7"}},
		"PassesABracketedLiteral":      {"[2001:db8::7]", []string{"2001:db8::7"}},
		"UnmapsALiteral":               {"::ffff:192.0.2.7", []string{"192.0.2.7"}},
		"KnowsThisMachineItself":       {"www.localhost", []string{"127.0.0.1", "::1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireLookup(t, resolver, test.host, test.want...)
		})
	}

	t.Run("BoundsTheAddressesOfAFamily", func(t *testing.T) {
		t.Parallel()
		addrs, err := resolver.Lookup(t.Context(), "many.test")
		require.NoError(t, err)
		require.Len(t, addrs, 16)
		require.Equal(t, "192.0.2.1", addrs[0].String())
	})
}

func TestLookupTellsFailuresApart(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string]behaviour{
		"nothing.test.":       gives(),
		"mapped.test.":        gives("mapped.test. 60 IN AAAA ::ffff:192.0.2.9"),
		"broken.test.":        fails(dns.RcodeServerFailure),
		"refused.test.":       fails(dns.RcodeRefused),
		"odd.test.":           fails(14),
		"halfbad4.test.":      gives(),
		"halfbad4.test. A":    fails(dns.RcodeServerFailure),
		"halfbad6.test.":      gives(),
		"halfbad6.test. AAAA": fails(dns.RcodeServerFailure),
		"referral.test.": func(w dns.ResponseWriter, query *dns.Msg) {
			reply := new(dns.Msg).SetReply(query)
			reply.Ns = []dns.RR{newRecord("test. 60 IN NS ns.test.")}
			send(w, reply)
		},
	})
	resolver, _ := newResolver(t, Config{domainRate: -1}, server)

	for name, test := range map[string]struct {
		host string
		want error
		text string
	}{
		"NoSuchName":               {"absent.test", ErrNotFound, "NXDOMAIN"},
		"NoAddress":                {"nothing.test", ErrNotFound, "NODATA"},
		"IPv4InAnAAAARecord":       {"mapped.test", ErrNotFound, "NODATA"},
		"ServerFailure":            {"broken.test", ErrTemporary, server.addr + ": SERVFAIL"},
		"Refused":                  {"refused.test", ErrTemporary, "REFUSED"},
		"UnknownCode":              {"odd.test", ErrTemporary, "response code 14"},
		"Referral":                 {"referral.test", ErrTemporary, "referral"},
		"ServerFailureForAOnly":    {"halfbad4.test", ErrTemporary, "SERVFAIL"},
		"ServerFailureForAAAAOnly": {"halfbad6.test", ErrTemporary, "SERVFAIL"},
		"EmptyName":                {"", ErrNotFound, "malformed"},
		"OnlyADot":                 {".", ErrNotFound, "malformed"},
		"EmptyLabel":               {"a..test", ErrNotFound, "malformed"},
		"NameTooLong":              {strings.Repeat("a.", 127) + "test", ErrNotFound, "malformed"},
		"LabelTooLong":             {strings.Repeat("a", 64) + ".test", ErrNotFound, "malformed"},
		"NotAName":                 {"a b.test", ErrNotFound, "malformed"},
		"Zone":                     {"fe80::1%eth0", ErrNotFound, "zone"},
		"Reserved":                 {"site.onion", ErrNotFound, "reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs, err := resolver.Lookup(t.Context(), test.host)
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.text)
			require.Empty(t, addrs)
			var failure *Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, test.host, failure.Host)
			require.Equal(t, errors.Is(test.want, ErrTemporary), failure.Temporary)
			require.NotErrorIs(t, err, map[bool]error{true: ErrNotFound, false: ErrTemporary}[failure.Temporary])
		})
	}
}

func TestLookupSharesFlights(t *testing.T) {
	t.Parallel()

	t.Run("AsksOnceForManyCallers", func(t *testing.T) {
		t.Parallel()
		came, release := make(chan struct{}, 2), make(chan struct{})
		server := serve(t, map[string]behaviour{
			"slow.test.": blocks(came, release, gives("slow.test. 60 IN A 192.0.2.1")),
		})
		resolver, _ := newResolver(t, Config{}, server)
		resolver.timeouts.stale = time.Nanosecond // matters only to who has old addresses
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { requireLookup(t, resolver, "slow.test", "192.0.2.1") })
		}
		<-came
		close(release)
		callers.Wait()
		require.Equal(t, 1, server.count("slow.test. A"))
		require.Equal(t, 1, server.count("slow.test. AAAA"))
	})

	t.Run("GoesOnWhenTheFirstCallerLeaves", func(t *testing.T) {
		t.Parallel()
		came, release := make(chan struct{}, 2), make(chan struct{})
		server := serve(t, map[string]behaviour{
			"slow.test.": blocks(came, release, gives("slow.test. 60 IN A 192.0.2.1")),
		})
		resolver, _ := newResolver(t, Config{}, server)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := resolver.Lookup(ctx, "slow.test")
			first <- err
		}()
		<-came
		cancel()
		err := <-first
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ErrTemporary)
		close(release)
		requireLookup(t, resolver, "slow.test", "192.0.2.1")
		require.Equal(t, 1, server.count("slow.test. A"))
	})

	t.Run("AsksNothingWhenAnotherFlightHasJustLanded", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{
			"site.test.": gives("site.test. 60 IN A 192.0.2.1"),
		})
		resolver, _ := newResolver(t, Config{}, server)
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		resolver.resolve("site.test")
		all, _ := server.counts()
		require.Equal(t, 2, all)
	})
}

func TestLookupEndsWithoutTheOtherFamily(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string]behaviour{
		"site.test. A":    gives("site.test. 60 IN A 192.0.2.1"),
		"site.test. AAAA": silent,
	})
	// were the other family waited for, this test would not end
	resolver, _ := newResolver(t, Config{timeout: time.Hour, tryTimeout: time.Hour}, server)
	resolver.timeouts.family = time.Millisecond
	requireLookup(t, resolver, "site.test", "192.0.2.1")
	requireLookup(t, resolver, "site.test", "192.0.2.1")
	require.Equal(t, 1, server.count("site.test. A"))
	require.LessOrEqual(t, server.count("site.test. AAAA"), 1, "a family that is not answered for is let be for a while")
}

func TestHostsFileGoesFirst(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(path, []byte("192.0.2.8 site.test\n2001:db8::8 site.test\n"), 0o600))
	server := serve(t, map[string]behaviour{
		"site.test.":  gives("site.test. 60 IN A 192.0.2.1"),
		"added.test.": gives("added.test. 60 IN A 192.0.2.1"),
	})
	resolver, clock := newResolver(t, Config{hostsFile: path}, server)
	clock.advance(time.Since(clock.now())) // the file was read at the real time
	requireLookup(t, resolver, "site.test", "192.0.2.8", "2001:db8::8")
	requireLookup(t, resolver, "added.test", "192.0.2.1")

	require.NoError(t, os.WriteFile(path, []byte("192.0.2.9 added.test\n"), 0o600))
	requireLookup(t, resolver, "added.test", "192.0.2.1")
	clock.advance(fileCheckInterval)
	requireLookup(t, resolver, "added.test", "192.0.2.9")
	requireLookup(t, resolver, "site.test", "192.0.2.1")

	require.NoError(t, os.Remove(path))
	clock.advance(fileCheckInterval)
	requireLookup(t, resolver, "added.test", "192.0.2.1")
}

func TestNewReadsTheFilesOfTheSystem(t *testing.T) {
	t.Parallel()
	resolver, err := New(Config{})
	require.NoError(t, err)
	require.NotEmpty(t, resolver.system(time.Now()).servers)
	addrs, err := resolver.Lookup(t.Context(), "localhost")
	require.NoError(t, err)
	require.True(t, addrs[0].IsLoopback())
}

func TestNewNamesAnUnreadableFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := New(Config{hostsFile: folder})
	require.ErrorContains(t, err, folder)
	_, err = New(Config{resolvConf: folder, hostsFile: filepath.Join(folder, "missing")})
	require.ErrorContains(t, err, folder)
}
