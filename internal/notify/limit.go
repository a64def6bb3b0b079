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

	hourOfURLs = crawl.NoticeURLsMax // of a host and key
	kept       = 10_000
	idle       = 2 * time.Hour // a bucket is full again by then
)

// share is what one address may ask.
type share struct {
	each   rate.Limit // a second
	burst  int
	atOnce int
}

// The shares of owners, and of hubs, which tell of many feeds.
var (
	ownersShare = share{each: 1, burst: 60, atOnce: 4}
	hubsShare   = share{each: 20, burst: 1200, atOnce: 8}
)

// peers are those who ask, by their addresses.
type peers struct {
	*otter.Cache[netip.Prefix, *peer]

	share share
}

func newPeers(s share) (peers, error) {
	c, err := otter.New(&otter.Options[netip.Prefix, *peer]{
		MaximumSize: kept, ExpiryCalculator: otter.ExpiryAccessing[netip.Prefix, *peer](idle),
	})
	return peers{c, s}, err
}

// limits bounds how often an address may ask, and how much may be told with a key. Those who come by a
// proxy on this machine are told apart by what it says of them.
type limits struct {
	small, large chan struct{}
	owners, hubs peers
	// keys are of a host and a key together, so that a stranger uses up nothing of the owner's.
	keys *otter.Cache[string, *rate.Limiter]
}

// close ends what the caches do beside.
func (l *limits) close() {
	l.owners.StopAllGoroutines()
	l.hubs.StopAllGoroutines()
	l.keys.StopAllGoroutines()
}

// peer is what an address may ask.
type peer struct {
	rate   *rate.Limiter
	places chan struct{}
}

func newLimits() (*limits, error) {
	owners, err := newPeers(ownersShare)
	if err != nil {
		return nil, err
	}
	hubs, err := newPeers(hubsShare)
	if err != nil {
		return nil, err
	}
	keys, err := otter.New(&otter.Options[string, *rate.Limiter]{
		MaximumSize: kept, ExpiryCalculator: otter.ExpiryAccessing[string, *rate.Limiter](idle),
	})
	return &limits{make(chan struct{}, smallAtOnce), make(chan struct{}, largeAtOnce), owners, hubs, keys}, err
}

// admit takes a place for a request. It returns how to give that back, or how long to wait before
// asking again.
func (l *limits) admit(r *http.Request, from peers) (leave func(), wait time.Duration) {
	p := from.peer(r)
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

// peer is the one who asks. All whose address is not known are one.
func (ps peers) peer(r *http.Request) *peer {
	addr, _ := addressOf(r)
	bits := 32
	if addr.Is6() {
		bits = 64 // what one customer has
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		prefix = netip.Prefix{}
	}
	p, _ := ps.ComputeIfAbsent(prefix, func() (*peer, bool) {
		return &peer{rate.NewLimiter(ps.share.each, ps.share.burst), make(chan struct{}, ps.share.atOnce)}, false
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
