package dns

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// maxProbeNames bounds the sample of names for probing the name servers.
const maxProbeNames = 8

// probeSample is a sample of all resolved names, each of another registrable domain, mostly old
// ones.
type probeSample struct {
	notify func(host string, answered, known bool)

	mu             sync.Mutex
	names          map[string]probeName // by registrable domain
	candidateCount int                  // number of candidates
}

// probeName is a name, and the expiry of its cached answers on the way.
type probeName struct {
	name  string
	until time.Time
}

// Watch sets a function to call after each lookup at the name servers. answered includes "no such
// host"; known means that the host was found before. Call Watch before anything else.
func (r *Resolver) Watch(notify func(host string, answered, known bool)) { r.probes.notify = notify }

// AddKnownHosts adds hosts that another process has found.
func (r *Resolver) AddKnownHosts(hosts []string) {
	for _, host := range hosts {
		if name, addrs, err := r.local(host); err == nil && len(addrs) == 0 {
			r.probes.add(name, time.Time{})
		}
	}
}

// report reports the result of a query, unless our own limits stopped it.
func (t *probeSample) report(name string, err error, known bool) {
	if t.notify != nil && !errors.Is(err, ErrLimited) {
		t.notify(name, err == nil, known)
	}
}

// add adds a name to the sample, with the same chance as any earlier name.
func (t *probeSample) add(name string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = make(map[string]probeName)
	}
	owner := registrable(name)
	if _, known := t.names[owner]; !known {
		if t.candidateCount++; t.candidateCount > maxProbeNames && rand.IntN(t.candidateCount) >= maxProbeNames {
			return
		}
		for other := range t.names { // in any order
			if len(t.names) >= maxProbeNames {
				delete(t.names, other)
			}
		}
	}
	t.names[owner] = probeName{name: name, until: until}
}

// due returns the names that no cache on the way can answer any more, or else all names.
func (t *probeSample) due(now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all, due []string
	for _, n := range t.names {
		all = append(all, n.name)
		if now.After(n.until) {
			due = append(due, n.name)
		}
	}
	if len(due) > 0 {
		return due
	}
	return all
}

// Probe queries some known names again, for the function given to Watch.
func (r *Resolver) Probe(ctx context.Context) {
	var queries sync.WaitGroup
	for _, name := range r.probes.due(r.now()) {
		queries.Go(func() {
			startedAt := r.now()
			found, err := r.find(ctx, name, dns.TypeA)
			if len(found.addrs) > 0 {
				r.probes.add(name, startedAt.Add(found.ttl))
			}
			r.probes.report(name, err, true)
		})
	}
	queries.Wait()
}
