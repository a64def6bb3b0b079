package dns

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/miekg/dns"
)

const (
	// cacheBytes limits the memory of the cache to about 40,000 hosts.
	cacheBytes = 16 << 20

	// These clamp the cache times of addresses and denials.
	minCacheTTL, maxCacheTTL   = 5 * time.Minute, time.Hour
	minDenialTTL, maxDenialTTL = time.Minute, 5 * time.Minute

	// maxStaleAge bounds the use of expired addresses while no name server gives a usable answer.
	// staleRetryInterval is the pause between queries meanwhile: RFC 8767, section 5.
	maxStaleAge        = 24 * time.Hour
	staleRetryInterval = 30 * time.Second

	// failureTTL is the cache time of a failure without old addresses. It is the minimum of RFC
	// 9520, section 3.2, so that a page does not waste its tries on a cached failure.
	failureTTL = time.Second
)

// families are the types of address records, in the order of a record.
//
//nolint:gochecknoglobals // a constant, but for its type
var families = [...]uint16{dns.TypeA, dns.TypeAAAA}

// answer is the cached answer for one family: addresses, a denial, or a failure.
type answer struct {
	addrs []netip.Addr

	// err is the reason for missing or stale addresses.
	err error

	// temporary is set for a failure or stale addresses, and unset for a denial.
	temporary bool

	// queriedAt is the start of a failure's queries, nextQueryAt the time of the next queries, and
	// usableUntil the end of the use of stale addresses.
	queriedAt, nextQueryAt, usableUntil time.Time
}

func (a answer) usable(now time.Time) bool { return len(a.addrs) > 0 && now.Before(a.usableUntil) }

// record holds the answers for a host, by family. It is immutable in the cache.
type record [len(families)]answer

// nextQueryAt returns the earliest time at which a family must be queried again.
func (r record) nextQueryAt() time.Time {
	if r[0].nextQueryAt.Before(r[1].nextQueryAt) {
		return r[0].nextQueryAt
	}
	return r[1].nextQueryAt
}

func (r record) addresses(now time.Time) []netip.Addr {
	var usable [len(families)][]netip.Addr
	for i, a := range r {
		if a.usable(now) {
			usable[i] = a.addrs
		}
	}
	return interleave(usable)
}

// failure returns the reason for missing addresses. A host is gone only if both families deny it.
func (r record) failure(host string) *Error {
	for _, a := range r {
		if a.temporary || len(a.addrs) > 0 {
			return &Error{Host: host, Temporary: true, Err: a.err, QueriedAt: a.queriedAt}
		}
	}
	return &Error{Host: host, Err: r[0].err}
}

// interleave takes one address of each family in turn: RFC 8305, section 4.
func interleave(all [len(families)][]netip.Addr) []netip.Addr {
	list := make([]netip.Addr, 0, len(all[0])+len(all[1]))
	for i := range max(len(all[0]), len(all[1])) {
		for _, addrs := range all {
			if i < len(addrs) {
				list = append(list, addrs[i])
			}
		}
	}
	return list
}

// The approximate memory of a cached host, in bytes.
const (
	recordBytes  = 320
	addressBytes = 24
)

func newCache(size uint64) (*otter.Cache[string, *record], error) {
	cache, err := otter.New(&otter.Options[string, *record]{
		MaximumWeight: size,
		Weigher: func(name string, r *record) uint32 {
			addrs := len(r[0].addrs) + len(r[1].addrs)
			return uint32(recordBytes + len(name) + addrs*addressBytes) //nolint:gosec // a few KB at most
		},
	})
	if err != nil {
		return nil, fmt.Errorf("dns: make the cache: %w", err)
	}
	return cache, nil
}

// updateAnswer converts a finding to a cached answer. hasOtherFamily, set if the host has addresses
// of the other family, makes queries rare.
func (r *Resolver) updateAnswer(old answer, found finding, err error, hasOtherFamily bool) answer {
	now := r.now()
	switch {
	case err == nil && found.denial == nil:
		nextQueryAt := now.Add(min(max(found.ttl, minCacheTTL), maxCacheTTL))
		return answer{addrs: found.addrs, nextQueryAt: nextQueryAt, usableUntil: nextQueryAt.Add(maxStaleAge)}
	case err == nil && hasOtherFamily:
		return answer{err: found.denial, nextQueryAt: now.Add(maxDenialTTL)}
	case err == nil:
		return answer{err: found.denial, nextQueryAt: now.Add(min(max(found.ttl, minDenialTTL), maxDenialTTL))}
	case old.usable(now):
		pause := min(staleRetryInterval, old.usableUntil.Sub(now))
		return answer{addrs: old.addrs, err: err, temporary: true, nextQueryAt: now.Add(pause), usableUntil: old.usableUntil}
	case hasOtherFamily:
		return answer{err: err, temporary: true, nextQueryAt: now.Add(maxDenialTTL)}
	default:
		return answer{err: err, temporary: true, nextQueryAt: now.Add(failureTTL)}
	}
}
