package dns

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/wait"
	"github.com/mosey-web/mosey/test/zone"
)

// good is the answer that the name servers below spoil.
func good(query *dns.Msg) *dns.Msg {
	reply := newReply(query)
	question := query.Question[0]
	if question.Qtype == dns.TypeA {
		reply.Answer = []dns.RR{newRecord(question.Name + " 60 IN A 192.0.2.1")}
	}
	return reply
}

func sendGood(w dns.ResponseWriter, query *dns.Msg) { send(w, good(query)) }

// forges sends an answer that is not the query's, with an address that must not
// be used, and maybe the right one after it.
func forges(forge func(*dns.Msg), after behaviour) behaviour {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := good(query)
		reply.Answer = []dns.RR{newRecord(query.Question[0].Name + " 60 IN A 192.0.2.66")}
		forge(reply)
		send(w, reply)
		after(w, query)
	}
}

var forgeries = map[string]func(*dns.Msg){
	"WrongID":      func(m *dns.Msg) { m.Id++ },
	"WrongName":    func(m *dns.Msg) { m.Question[0].Name = "other.test." },
	"WrongType":    func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeTXT },
	"WrongClass":   func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS },
	"NoQuestion":   func(m *dns.Msg) { m.Question = nil },
	"TwoQuestions": func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) },
	"NoResponse":   func(m *dns.Msg) { m.Response = false },
	"WrongOpcode":  func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify },
}

func TestForgedAnswersAreSkipped(t *testing.T) {
	t.Parallel()
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]behaviour{"site.test.": forges(forge, sendGood)})
			resolver, _ := newResolver(t, Config{}, server)
			requireLookup(t, resolver, "site.test", "192.0.2.1")
		})
		t.Run(name+"Alone", func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]behaviour{"site.test.": forges(forge, silent)})
			resolver, _ := newResolver(t, Config{timeout: 100 * time.Millisecond}, server)
			_, err := resolver.Lookup(t.Context(), "site.test")
			require.ErrorIs(t, err, ErrTemporary)
			require.ErrorContains(t, err, "i/o timeout")
		})
	}

	t.Run("UpToABound", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": func(w dns.ResponseWriter, query *dns.Msg) {
			reply := good(query)
			reply.Id++
			for range maxStray {
				send(w, reply)
			}
		}})
		// were more waited for, this test would not end
		resolver, _ := newResolver(t, Config{timeout: time.Hour, tryTimeout: time.Hour, tries: 1}, server)
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorIs(t, err, errStray)
	})
}

func TestQueriesCannotBeForeseen(t *testing.T) {
	t.Parallel()
	ids := make(map[uint16]bool)
	for range 100 {
		query := newQuery("site.test.", dns.TypeA)
		ids[query.Id] = true
		require.True(t, query.RecursionDesired)
		require.Equal(t, uint16(1232), query.IsEdns0().UDPSize())
	}
	require.Greater(t, len(ids), 90)
}

func TestBrokenAnswersAreFailures(t *testing.T) {
	t.Parallel()
	cut := func(w dns.ResponseWriter, query *dns.Msg) {
		packed, err := good(query).Pack()
		if err == nil {
			_, _ = w.Write(packed[:len(packed)-1])
		}
	}
	// truncates over UDP, and does something else over TCP
	truncates := func(then behaviour) behaviour {
		return func(w dns.ResponseWriter, query *dns.Msg) {
			if w.LocalAddr().Network() == "tcp" {
				then(w, query)
				return
			}
			reply := newReply(query)
			reply.Truncated = true
			send(w, reply)
		}
	}
	long := make([]string, 2000)
	for i := range long {
		long[i] = fmt.Sprintf("site.test. 60 IN A 10.0.%d.%d", i/256, i%256)
	}
	for name, test := range map[string]struct {
		act  behaviour
		text string
	}{
		"CutOff":          {cut, "malformed"},
		"TruncatedOnTCP":  {truncates(truncatedOnTCP), "truncated over TCP"},
		"TooLongOnTCP":    {truncates(gives(long...)), "longer than 16384 bytes"},
		"WrongIDOnTCP":    {truncates(forges(forgeries["WrongID"], silent)), errStray.Error()},
		"NothingOnTCP":    {truncates(func(w dns.ResponseWriter, _ *dns.Msg) { _ = w.Close() }), "EOF"},
		"SERVFAILOverTCP": {truncates(fails(dns.RcodeServerFailure)), "SERVFAIL"},
		"FORMERRForQuery": {fails(dns.RcodeFormatError), "FORMERR"},
		"NotImplemented":  {fails(dns.RcodeNotImplemented), "NOTIMP"},
		"TimeoutIsNamed":  {silent, "i/o timeout"},
		"TimeoutOverTCP":  {truncates(silent), "i/o timeout"},
		"CutOffOnTCP":     {truncates(cut), "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]behaviour{"site.test.": test.act})
			resolver, _ := newResolver(t, Config{timeout: time.Second, domainRate: -1}, server)
			_, err := resolver.Lookup(t.Context(), "site.test")
			require.ErrorIs(t, err, ErrTemporary)
			require.ErrorContains(t, err, test.text)
		})
	}
}

