package dns

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// staleTimeout is the wait if old addresses are cached: RFC 8767, section 5.
	staleTimeout = 1800 * time.Millisecond

	// familyTimeout is the wait for the other family: some servers never answer for AAAA.
	familyTimeout = 2 * time.Second
)

// Resolver resolves hosts. It is safe for concurrent use.
type Resolver struct {
	config Config
	// cache holds pointers: caches of pointers share their code, and another would link 300 KB.
	cache *otter.Cache[string, *record]
	// hits and misses count lookups with and without a cached answer.
	hits, misses atomic.Int64
	flights      singleflight.Group
	hosts        *watchedFile[hosts]
	limits       *limits
	probes       probeSample
	system       func(time.Time) *system

	now func() time.Time

	timeouts struct{ stale, family time.Duration }
}

// New returns a Resolver, or the faults of the config, or the error of an unreadable file.
func New(config Config) (*Resolver, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	r := &Resolver{config: config, now: time.Now}
	r.timeouts.stale, r.timeouts.family = staleTimeout, familyTimeout
	var err error
	if r.cache, err = newCache(cacheBytes); err != nil {
		return nil, err
	}
	if r.limits, err = newLimits(config.rate, config.domainRate); err != nil {
		return nil, err
	}
	if r.hosts, err = watch(config.hostsFile, r.now(), parseHosts); err != nil {
		return nil, err
	}
	if r.system, err = config.watchSystem(r.now()); err != nil {
		return nil, err
	}
	return r, nil
}

// Lookup returns the host's addresses: 1 to 32, the families interleaved. Try them in this order.
// An IP literal, with optional brackets, is its own address. The system's search list applies to
// single labels only. Lookup ignores a failure of one family, because some name servers only answer
// for A. After the end of ctx its queries continue for other callers and for the cache.
//
// The error is an *Error.
func (r *Resolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	name, addrs, err := r.local(host)
	if err != nil || len(addrs) > 0 {
		return addrs, err
	}
	now := r.now()
	cached := r.cached(name)
	if now.Before(cached.nextQueryAt()) {
		r.hits.Add(1)
		return r.addrsOrError(host, cached)
	}
	r.misses.Add(1)
	if cached, err = r.awaitFlight(ctx, name, cached, len(cached.addresses(now)) > 0); err != nil {
		return nil, &Error{Host: host, Temporary: true, Err: err}
	}
	return r.addrsOrError(host, cached)
}

// local resolves without a name server, or returns the name to query.
func (r *Resolver) local(host string) (string, []netip.Addr, error) {
	addr, err := parseLiteral(host)
	if err != nil {
		return "", nil, &Error{Host: host, Err: err}
	}
	if addr.IsValid() {
		return "", []netip.Addr{addr}, nil
	}
	name, err := urls.HostName(host)
	if err != nil {
		return "", nil, &Error{Host: host, Err: err}
	}
	if entry, ok := r.hosts.get(r.now())[name]; ok {
		return name, interleave(entry), nil
	}
	if top := name[strings.LastIndexByte(name, '.')+1:]; top == "localhost" { // must not be queried: RFC 6761, section 6.3
		return name, []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	return name, nil, nil
}

// cached returns the host's cached record, or one that is due for both families.
func (r *Resolver) cached(name string) record {
	if cached, ok := r.cache.GetIfPresent(name); ok {
		return *cached
	}
	return record{}
}

// awaitFlight waits for the host's flight, but not long if the cached record is usable.
func (r *Resolver) awaitFlight(ctx context.Context, name string, cached record, usable bool) (record, error) {
	flight := r.flights.DoChan(name, func() (any, error) { return r.resolve(name), nil })
	var timeout <-chan time.Time
	if usable {
		timer := time.NewTimer(r.timeouts.stale)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case result := <-flight:
		cached, _ = result.Val.(record)
		return cached, nil
	case <-timeout:
		return cached, nil
	case <-ctx.Done():
		return record{}, ctx.Err()
	}
}

func (r *Resolver) addrsOrError(host string, cached record) ([]netip.Addr, error) {
	if addrs := cached.addresses(r.now()); len(addrs) > 0 {
		return addrs, nil
	}
	return nil, cached.failure(host)
}

// resolve queries the expired families of a host, and caches the answers. No caller cancels it.
func (r *Resolver) resolve(name string) record {
	cached := r.cached(name) // again: a flight may have landed since
	now := r.now()
	ctx, cancel := context.WithTimeout(context.Background(), r.config.timeout)
	defer cancel()
	var found [len(families)]finding
	var errs [len(families)]error
	var queries sync.WaitGroup
	for i, qtype := range families {
		if now.Before(cached[i].nextQueryAt) {
			continue
		}
		queries.Go(func() {
			found[i], errs[i] = r.find(ctx, name, qtype)
			if len(found[i].addrs) > 0 {
				time.AfterFunc(r.timeouts.family, cancel)
			}
		})
	}
	queries.Wait()

	r.reportResults(name, cached, found, errs, now)
	next := cached
	for i := range families {
		if !now.Before(cached[i].nextQueryAt) {
			other := 1 - i
			hasOtherFamily := len(found[other].addrs) > 0 || cached[other].usable(now)
			next[i] = r.updateAnswer(cached[i], found[i], errs[i], hasOtherFamily)
			if errs[i] != nil {
				next[i].queriedAt = now
			}
		}
	}
	r.cache.Set(name, &next)
	return next
}

// reportResults records whether the name servers work: one family's answer is enough.
func (r *Resolver) reportResults(name string, cached record, found [len(families)]finding, errs [len(families)]error, startedAt time.Time) {
	failed := 0
	for i, f := range found {
		if len(f.addrs) > 0 {
			r.probes.add(name, startedAt.Add(f.ttl))
		}
		switch {
		case startedAt.Before(cached[i].nextQueryAt): // this family was not queried
		case errs[i] == nil:
			r.probes.report(name, nil, false)
			return
		default:
			failed++
		}
	}
	if failed == len(families) {
		r.probes.report(name, errors.Join(errs[:]...), len(cached[0].addrs)+len(cached[1].addrs) > 0)
	}
}

// CacheUse counts the lookups with and without a cached answer.
func (r *Resolver) CacheUse() (hits, misses int64) { return r.hits.Load(), r.misses.Load() }
