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
	// maxAddrs bounds what one family of an answer is taken to hold.
	maxAddrs = 16

	// maxAliases is the longest chain of CNAME records that is followed.
	maxAliases = 8

	// maxTTL is the largest TTL there is; one above it is 0: RFC 2181, section 8.
	maxTTL = 1<<31 - 1
)

// Why a host has no addresses.
var (
	errNoName = errors.New("no such name (NXDOMAIN)")
	errNoData = errors.New("no usable A or AAAA record (NODATA)")
	// errNoPointer is why an address has no names.
	errNoPointer = errors.New("no name (PTR record)")
)

// finding is what the name servers say about one family of a host's addresses.
type finding struct {
	// addrs are at most maxAddrs, sorted, each once.
	addrs []netip.Addr

	// denial is why there are no addresses; nil if there are.
	denial error

	// ttl is how long that holds, before it is clamped.
	ttl time.Duration
}

// chain is a host's name followed by its aliases, as far as they are known.
type chain struct {
	names []string // fully qualified
	ttl   uint32   // the shortest on the way
}

func newChain(name string) *chain {
	return &chain{names: []string{dns.Fqdn(name)}, ttl: maxTTL}
}

// end is the name to ask for: the last alias that is known.
func (c *chain) end() string { return c.names[len(c.names)-1] }

// read reads a usable answer about the chain's end. It reports false if the answer leads to an alias
// without its records: the alias is the chain's end then, and is to be queried.
func (c *chain) read(msg *dns.Msg, qtype uint16) (finding, bool) {
	asked := c.end()
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
	if c.end() != asked && !soa {
		return finding{}, false
	}
	return c.deny(errNoData, negativeTTL(msg.Ns)), true
}

// deny finds that there are no addresses, for as long as the aliases hold.
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

// alias gives the first CNAME record of the chain's end; nil if there is none.
func (c *chain) alias(records []dns.RR) *dns.CNAME {
	for _, rr := range records {
		if alias, ok := rr.(*dns.CNAME); ok && c.owns(rr) {
			return alias
		}
	}
	return nil
}

// owns reports whether a record belongs to the chain's end.
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

// addressOf gives the address in a record of the type; invalid if there is none. It ignores an IPv4
// address in an AAAA record, which reaches no web server.
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

// negativeTTL is how long a denial holds: RFC 2308, section 5; 0 without an SOA record.
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