// truncatedOnTCP claims that its answer is longer still.
func truncatedOnTCP(w dns.ResponseWriter, query *dns.Msg) {
	reply := newReply(query)
	reply.Truncated = true
	send(w, reply)
}

func TestTruncatedAnswersAreAskedForOverTCP(t *testing.T) {
	t.Parallel()
	records := make([]string, 500)
	for i := range records {
		records[i] = fmt.Sprintf("site.test. 60 IN A 10.0.%d.%d", i/256, i%256)
	}

	t.Run("MarkedSo", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": gives(records...)})
		resolver, _ := newResolver(t, Config{}, server)
		addrs, err := resolver.Lookup(t.Context(), "site.test")
		require.NoError(t, err)
		require.Len(t, addrs, maxAddrs)
		all, tcp := server.counts()
		require.Equal(t, []int{3, 1}, []int{all, tcp})
	})

	t.Run("CutWithinARecord", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": func(w dns.ResponseWriter, query *dns.Msg) {
			if w.LocalAddr().Network() == "tcp" {
				gives(records...)(w, query)
				return
			}
			reply := good(query)
			reply.Truncated = true
			packed, err := reply.Pack()
			if err == nil {
				_, _ = w.Write(packed[:len(packed)-len(reply.Answer)])
			}
		}})
		resolver, _ := newResolver(t, Config{}, server)
		addrs, err := resolver.Lookup(t.Context(), "site.test")
		require.NoError(t, err)
		require.Len(t, addrs, maxAddrs)
	})
}

