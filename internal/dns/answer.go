package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxAddrs bounds the addresses of one family in an answer.
	maxAddrs = 16

	// maxAliases bounds a chain of CNAME records.
	maxAliases = 8

	// maxTTL is the largest valid TTL. A larger one counts as 0: RFC 2181, section 8.
	maxTTL = 1<<31 - 1
)

// Reasons for a host without addresses.
var (
	errNoName = errors.New("no such name (NXDOMAIN)")
	errNoData = errors.New("no usable A or AAAA record (NODATA)")
	// errNoPointer is the reason for an address without names.
	errNoPointer = errors.New("no name (PTR record)")
)

// finding is an answer of the name servers about one family of a host's addresses.
type finding struct {
	// addrs holds at most maxAddrs distinct addresses, sorted.
	addrs []netip.Addr

	// denial is the reason for missing addresses, or nil.
	denial error

	// ttl is the lifetime before it is clamped.
	ttl time.Duration
}

type chain struct {
	names []string // fully qualified
	ttl   uint32   // the shortest TTL on the way
}

func newChain(name string) *chain {
	return &chain{names: []string{dns.Fqdn(name)}, ttl: maxTTL}
}

// end returns the name to query: the last known alias.
func (c *chain) end() string { return c.names[len(c.names)-1] }

// read reads a usable answer about the chain's end. It reports false if the chain has a new end, an
// alias without records, that must be queried.
func (c *chain) read(msg *dns.Msg, qtype uint16) (finding, bool) {
	name := c.end()
	if err := c.follow(msg.Answer); err != nil {
		return c.deny(err, c.ttl), true
	}
	if msg.Rcode == dns.RcodeNameError {
		return c.deny(errNoName, negativeTTL(msg.Ns)), true
	}
	if addrs := c.addresses(msg.Answer, qtype); len(addrs) > 0 {
		return finding{addrs: addrs, ttl: seconds(c.ttl)}, true
	}
	soa := slices.ContainsFunc(msg.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
	if c.end() != name && !soa {
		return finding{}, false
	}
	return c.deny(errNoData, negativeTTL(msg.Ns)), true
}

// deny returns a denial that expires with the aliases.
func (c *chain) deny(reason error, ttl uint32) finding {
	return finding{denial: reason, ttl: seconds(min(c.ttl, ttl))}
}

func (c *chain) follow(records []dns.RR) error {
	for {
		alias := c.alias(records)
		if alias == nil {
			return nil
		}
		target := strings.ToLower(alias.Target)
		if len(c.names) > maxAliases || slices.Contains(c.names, target) {
			return fmt.Errorf("%w: %.*q", ErrAliases, maxName, c.end())
		}
		c.names = append(c.names, target)
		c.ttl = min(c.ttl, ttlOf(alias))
	}
}

func (c *chain) alias(records []dns.RR) *dns.CNAME {
	for _, rr := range records {
		if alias, ok := rr.(*dns.CNAME); ok && c.owns(rr) {
			return alias
		}
	}
	return nil
}

func (c *chain) owns(rr dns.RR) bool {
	h := rr.Header()
	return h.Class == dns.ClassINET && strings.EqualFold(h.Name, c.end())
}

func (c *chain) addresses(records []dns.RR, qtype uint16) []netip.Addr {
	var list []netip.Addr
	for _, rr := range records {
		addr := addressOf(rr, qtype)
		if addr.IsValid() && c.owns(rr) {
			list = append(list, addr)
			c.ttl = min(c.ttl, ttlOf(rr))
		}
	}
	slices.SortFunc(list, netip.Addr.Compare) // name servers shuffle them
	list = slices.Compact(list)
	return slices.Clone(list[:min(len(list), maxAddrs)])
}

// addressOf returns the address in a record, or an invalid one. It ignores an IPv4 address in AAAA.
func addressOf(rr dns.RR, qtype uint16) netip.Addr {
	var bytes []byte
	switch rr := rr.(type) {
	case *dns.A:
		if qtype == dns.TypeA {
			bytes = rr.A.To4()
		}
	case *dns.AAAA:
		if qtype == dns.TypeAAAA {
			bytes = rr.AAAA
		}
	}
	addr, ok := netip.AddrFromSlice(bytes)
	if !ok || addr.Is4In6() {
		return netip.Addr{}
	}
	return addr
}

// negativeTTL returns the TTL of a denial: RFC 2308, section 5. It is 0 without an SOA record.
func negativeTTL(authority []dns.RR) uint32 {
	for _, rr := range authority {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(ttlOf(soa), soa.Minttl)
		}
	}
	return 0
}

func ttlOf(rr dns.RR) uint32 {
	if ttl := rr.Header().Ttl; ttl <= maxTTL {
		return ttl
	}
	return 0
}

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }
