package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/miekg/dns"
)

// DNSMode selects how a site's name resolves.
type DNSMode string

// The modes.
const (
	// DNSAnswer answers with the site's address.
	DNSAnswer DNSMode = "answer"
	// DNSMissing answers that the name does not exist (NXDOMAIN), as for every name without a site.
	DNSMissing DNSMode = "missing"
	// DNSServFail answers that the server has failed.
	DNSServFail DNSMode = "servfail"
	// DNSSilent never answers.
	DNSSilent DNSMode = "silent"
	// DNSForbidden answers with Plan.Forbidden, and with the same address mapped into IPv6.
	DNSForbidden DNSMode = "forbidden"
	// DNSMixed answers with the site's address and with Plan.Forbidden.
	DNSMixed DNSMode = "mixed"
	// DNSRebind answers the first question for an A record with the site's address and later
	// questions with Plan.Forbidden. No answer may be cached.
	DNSRebind DNSMode = "rebind"
)

func (m DNSMode) isKnown() bool {
	switch m {
	case DNSAnswer, DNSMissing, DNSServFail, DNSSilent, DNSForbidden, DNSMixed, DNSRebind:
		return true
	}
	return false
}

const dnsTTL = 60 // seconds

// nameServer answers for the names of a plan, over UDP and TCP on one port.
type nameServer struct {
	addr    string
	plan    *Plan
	serving sync.WaitGroup
	servers []*dns.Server
	silent  atomic.Bool
	failing atomic.Bool

	mu        sync.Mutex
	questions map[string]int // questions for A records of DNSRebind, by name
	err       error
}

func startDNS(p *Plan) (*nameServer, error) {
	packets, stream, err := listenDNS(p.opts.NameServer, p.opts.NameServerPort)
	if err != nil {
		return nil, err
	}
	n := &nameServer{addr: packets.LocalAddr().String(), questions: make(map[string]int), plan: p}
	n.servers = []*dns.Server{
		{PacketConn: packets, Handler: n},
		{Listener: stream, Handler: n},
	}
	var started sync.WaitGroup
	for _, s := range n.servers {
		started.Add(1)
		s.NotifyStartedFunc = started.Done
		n.serving.Go(func() {
			if err := s.ActivateAndServe(); err != nil {
				n.fail(err)
			}
		})
	}
	started.Wait()
	return n, nil
}

// listenDNS opens one port for both protocols: the given port, or a free one.
func listenDNS(at netip.Addr, port uint16) (net.PacketConn, net.Listener, error) {
	var errs []error
	for range portTries {
		stream, err := net.Listen("tcp4", netip.AddrPortFrom(at, port).String())
		if err != nil {
			return nil, nil, fmt.Errorf("web: name server: %w", err)
		}
		packets, err := net.ListenPacket("udp4", stream.Addr().String())
		if err == nil {
			return packets, stream, nil
		}
		errs = append(errs, err, stream.Close())
	}
	return nil, nil, fmt.Errorf("web: name server: %w", errors.Join(errs...))
}

func (n *nameServer) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = errors.Join(n.err, err)
}

func (n *nameServer) close() error {
	for _, s := range n.servers {
		if err := s.Shutdown(); err != nil {
			n.fail(err)
		}
	}
	n.serving.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// ServeDNS implements dns.Handler.
func (n *nameServer) ServeDNS(w dns.ResponseWriter, query *dns.Msg) {
	if n.silent.Load() {
		return
	}
	reply := new(dns.Msg)
	reply.SetReply(query)
	reply.Authoritative = true
	if len(query.Question) != 1 {
		reply.Rcode = dns.RcodeFormatError
		n.send(w, reply)
		return
	}
	q := query.Question[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name, "."))
	h, ok := n.plan.hosts[name]
	switch {
	case n.failing.Load():
		reply.Rcode = dns.RcodeServerFailure
	case !ok || h.site.DNS == DNSMissing:
		reply.Rcode = dns.RcodeNameError
		reply.Ns = []dns.RR{soa(q.Name)}
	case h.site.DNS == DNSServFail:
		reply.Rcode = dns.RcodeServerFailure
	case h.site.DNS == DNSSilent:
		return
	case q.Qtype == dns.TypeA:
		for _, addr := range n.addrs(name, h.site) {
			reply.Answer = append(reply.Answer, &dns.A{
				Hdr: header(q.Name, dns.TypeA, ttl(h.site)), A: addr.AsSlice(),
			})
		}
	case q.Qtype == dns.TypeAAAA && h.site.DNS == DNSForbidden:
		reply.Answer = []dns.RR{&dns.AAAA{
			Hdr: header(q.Name, dns.TypeAAAA, ttl(h.site)), AAAA: net.IP(forbidden.AsSlice()).To16(),
		}}
	default:
		reply.Ns = []dns.RR{soa(q.Name)} // NODATA, RFC 2308 section 2.2
	}
	n.send(w, reply)
}

// addrs returns the addresses of a name, and counts the question.
func (n *nameServer) addrs(name string, s *site) []netip.Addr {
	switch s.DNS {
	case DNSForbidden:
		return []netip.Addr{forbidden}
	case DNSMixed:
		return []netip.Addr{forbidden, s.addr}
	case DNSRebind:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.questions[name]++
		if n.questions[name] > 1 {
			return []netip.Addr{forbidden}
		}
	}
	return []netip.Addr{s.addr}
}

func ttl(s *site) uint32 {
	if s.DNS == DNSRebind {
		return 0
	}
	return dnsTTL
}

// send sends the reply. Clients that have gone away cause no error.
func (n *nameServer) send(w dns.ResponseWriter, reply *dns.Msg) {
	_ = w.WriteMsg(reply)
}

func header(name string, rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}

// soa returns the record that bounds how long a negative answer may be cached.
func soa(name string) dns.RR {
	return &dns.SOA{
		Hdr: header(name, dns.TypeSOA, dnsTTL), Ns: "ns.test.", Mbox: "hostmaster.test.",
		Serial: 1, Refresh: 3600, Retry: 600, Expire: 86_400, Minttl: dnsTTL,
	}
}
