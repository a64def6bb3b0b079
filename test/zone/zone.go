// Package zone serves DNS records from memory, by the real protocol.
package zone

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Server is a name server. Names without a record do not exist.
type Server struct {
	// Addr is its host and port, for UDP and TCP.
	Addr string

	mu      sync.Mutex
	records []dns.RR
}

// Serve starts a name server with records in zone file format, such as "a.test. 60 IN A 192.0.2.1".
// It ends with the test.
func Serve(t *testing.T, records ...string) *Server {
	t.Helper()
	s := new(Server)
	s.Set(t, records...)
	s.Addr = Start(t, s)
	return s
}

// Start serves DNS on one loopback port, UDP and TCP, until the test ends. It returns host:port.
func Start(t *testing.T, handler dns.Handler) (addr string) {
	t.Helper()
	stream, packets := Listen(t)
	addr = stream.Addr().String()
	for _, server := range []*dns.Server{{Listener: stream, Handler: handler}, {PacketConn: packets, Handler: handler}} {
		started, done := make(chan struct{}), make(chan error, 1)
		server.NotifyStartedFunc = func() { close(started) }
		go func() { done <- server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() {
			require.NoError(t, server.Shutdown())
			require.NoError(t, <-done)
		})
	}
	return addr
}

// Set replaces all records.
func (s *Server) Set(t *testing.T, records ...string) {
	t.Helper()
	parsed := make([]dns.RR, len(records))
	for i, text := range records {
		rr, err := dns.NewRR(text)
		require.NoError(t, err, text)
		parsed[i] = rr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = parsed
}

// Pointer returns the record that maps an address to a name.
func Pointer(t *testing.T, addr, host string) string {
	t.Helper()
	name, err := dns.ReverseAddr(addr)
	require.NoError(t, err)
	return name + " 60 IN PTR " + host
}

// ServeDNS answers a question.
func (s *Server) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	reply := new(dns.Msg).SetReply(query)
	reply.Authoritative = true
	asked := query.Question[0]
	exists := false
	s.mu.Lock()
	for _, rr := range s.records {
		if !strings.EqualFold(rr.Header().Name, asked.Name) {
			continue
		}
		exists = true
		if rr.Header().Rrtype == asked.Qtype {
			reply.Answer = append(reply.Answer, rr)
		}
	}
	s.mu.Unlock()
	if !exists {
		reply.Rcode = dns.RcodeNameError
	}
	_ = w.WriteMsg(reply) // a client that has left needs no answer
}

// Listen opens a port that is free for both protocols.
func Listen(t *testing.T) (net.Listener, net.PacketConn) {
	t.Helper()
	for range 20 {
		stream, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		packets, err := net.ListenPacket("udp4", stream.Addr().String())
		if err == nil {
			return stream, packets
		}
		require.NoError(t, stream.Close())
	}
	require.Fail(t, "no port is free for both UDP and TCP")
	return nil, nil
}