func TestFailOver(t *testing.T) {
	t.Parallel()
	site := map[string]behaviour{"site.test.": gives("site.test. 60 IN A 192.0.2.1")}

	t.Run("PassesOverASilentServerAndAsksItLastForAWhile", func(t *testing.T) {
		t.Parallel()
		first := serve(t, map[string]behaviour{"site.test.": silent, "next.test.": gives("next.test. 60 IN A 192.0.2.3")})
		second := serve(t, map[string]behaviour{
			"site.test.": sendGood, "next.test.": gives("next.test. 60 IN A 192.0.2.2"),
		})
		resolver, clock := newResolver(t, Config{tryTimeout: 400 * time.Millisecond}, first, second)
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		require.Equal(t, 1, first.count("site.test. A"))

		requireLookup(t, resolver, "next.test", "192.0.2.2")
		require.Zero(t, first.count("next.test. A"))

		clock.advance(maxCacheTTL)
		requireLookup(t, resolver, "next.test", "192.0.2.3")
	})

	t.Run("PrefersASilentServerAgainOnceItAnswers", func(t *testing.T) {
		t.Parallel()
		first := serve(t, map[string]behaviour{
			"site.test.": silent, "next.test.": sendGood, "last.test.": gives("last.test. 60 IN A 192.0.2.3"),
		})
		second := serve(t, map[string]behaviour{
			"site.test.": sendGood, "next.test.": fails(dns.RcodeServerFailure), "last.test.": sendGood,
		})
		resolver, _ := newResolver(t, Config{tryTimeout: 400 * time.Millisecond, domainRate: -1}, first, second)
		requireLookup(t, resolver, "site.test", "192.0.2.1")
		requireLookup(t, resolver, "next.test", "192.0.2.1")
		requireLookup(t, resolver, "last.test", "192.0.2.3")
	})

	t.Run("PassesOverAServerThatIsNotThere", func(t *testing.T) {
		t.Parallel()
		listener, packets := zone.Listen(t)
		require.NoError(t, listener.Close())
		require.NoError(t, packets.Close())
		config := Config{Servers: []string{packets.LocalAddr().String()}}
		resolver, _ := newResolver(t, config, serve(t, site))
		requireLookup(t, resolver, "site.test", "192.0.2.1")
	})

	t.Run("AsksTheNextAfterAFailureAndTheFailedOnlyOnce", func(t *testing.T) {
		t.Parallel()
		first := serve(t, map[string]behaviour{"site.test.": fails(dns.RcodeServerFailure)})
		second := serve(t, map[string]behaviour{"site.test.": fails(dns.RcodeRefused)})
		resolver, _ := newResolver(t, Config{}, first, second)
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorContains(t, err, second.addr+": REFUSED")
		require.Equal(t, 1, first.count("site.test. A"))
		require.Equal(t, 1, second.count("site.test. A"))
	})

	t.Run("BelievesTheFirstDenial", func(t *testing.T) {
		t.Parallel()
		first, second := serve(t, nil), serve(t, site)
		resolver, _ := newResolver(t, Config{}, first, second)
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorIs(t, err, ErrNotFound)
	})

	t.Run("AsksASilentServerAgain", func(t *testing.T) {
		t.Parallel()
		server := serve(t, map[string]behaviour{"site.test.": silent})
		config := Config{tries: 3, tryTimeout: 10 * time.Millisecond}
		resolver, _ := newResolver(t, config, server)
		_, err := resolver.Lookup(t.Context(), "site.test")
		require.ErrorIs(t, err, ErrTemporary)
		wait.Until(t, func() bool {
			all, _ := server.counts()
			return all == 6
		}, time.Minute, time.Millisecond)
	})

	t.Run("LeavesTimeForTheNext", func(t *testing.T) {
		t.Parallel()
		first := serve(t, map[string]behaviour{"site.test.": silent})
		config := Config{timeout: 2 * time.Second, tryTimeout: time.Hour}
		resolver, _ := newResolver(t, config, first, serve(t, site))
		requireLookup(t, resolver, "site.test", "192.0.2.1")
	})
}

func TestSearchListIsForSingleLabels(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string]behaviour{
		"db.second.test.":    gives("db.second.test. 60 IN A 192.0.2.1"),
		"two.first.test.":    gives("two.first.test. 60 IN A 192.0.2.5"),
		"two.second.test.":   gives("two.second.test. 60 IN AAAA 2001:db8::5"),
		"bare.":              gives("bare. 60 IN A 192.0.2.2"),
		"a.b.first.test.":    gives("a.b.first.test. 60 IN A 192.0.2.3"),
		"broken.first.test.": fails(dns.RcodeServerFailure),
		"broken.":            gives("broken. 60 IN A 192.0.2.4"),
	})
	resolver, _ := newResolver(t, Config{}, server)
	sys := resolver.system(resolver.now())
	sys.search = []string{"first.test", "Second.Test.", "not a domain"}

	requireLookup(t, resolver, "db", "192.0.2.1")
	requireLookup(t, resolver, "bare", "192.0.2.2")
	requireLookup(t, resolver, "two", "192.0.2.5")
	_, err := resolver.Lookup(t.Context(), "a.b")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = resolver.Lookup(t.Context(), "broken")
	require.ErrorIs(t, err, ErrTemporary, "what may be there must not be passed over")
}

func TestErrorsNameNoLocalPort(t *testing.T) {
	t.Parallel()
	err := withoutAddrs(&net.OpError{Op: "read", Net: "udp", Source: &net.UDPAddr{Port: 4711}, Err: net.ErrClosed})
	require.NotContains(t, err.Error(), "4711")
	require.ErrorIs(t, err, net.ErrClosed)
}
