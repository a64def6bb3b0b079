package dns_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	mosey "github.com/mosey-web/mosey/internal/dns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// zone is what the tests' name server knows: records in the order A, AAAA, or
// the code it answers with.
var zone = map[string]struct {
	a, aaaa         []string
	codeA, codeAAAA int
	cname           string
}{
	"both.test.":     {a: []string{"192.0.2.1", "192.0.2.2"}, aaaa: []string{"2001:db8::1"}},
	"four.test.":     {a: []string{"192.0.2.1"}},
	"six.test.":      {aaaa: []string{"2001:db8::1"}},
	"mapped.test.":   {aaaa: []string{"::ffff:192.0.2.9"}},
	"nothing.test.":  {},
	"broken.test.":   {codeA: dns.RcodeServerFailure, codeAAAA: dns.RcodeServerFailure},
	"refused.test.":  {codeA: dns.RcodeRefused, codeAAAA: dns.RcodeRefused},
	"halfbad4.test.": {codeA: dns.RcodeServerFailure},
	"halfbad6.test.": {codeAAAA: dns.RcodeServerFailure},
	"only4.test.":    {a: []string{"192.0.2.1"}, codeAAAA: dns.RcodeServerFailure},
	"denies6.test.":  {a: []string{"192.0.2.1"}, codeAAAA: dns.RcodeNameError},
	"alias.test.":    {cname: "both.test."},
	"many.test.":     {a: many()},
}

func many() []string {
	list := make([]string, 200)
	for i := range list {
		list[i] = fmt.Sprintf("192.0.2.%d", i)
	}
	return list
}

func answer(w dns.ResponseWriter, query *dns.Msg) {
	reply := new(dns.Msg).SetReply(query)
	reply.Authoritative = true
	question := query.Question[0]
	name, known := zone[question.Name]
	if !known {
		reply.Rcode = dns.RcodeNameError
	}
	header := dns.RR_Header{Name: question.Name, Rrtype: question.Qtype, Class: dns.ClassINET, Ttl: 60}
	if name.cname != "" {
		header.Rrtype = dns.TypeCNAME
		reply.Answer = append(reply.Answer, &dns.CNAME{Hdr: header, Target: name.cname})
		header = dns.RR_Header{Name: name.cname, Rrtype: question.Qtype, Class: dns.ClassINET, Ttl: 60}
		name = zone[name.cname]
	}
	switch question.Qtype {
	case dns.TypeA:
		reply.Rcode = max(reply.Rcode, name.codeA)
		for _, text := range name.a {
			reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: net.ParseIP(text)})
		}
	case dns.TypeAAAA:
		reply.Rcode = max(reply.Rcode, name.codeAAAA)
		for _, text := range name.aaaa {
			reply.Answer = append(reply.Answer, &dns.AAAA{Hdr: header, AAAA: net.ParseIP(text)})
		}
	}
	if w.LocalAddr().Network() == "udp" {
		reply.Truncate(dns.MinMsgSize)
	}
	_ = w.WriteMsg(reply)
}

// serve starts a name server, on UDP and TCP, and gives its address.
func serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	packets, err := net.ListenPacket("udp", listener.Addr().String())
	require.NoError(t, err)
	for _, server := range []*dns.Server{{Listener: listener}, {PacketConn: packets}} {
		server.Handler = dns.HandlerFunc(answer)
		started, done := make(chan struct{}), make(chan error, 1)
		server.NotifyStartedFunc = func() { close(started) }
		go func() { done <- server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() {
			require.NoError(t, server.Shutdown())
			require.NoError(t, <-done)
		})
	}
	return listener.Addr().String()
}

func newResolver(t *testing.T, config mosey.Config) *mosey.Resolver {
	t.Helper()
	resolver, err := mosey.New(config)
	require.NoError(t, err)
	return resolver
}

