package dns

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// heard records a resolver's reports about its name servers.
type heard struct {
	mu   sync.Mutex
	last map[string]bool
}

func (h *heard) hear(host string, answered, _ bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[host] = answered
}

func (h *heard) take() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.last
	h.last = map[string]bool{}
	return last
}

func hearing(r *Resolver) *heard {
	h := &heard{last: map[string]bool{}}
	r.Watch(h.hear)
	return h
}

func TestTry(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]behaviour{
		"a.test.": gives("a.test. 60 IN A 192.0.2.1"), "b.test.": gives("b.test. 600 IN A 192.0.2.2"),
		"c.test.": fails(dns.RcodeServerFailure),
	})
	r, now := newResolver(t, Config{Servers: []string{s.addr}})
	h := hearing(r)
	ask := func(host string) error {
		_, err := r.Lookup(t.Context(), host)
		return err
	}
	require.NoError(t, ask("A.test."))
	require.NoError(t, ask("b.test"))
	require.ErrorIs(t, ask("c.test"), ErrTemporary)
	require.ErrorIs(t, ask("d.test"), ErrNotFound)
	require.Equal(t, map[string]bool{"a.test": true, "b.test": true, "c.test": false, "d.test": true}, h.take())
	require.NoError(t, ask("a.test"))
	require.Empty(t, h.take(), "a cached answer says nothing about the servers")

	r.Probe(t.Context())
	require.Equal(t, map[string]bool{"a.test": true, "b.test": true}, h.take(), "what was found, cached or not")
	r.AddKnownHosts([]string{"E.test", "192.0.2.7"})
	r.Probe(t.Context())
	require.Equal(t, map[string]bool{"e.test": true}, h.take(), "which was found before that")
	now.advance(2 * time.Minute)
	s.set("a.test.", fails(dns.RcodeServerFailure))
	r.Probe(t.Context())
	require.Equal(t, map[string]bool{"a.test": false, "e.test": true}, h.take(), "a cache on the way might answer for the other")
}

func TestTriesAreFewAndOfManyOwners(t *testing.T) {
	t.Parallel()
	var tried probeSample
	old := 0
	for i := range 1000 {
		tried.add(fmt.Sprintf("a.site%d.test", i), time.Time{})
		tried.add(fmt.Sprintf("b.site%d.test", i), time.Time{})
	}
	names := tried.due(time.Now())
	require.Len(t, names, maxProbeNames)
	for _, name := range names {
		var i int
		_, err := fmt.Sscanf(name, "b.site%d.test", &i)
		if err == nil && i < 900 {
			old++
		}
	}
	require.Positive(t, old, "not only the last: %v", names)
}

// One family that is never answered for says nothing about the servers.
func TestOneFamilyIsEnough(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]behaviour{
		"a.test. A": gives("a.test. 3600 IN A 192.0.2.1"), "a.test. AAAA": fails(dns.RcodeServerFailure),
	})
	r, now := newResolver(t, Config{Servers: []string{s.addr}})
	h := hearing(r)
	for range 3 {
		addrs, err := r.Lookup(t.Context(), "a.test")
		require.NoError(t, err)
		require.Equal(t, net.IPv4(192, 0, 2, 1).String(), addrs[0].String())
		for host, answered := range h.take() {
			require.True(t, answered, host)
		}
		now.advance(10 * time.Minute)
	}
}
