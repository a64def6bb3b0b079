package dns

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mosey-web/mosey/test/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// behaviour handles a query of a name server.
type behaviour func(w dns.ResponseWriter, query *dns.Msg)

// nameServer is a real name server, on UDP and TCP, with a behaviour per name. Other names do not
// exist.
type nameServer struct {
	addr string

	mu    sync.Mutex
	names map[string]behaviour // by "name. TYPE", or by "name." for both types
	asked map[string]int       // by "name. TYPE"
	tcp   int                  // how many of them over TCP
}

func serve(t *testing.T, names map[string]behaviour) *nameServer {
	t.Helper()
	s := &nameServer{names: names, asked: make(map[string]int)}
	s.addr = zone.Start(t, s)
	return s
}

func (s *nameServer) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	question := query.Question[0]
	key := question.Name + " " + dns.TypeToString[question.Qtype]
	s.mu.Lock()
	s.asked[key]++
	if w.LocalAddr().Network() == "tcp" {
		s.tcp++
	}
	act := denies(60, 60)
	for _, key := range []string{question.Name, key} {
		if known, ok := s.names[key]; ok {
			act = known
		}
	}
	s.mu.Unlock()
	act(w, query)
}

// set changes what the server does.
func (s *nameServer) set(key string, act behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[key] = act
}

// count is how often a "name. TYPE" was asked for.
func (s *nameServer) count(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[key]
}

// counts is how many queries came, and how many of them over TCP.
func (s *nameServer) counts() (all, tcp int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.asked {
		all += n
	}
	return all, s.tcp
}

// gives answers with those of the records that are of the type asked for, and
// with aliases.
func gives(records ...string) behaviour {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := newReply(query)
		for _, text := range records {
			rr := newRecord(text)
			if kind := rr.Header().Rrtype; kind == query.Question[0].Qtype || kind == dns.TypeCNAME {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		if len(reply.Answer) == 0 {
			reply.Ns = []dns.RR{soa(60, 60)}
		}
		if w.LocalAddr().Network() == "udp" {
			reply.Truncate(udpSize)
		}
		send(w, reply)
	}
}

// denies answers NXDOMAIN, with an SOA record of this TTL and minimum.
func denies(ttl, minimum uint32) behaviour {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := newReply(query)
		reply.Rcode = dns.RcodeNameError
		reply.Ns = []dns.RR{soa(ttl, minimum)}
		send(w, reply)
	}
}

// fails answers with a response code and nothing else.
func fails(code int) behaviour {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := newReply(query)
		reply.Rcode = code
		send(w, reply)
	}
}

// silent never answers.
func silent(dns.ResponseWriter, *dns.Msg) {}

// blocks tells that a query came, and answers when it is released.
func blocks(came chan<- struct{}, release <-chan struct{}, then behaviour) behaviour {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		came <- struct{}{}
		<-release
		then(w, query)
	}
}

func newReply(query *dns.Msg) *dns.Msg {
	reply := new(dns.Msg).SetReply(query)
	reply.RecursionAvailable = true
	return reply
}

// send answers; a client that has gone away is not the server's failure.
func send(w dns.ResponseWriter, reply *dns.Msg) { _ = w.WriteMsg(reply) }

func newRecord(text string) dns.RR {
	rr, err := dns.NewRR(text)
	if err != nil {
		panic(err)
	}
	return rr
}

func soa(ttl, minimum uint32) dns.RR {
	return newRecord(fmt.Sprintf("test. %d IN SOA ns.test. hostmaster.test. 1 3600 600 86400 %d", ttl, minimum))
}

// clock is a time that passes by hand.
type clock struct {
	mu   sync.Mutex
	time time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
}

// newResolver makes a resolver that asks only the servers given and reads no
// file of the system.
func newResolver(t *testing.T, config Config, servers ...*nameServer) (*Resolver, *clock) {
	t.Helper()
	for _, server := range servers {
		config.Servers = append(config.Servers, server.addr)
	}
	if config.hostsFile == "" {
		config.hostsFile = filepath.Join(t.TempDir(), "missing")
	}
	r, err := New(config)
	require.NoError(t, err)
	clock := &clock{time: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)}
	r.now = clock.now
	return r, clock
}

// requireLookup requires that the host has the addresses, in this order.
func requireLookup(t *testing.T, r *Resolver, host string, want ...string) {
	t.Helper()
	addrs, err := r.Lookup(t.Context(), host)
	require.NoError(t, err)
	require.Equal(t, addresses(want...), addrs)
}

func addresses(texts ...string) []netip.Addr {
	list := make([]netip.Addr, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParseAddr(text)
	}
	return list
}
