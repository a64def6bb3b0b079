package dns

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/mosey-web/mosey/crawl/urls"
)

// maxNames bounds the names of an address to read and resolve.
const maxNames = 8

// Name is a name of an address, with the name's own addresses.
type Name struct {
	// Host is in lower case, without its last dot.
	Host string
	// Addrs are the name's addresses, sorted within a family. Err explains missing addresses.
	Addrs []netip.Addr
	Err   error
}

// ResolvesTo reports whether the name has the address, which confirms it: forward-confirmed reverse
// DNS.
func (n Name) ResolvesTo(addr netip.Addr) bool { return slices.Contains(n.Addrs, addr.Unmap()) }

// Reverse queries at most 8 names of an address (PTR records) and their addresses, within 10
// seconds, without the cache and the hosts file. The error is an *Error; ErrNotFound means no name.
func (r *Resolver) Reverse(ctx context.Context, addr netip.Addr) ([]Name, error) {
	addr = addr.Unmap().WithZone("")
	reverseName, err := dns.ReverseAddr(addr.String())
	if err != nil {
		return nil, &Error{Host: addr.String(), Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.timeout)
	defer cancel()
	sys := r.system(r.now())
	hosts, err := r.pointers(ctx, sys, reverseName)
	if err != nil {
		return nil, &Error{Host: addr.String(), Temporary: !errors.Is(err, ErrAliases), Err: err}
	}
	if len(hosts) == 0 {
		return nil, &Error{Host: addr.String(), Err: errNoPointer}
	}
	qtype := dns.TypeA
	if addr.Is6() {
		qtype = dns.TypeAAAA
	}
	names := make([]Name, len(hosts))
	for i, host := range hosts {
		found, err := r.walk(ctx, sys, host, qtype)
		if err == nil {
			err = found.denial
		}
		names[i] = Name{Host: host, Addrs: found.addrs, Err: err}
	}
	return names, nil
}

// pointers returns the targets of a name's PTR records, sorted. It skips invalid host names.
func (r *Resolver) pointers(ctx context.Context, sys *system, name string) ([]string, error) {
	chain := newChain(name)
	for {
		question := chain.end()
		msg, err := r.queryServers(ctx, sys, question, dns.TypePTR)
		if err != nil {
			return nil, err
		}
		// An owner of less than a /24 gets its names by an alias: RFC 2317.
		if err := chain.follow(msg.Answer); err != nil {
			return nil, err
		}
		if hosts := chain.hosts(msg.Answer); len(hosts) > 0 || chain.end() == question || msg.Rcode == dns.RcodeNameError {
			return hosts, nil
		}
		// terminates, because the chain has grown and its length is bounded
	}
}

func (c *chain) hosts(records []dns.RR) (hosts []string) {
	for _, rr := range records {
		pointer, is := rr.(*dns.PTR)
		if !is || !c.owns(rr) {
			continue
		}
		if host, err := urls.HostName(pointer.Ptr); err == nil {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	return hosts[:min(len(hosts), maxNames)]
}
