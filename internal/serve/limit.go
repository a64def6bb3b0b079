package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

// What the public may ask of a search that is open to it.
const (
	searchesAtOnce = 4 // of all
	searchWait     = 2 * time.Second
	searchesEach   = 2  // a second, of an address
	searchesBurst  = 20 // of an address
	addressesKept  = 10_000
	addressIdle    = time.Minute
)

// limits bounds what strangers may ask. Those who come by a proxy of this machine share its
// address: it is for the proxy to bound each of them.
type limits struct {
	atOnce  chan struct{}
	clients *otter.Cache[netip.Prefix, *rate.Limiter]
}

func newLimits() (*limits, error) {
	clients, err := otter.New(&otter.Options[netip.Prefix, *rate.Limiter]{
		MaximumSize: addressesKept, ExpiryCalculator: otter.ExpiryAccessing[netip.Prefix, *rate.Limiter](addressIdle),
	})
	return &limits{make(chan struct{}, searchesAtOnce), clients}, err
}

// limited answers as next does, as often as it may be asked.
func (l *limits) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/static/") {
			next.ServeHTTP(w, r) // which every page has
			return
		}
		if !l.may(r.RemoteAddr) {
			w.Header().Set("Retry-After", "10")
			http.Error(w, "you have asked too often: wait ten seconds", http.StatusTooManyRequests)
			return
		}
		timer := time.NewTimer(searchWait)
		defer timer.Stop()
		select {
		case l.atOnce <- struct{}{}:
			defer func() { <-l.atOnce }()
			next.ServeHTTP(w, r)
		case <-timer.C:
			w.Header().Set("Retry-After", "10")
			http.Error(w, "too many ask at once: wait ten seconds", http.StatusServiceUnavailable)
		case <-r.Context().Done():
		}
	})
}

// may reports whether an address may ask once more.
func (l *limits) may(remote string) bool {
	host, _, _ := net.SplitHostPort(remote)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.IsLoopback() {
		return true
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64 // what one customer has
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return true
	}
	limiter, _ := l.clients.ComputeIfAbsent(prefix, func() (*rate.Limiter, bool) {
		return rate.NewLimiter(searchesEach, searchesBurst), false
	})
	return limiter.Allow()
}