func TestLookup(t *testing.T) {
	t.Parallel()
	resolver := newResolver(t, mosey.Config{Server: serve(t)})

	for name, test := range map[string]struct {
		host string
		want []string
	}{
		"GivesIPv4BeforeIPv6":     {"both.test", []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}},
		"TakesATrailingDot":       {"four.test.", []string{"192.0.2.1"}},
		"GivesIPv6Alone":          {"six.test", []string{"2001:db8::1"}},
		"FollowsAliases":          {"alias.test", []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}},
		"IgnoresAFailureForAAAA":  {"only4.test", []string{"192.0.2.1"}},
		"IgnoresADenialForAAAA":   {"denies6.test", []string{"192.0.2.1"}},
		"PassesAnIPv4Literal":     {"192.0.2.7", []string{"192.0.2.7"}},
		"PassesAnIPv6Literal":     {"2001:db8::7", []string{"2001:db8::7"}},
		"PassesABracketedLiteral": {"[2001:db8::7]", []string{"2001:db8::7"}},
		"UnmapsALiteral":          {"::ffff:192.0.2.7", []string{"192.0.2.7"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs, err := resolver.Lookup(t.Context(), test.host)
			require.NoError(t, err)
			want := make([]netip.Addr, len(test.want))
			for i, text := range test.want {
				want[i] = netip.MustParseAddr(text)
			}
			require.ElementsMatch(t, want, addrs)
			for i := 1; i < len(addrs); i++ {
				require.False(t, addrs[i-1].Is6() && addrs[i].Is4(), "IPv6 before IPv4: %v", addrs)
			}
		})
	}

	t.Run("AsksOverTCPForALongAnswerAndBoundsIt", func(t *testing.T) {
		t.Parallel()
		addrs, err := resolver.Lookup(t.Context(), "many.test")
		require.NoError(t, err)
		require.Len(t, addrs, 16)
	})
}

func TestLookupTellsFailuresApart(t *testing.T) {
	t.Parallel()
	resolver := newResolver(t, mosey.Config{Server: serve(t)})

	for name, test := range map[string]struct {
		host string
		want error
	}{
		"NoSuchName":               {"absent.test", mosey.ErrNotFound},
		"NoAddress":                {"nothing.test", mosey.ErrNotFound},
		"IPv4InAnAAAARecord":       {"mapped.test", mosey.ErrNotFound},
		"ServerFailure":            {"broken.test", mosey.ErrTemporary},
		"Refused":                  {"refused.test", mosey.ErrTemporary},
		"ServerFailureForAOnly":    {"halfbad4.test", mosey.ErrTemporary},
		"ServerFailureForAAAAOnly": {"halfbad6.test", mosey.ErrTemporary},
		"EmptyName":                {"", mosey.ErrNotFound},
		"OnlyADot":                 {".", mosey.ErrNotFound},
		"NameTooLong":              {strings.Repeat("a.", 127) + "test", mosey.ErrNotFound},
		"LabelTooLong":             {strings.Repeat("a", 64) + ".test", mosey.ErrNotFound},
		"NotAName":                 {"a b.test", mosey.ErrNotFound},
		"Zone":                     {"fe80::1%eth0", mosey.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs, err := resolver.Lookup(t.Context(), test.host)
			require.ErrorIs(t, err, test.want)
			require.Empty(t, addrs)
			var failure *mosey.Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, test.host, failure.Host)
			require.Equal(t, errors.Is(test.want, mosey.ErrTemporary), failure.Temporary)
			require.NotErrorIs(t, err, map[bool]error{true: mosey.ErrNotFound, false: mosey.ErrTemporary}[failure.Temporary])
		})
	}
}

func TestLookupEnds(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })

	t.Run("AtItsTimeLimit", func(t *testing.T) {
		t.Parallel()
		resolver := newResolver(t, mosey.Config{Server: silent.LocalAddr().String(), Timeout: 50 * time.Millisecond})
		_, err := resolver.Lookup(t.Context(), "slow.test")
		require.ErrorIs(t, err, mosey.ErrTemporary)
	})

	t.Run("WithTheCallersContext", func(t *testing.T) {
		t.Parallel()
		resolver := newResolver(t, mosey.Config{Server: silent.LocalAddr().String()})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := resolver.Lookup(ctx, "slow.test")
		require.ErrorIs(t, err, mosey.ErrTemporary)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestSystemResolverReadsTheHostsFile(t *testing.T) {
	t.Parallel()
	addrs, err := newResolver(t, mosey.Config{}).Lookup(t.Context(), "localhost")
	require.NoError(t, err)
	require.True(t, addrs[0].IsLoopback())
}

func TestConfig(t *testing.T) {
	t.Parallel()

	t.Run("RejectsEveryBadField", func(t *testing.T) {
		t.Parallel()
		_, err := mosey.New(mosey.Config{Server: "192.0.2.1", Timeout: -1})
		require.ErrorContains(t, err, "Server")
		require.ErrorContains(t, err, "Timeout")
	})

	t.Run("FillsInTheTimeout", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, mosey.TimeoutDefault, mosey.Config{}.WithDefaults().Timeout)
	})
}
