package dns

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// stalePatience is the wait if old addresses are cached: RFC 8767, section 5.
	stalePatience = 1800 * time.Millisecond

	// familyPatience is the wait for the other family: some servers never answer for AAAA.
	familyPatience = 2 * time.Second
)

// Resolver resolves hosts. It is safe for concurrent use.
type Resolver struct {
	config Config
	cache  *otter.Cache[string, record]
	// hits and misses count lookups with and without a cached answer.
	hits, misses atomic.Int64
	flights      singleflight.Group
	hosts        *watched[hosts]
	limits       *limits
	trials       trials
	system       func(time.Time) *system

	now func() time.Time

	patience struct{ stale, family time.Duration }
}

// New returns a Resolver, or the faults of the config, or the error of an unreadable file.
func New(config Config) (*Resolver, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	r := &Resolver{config: config, now: time.Now}
	r.patience.stale, r.patience.family = stalePatience, familyPatience
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
	known, _ := r.cache.GetIfPresent(name)
	if now.Before(known.askAt()) {
		r.hits.Add(1)
		return r.conclude(host, known)
	}
	r.misses.Add(1)
	if known, err = r.fly(ctx, name, known, len(known.addresses(now)) > 0); err != nil {
		return nil, &Error{Host: host, Temporary: true, Err: err}
	}
	return r.conclude(host, known)
}

// local resolves without a name server, or returns the name to query.
func (r *Resolver) local(host string) (string, []netip.Addr, error) {
	addr, err := literal(host)
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
	return name, special(name), nil
}

// fly waits for the host's flight, but not long if the known record is usable.
func (r *Resolver) fly(ctx context.Context, name string, known record, usable bool) (record, error) {
	flight := r.flights.DoChan(name, func() (any, error) { return r.resolve(name), nil })
	var enough <-chan time.Time
	if usable {
		timer := time.NewTimer(r.patience.stale)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case result := <-flight:
		known, _ = result.Val.(record)
		return known, nil
	case <-enough:
		return known, nil
	case <-ctx.Done():
		return record{}, ctx.Err()
	}
}

func (r *Resolver) conclude(host string, known record) ([]netip.Addr, error) {
	if addrs := known.addresses(r.now()); len(addrs) > 0 {
		return addrs, nil
	}
	return nil, known.failure(host)
}

// resolve queries the expired families of a host, and caches the answers. No caller cancels it.
func (r *Resolver) resolve(name string) record {
	known, _ := r.cache.GetIfPresent(name) // again: a flight may have landed since
	now := r.now()
	ctx, cancel := context.WithTimeout(context.Background(), r.config.timeout)
	defer cancel()
	var found [len(families)]finding
	var errs [len(families)]error
	var asking sync.WaitGroup
	for i, qtype := range families {
		if now.Before(known[i].askAt) {
			continue
		}
		asking.Go(func() {
			found[i], errs[i] = r.find(ctx, name, qtype)
			if len(found[i].addrs) > 0 {
				time.AfterFunc(r.patience.family, cancel)
			}
		})
	}
	asking.Wait()

	r.learn(name, known, found, errs, now)
	next := known
	for i := range families {
		if !now.Before(known[i].askAt) {
			other := 1 - i
			otherHas := len(found[other].addrs) > 0 || known[other].usable(now)
			next[i] = r.remember(known[i], found[i], errs[i], otherHas)
			if errs[i] != nil {
				next[i].asked = now
			}
		}
	}
	r.cache.Set(name, next)
	return next
}

// learn records whether the name servers work: one family's answer is enough.
func (r *Resolver) learn(name string, known record, found [len(families)]finding, errs [len(families)]error, asked time.Time) {
	failed := 0
	for i, f := range found {
		if len(f.addrs) > 0 {
			r.trials.keep(name, asked.Add(f.ttl))
		}
		switch {
		case asked.Before(known[i].askAt): // this family was not queried
		case errs[i] == nil:
			r.trials.tell(name, nil, false)
			return
		default:
			failed++
		}
	}
	if failed == len(families) {
		r.trials.tell(name, errors.Join(errs[:]...), len(known[0].addrs)+len(known[1].addrs) > 0)
	}
}

// CacheUse counts the lookups with and without a cached answer.
func (r *Resolver) CacheUse() (hits, misses int64) { return r.hits.Load(), r.misses.Load() }
