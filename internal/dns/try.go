package dns

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// triedMost bounds the sample of names for probing the name servers.
const triedMost = 8

// trials is a sample of all resolved names, each of another registrable domain, mostly old ones.
type trials struct {
	heard func(host string, answered, known bool)

	mu    sync.Mutex
	names map[string]trial // by registrable domain
	seen  int              // number of candidates
}

// trial is a name, and the expiry of its cached answers on the way.
type trial struct {
	name  string
	until time.Time
}

// Watch sets a function to call after each lookup at the name servers. answered includes "no such
// host"; known means that the host was found before. Call Watch before anything else.
func (r *Resolver) Watch(heard func(host string, answered, known bool)) { r.trials.heard = heard }

// Know adds hosts that another process has found.
func (r *Resolver) Know(hosts []string) {
	for _, host := range hosts {
		if name, addrs, err := r.local(host); err == nil && len(addrs) == 0 {
			r.trials.keep(name, time.Time{})
		}
	}
}

// tell reports the result of a query, unless our own limits stopped it.
func (t *trials) tell(name string, err error, known bool) {
	if t.heard != nil && !errors.Is(err, ErrLimited) {
		t.heard(name, err == nil, known)
	}
}

// keep adds a name to the sample, with the same chance as any earlier name.
func (t *trials) keep(name string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = make(map[string]trial)
	}
	owner := registrable(name)
	if _, known := t.names[owner]; !known {
		if t.seen++; t.seen > triedMost && rand.IntN(t.seen) >= triedMost {
			return
		}
		for other := range t.names { // in any order
			if len(t.names) >= triedMost {
				delete(t.names, other)
			}
		}
	}
	t.names[owner] = trial{name: name, until: until}
}

// due returns the names that no cache on the way can answer any more, or else all names.
func (t *trials) due(now time.Time) []string {
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

// Try queries some known names again, for the function given to Watch.
func (r *Resolver) Try(ctx context.Context) {
	var trying sync.WaitGroup
	for _, name := range r.trials.due(r.now()) {
		trying.Go(func() {
			asked := r.now()
			found, err := r.find(ctx, name, dns.TypeA)
			if len(found.addrs) > 0 {
				r.trials.keep(name, asked.Add(found.ttl))
			}
			r.trials.tell(name, err, true)
		})
	}
	trying.Wait()
}
