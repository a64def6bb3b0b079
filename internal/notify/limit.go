package notify

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/mosey-web/mosey/crawl"
)

// What strangers may ask.
const (
	// Of all at once. A body of up to smallMost bytes takes a place among many, so that slow large
	// ones do not keep others out. Together they take no more than 48 MiB.
	smallAtOnce = 256
	smallMost   = 64 << 10
	largeAtOnce = 4
	placeWait   = 2 * time.Second

	peerAtOnce = 4   // of an address
	peerEach   = 1.0 // a second
	peerBurst  = 60
	hourOfURLs = crawl.NoticeURLsMax // of a host and key
	kept       = 10_000
	idle       = 2 * time.Hour // a bucket is full again by then
)

// limits bounds how often an address may ask, and how much may be told with a key. Those who come by a
// proxy on this machine are told apart by what it says of them.
type limits struct {
	small, large chan struct{}
	peers        *otter.Cache[netip.Prefix, *peer]
	// keys are of a host and a key together, so that a stranger uses up nothing of the owner's.
	keys *otter.Cache[string, *rate.Limiter]
}

// close ends what the caches do beside.
func (l *limits) close() {
	l.peers.StopAllGoroutines()
	l.keys.StopAllGoroutines()
}

// peer is what an address may ask.
type peer struct {
	rate   *rate.Limiter
	places chan struct{}
}

func newLimits() (*limits, error) {
	peers, err := otter.New(&otter.Options[netip.Prefix, *peer]{
		MaximumSize: kept, ExpiryCalculator: otter.ExpiryAccessing[netip.Prefix, *peer](idle),
	})
	if err != nil {
		return nil, err
	}
	keys, err := otter.New(&otter.Options[string, *rate.Limiter]{
		MaximumSize: kept, ExpiryCalculator: otter.ExpiryAccessing[string, *rate.Limiter](idle),
	})
	return &limits{make(chan struct{}, smallAtOnce), make(chan struct{}, largeAtOnce), peers, keys}, err
}

// admit takes a place for a request. It returns how to give that back, or how long to wait before
// asking again.
func (l *limits) admit(r *http.Request) (leave func(), wait time.Duration) {
	p := l.peerOf(r)
	if wait := take(p.rate, 1); wait > 0 {
		return nil, wait
	}
	places := l.large
	if 0 <= r.ContentLength && r.ContentLength <= smallMost {
		places = l.small
	}
	timer := time.NewTimer(placeWait)
	defer timer.Stop()
	held := make([]chan struct{}, 0, 2)
	leave = func() {
		for _, h := range held {
			<-h
		}
	}
	for _, c := range []chan struct{}{p.places, places} {
		select {
		case c <- struct{}{}:
			held = append(held, c)
			continue
		case <-timer.C:
		case <-r.Context().Done():
		}
		leave()
		return nil, placeWait
	}
	return leave, 0
}

// peerOf is the one who asks. All whose address is not known are one.
func (l *limits) peerOf(r *http.Request) *peer {
	addr, _ := addressOf(r)
	bits := 32
	if addr.Is6() {
		bits = 64 // what one customer has
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		prefix = netip.Prefix{}
	}
	p, _ := l.peers.ComputeIfAbsent(prefix, func() (*peer, bool) {
		return &peer{rate.NewLimiter(peerEach, peerBurst), make(chan struct{}, peerAtOnce)}, false
	})
	return p
}

// key takes what URLs cost that are told with a key, or returns how long to wait.
func (l *limits) key(n crawl.Notice) time.Duration {
	limiter, _ := l.keys.ComputeIfAbsent(n.Host+" "+n.Key, func() (*rate.Limiter, bool) {
		return rate.NewLimiter(rate.Limit(hourOfURLs/time.Hour.Seconds()), hourOfURLs), false
	})
	return take(limiter, len(n.URLs))
}

// take takes n if they are there, or returns how long until they are.
func take(limiter *rate.Limiter, n int) time.Duration {
	r := limiter.ReserveN(time.Now(), n)
	wait := r.Delay()
	if wait > 0 {
		r.Cancel()
	}
	return wait
}

// addressOf is the address that a request comes from. A proxy on this machine names it last in
// X-Forwarded-For. From others that header says nothing.
func addressOf(r *http.Request) (netip.Addr, bool) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return addr, false
	}
	addr = addr.Unmap().WithZone("")
	if named := r.Header.Values("X-Forwarded-For"); addr.IsLoopback() && len(named) > 0 {
		all := strings.Split(named[len(named)-1], ",")
		if by, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
			return by.Unmap().WithZone(""), true
		}
	}
	return addr, true
}
