package dns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// udpSize is the largest UDP message: it passes any path unfragmented (DNS flag day 2020).
	udpSize = 1232

	// tcpSize bounds the TCP messages: a thousand addresses.
	tcpSize = 16 << 10

	// maxStray bounds the skipped stray UDP messages of a query.
	maxStray = 32
)

// errStray reports a message that does not answer the query: a late or forged one.
var errStray = errors.New("the answer does not match the question")

// find queries one family of a host's addresses. It tries a single label in the domains of the
// search list. It stops at the first domain with the name, so that both families belong to the same
// host.
func (r *Resolver) find(ctx context.Context, name string, qtype uint16) (finding, error) {
	sys := r.system(r.now())
	if !strings.Contains(name, ".") {
		for _, domain := range sys.search {
			full, err := urls.HostName(name + "." + domain)
			if err != nil {
				continue
			}
			found, err := r.walk(ctx, sys, full, qtype)
			if err != nil || !errors.Is(found.denial, errNoName) {
				return found, err
			}
		}
	}
	return r.walk(ctx, sys, name, qtype)
}

// walk queries a name, and its aliases if the server has not followed them.
func (r *Resolver) walk(ctx context.Context, sys *system, name string, qtype uint16) (finding, error) {
	chain := newChain(name)
	for {
		msg, err := r.queryServers(ctx, sys, chain.end(), qtype)
		if err != nil {
			return finding{}, err
		}
		// terminates, because the chain grows each time and its length is bounded
		if found, done := chain.read(msg, qtype); done {
			return found, nil
		}
	}
}

// queryServers returns the first usable answer. It retries silent servers, but not failing ones.
func (r *Resolver) queryServers(ctx context.Context, sys *system, name string, qtype uint16) (*dns.Msg, error) {
	pending := sys.order(r.now())
	var lastErr error
	for range sys.tries {
		var silent []*server
		for _, srv := range pending {
			msg, err := r.queryServer(ctx, sys, srv, name, qtype)
			switch {
			case err == nil:
				srv.silentUntil.Store(0)
				if err = responseError(msg); err == nil {
					return msg, nil
				}
			case ctx.Err() != nil || errors.Is(err, ErrLimited):
				if lastErr != nil { // the reason for another try
					err = fmt.Errorf("%w, after %w", err, lastErr)
				}
				return nil, err
			default:
				srv.markSilent(r.now())
				silent = append(silent, srv)
			}
			lastErr = fmt.Errorf("%s: %w", srv.addr, err)
		}
		pending = silent
	}
	return nil, lastErr
}

// queryServer queries one server, over TCP if its answer is too long for UDP.
func (r *Resolver) queryServer(ctx context.Context, sys *system, srv *server, name string, qtype uint16) (*dns.Msg, error) {
	for _, network := range []string{"udp", "tcp"} {
		if err := r.limits.wait(ctx, name); err != nil {
			return nil, err
		}
		msg, err := exchange(ctx, sys.timeout, network, srv.addr, newQuery(name, qtype))
		if err != nil || !msg.Truncated {
			return msg, err
		}
	}
	return nil, errors.New("the answer is truncated over TCP too")
}

func newQuery(name string, qtype uint16) *dns.Msg {
	return new(dns.Msg).SetQuestion(name, qtype).SetEdns0(udpSize, false)
}

// exchange sends the query to a server, over UDP or TCP, and returns any answer. It leaves half of
// the rest of ctx to other servers. Unless ctx has ended, an error is the server's.
func exchange(ctx context.Context, timeout time.Duration, network, server string, query *dns.Msg) (*dns.Msg, error) {
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, network, server)
	if err != nil {
		return nil, withoutAddrs(err)
	}
	defer raw.Close()
	// the deadline of ctx also reaches the connection this way
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	conn := &dns.Conn{Conn: raw}
	if err := conn.WriteMsg(query); err != nil {
		return nil, withoutAddrs(err)
	}
	size, messages := tcpSize, 1
	if network == "udp" {
		size, messages = udpSize, maxStray
	}
	buffer := make([]byte, size)
	for range messages {
		n, err := conn.Read(buffer)
		if errors.Is(err, io.ErrShortBuffer) {
			return nil, fmt.Errorf("the answer is longer than %d bytes", size)
		}
		if err != nil {
			return nil, withoutAddrs(err)
		}
		msg, err := accept(buffer[:n], query)
		if !errors.Is(err, errStray) {
			return msg, err
		}
	}
	return nil, errStray
}

// withoutAddrs drops the addresses from a network error, because the local port always differs.
func withoutAddrs(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// accept parses a message that answers the query (RFC 5452, section 9.1), or returns errStray.
func accept(message []byte, query *dns.Msg) (*dns.Msg, error) {
	msg := new(dns.Msg)
	// parses header and question even if the rest is broken or truncated
	err := msg.Unpack(message)
	if !msg.Response || msg.Id != query.Id || msg.Opcode != dns.OpcodeQuery || len(msg.Question) != 1 {
		return nil, errStray
	}
	got, want := msg.Question[0], query.Question[0]
	if got.Qtype != want.Qtype || got.Qclass != want.Qclass || !strings.EqualFold(got.Name, want.Name) {
		return nil, errStray
	}
	if err != nil && !msg.Truncated {
		return nil, fmt.Errorf("the answer is malformed: %w", err)
	}
	return msg, nil
}

// responseError returns the reason for an unusable answer, or nil.
func responseError(msg *dns.Msg) error {
	switch {
	case msg.Rcode == dns.RcodeNameError:
		return nil
	case msg.Rcode != dns.RcodeSuccess:
		if text, ok := dns.RcodeToString[msg.Rcode]; ok {
			return errors.New(text)
		}
		return fmt.Errorf("response code %d", msg.Rcode)
	case len(msg.Answer) == 0 && !msg.Authoritative && !msg.RecursionAvailable:
		return errors.New("a referral: the server does not resolve recursively")
	}
	return nil
}
