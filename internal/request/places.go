package request

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mosey-web/mosey/internal/fetch"
)

var (
	// ErrStopping means that this process begins no more requests, and aborts late ones.
	ErrStopping = errors.New("this worker is stopping")
	// ErrNoPlace means that a request has waited too long for a permit.
	ErrNoPlace = errors.New("the limit of concurrent requests is reached")
)

// slowShare is the inverse of the part of the permits that slow hosts may take. So other hosts keep
// the rest, however many hosts hang. Requests for large bodies may take the same part.
const slowShare = 4

// SlowPart returns how many of the permits slow hosts (IsSlow) may take.
func SlowPart(most int) int { return max(most/slowShare, 1) }

// placeSpan limits the wait for a permit, because another worker may have one.
const placeSpan = 2 * time.Minute

// Places limits the concurrent requests of a process, by its own limit and by its share of all
// workers' limit (Allow). A waiting request holds no permit. Places is safe for concurrent use.
type Places struct {
	most int

	mu sync.Mutex
	// share is the number of permits until an instant; the zero time means for ever.
	share int
	until time.Time
	// lapses counts lapses of the share. A lapse voids all permits whose request has not begun.
	lapses  int
	stopped bool

	used, slow int
	// waiting holds the waiters of fast hosts and of slow hosts, in order.
	waiting [2]list.List
	turn    uint64
	// wish is notified when a request has to wait.
	wish chan struct{}
}

// NewPlaces returns most permits.
func NewPlaces(most int) *Places {
	return &Places{most: most, share: most, wish: make(chan struct{}, 1)}
}

type waiter struct {
	turn  uint64
	place *place
	ready chan struct{}
}

type place struct {
	of     *Places
	slow   bool
	lapses int
	given  bool
}

// Allow limits the permits to share until an instant. Taken permits stay taken.
func (p *Places) Allow(share int, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.leased() {
		p.lapses++
	}
	p.share, p.until = share, until
	p.admit()
}

// leased reports whether the share is valid by both clocks. The caller holds the lock.
func (p *Places) leased() bool { return !fetch.Expired(p.until) }

// PlacesUse counts the taken permits, the permits allowed by Allow, and the wanted permits.
type PlacesUse struct{ Taken, Held, Wanted int }

// Use returns the present use of the permits.
func (p *Places) Use() PlacesUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := PlacesUse{Taken: p.used, Held: p.used, Wanted: min(p.used+p.waiting[0].Len()+p.waiting[1].Len(), p.most)}
	if p.leased() && !p.stopped {
		u.Held = max(u.Held, min(p.share, p.most))
	}
	return u
}

// Wishes returns the channel that is notified when a request has to wait for a permit.
func (p *Places) Wishes() <-chan struct{} { return p.wish }

// stop makes present and future waiters fail with ErrStopping.
func (p *Places) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for i := range p.waiting {
		for e := p.waiting[i].Front(); e != nil; e = p.waiting[i].Front() {
			close(p.waiting[i].Remove(e).(*waiter).ready) //nolint:forcetypeassert // nothing else is in it
		}
	}
}

// take waits for a permit. slow marks a known slow host.
func (p *Places) take(ctx context.Context, slow bool) (*place, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	w := &waiter{turn: p.turn, place: &place{of: p, slow: slow}, ready: make(chan struct{})}
	p.turn++
	lane := &p.waiting[laneOf(slow)]
	if p.stopped {
		p.mu.Unlock()
		return nil, ErrStopping
	}
	e := lane.PushBack(w)
	p.admit()
	waits := !w.admitted()
	p.mu.Unlock()
	if !waits {
		return w.place, nil
	}
	select {
	case p.wish <- struct{}{}:
	default:
	}
	timer := time.NewTimer(placeSpan)
	defer timer.Stop()
	err := ErrNoPlace
	select {
	case <-w.ready:
		err = ErrStopping
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place.lapses > 0 { // admit has given it a permit
		return w.place, nil
	}
	if !w.admitted() {
		lane.Remove(e)
	}
	return nil, err
}

func laneOf(slow bool) int {
	if slow {
		return 1
	}
	return 0
}

func (w *waiter) admitted() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// admit gives permits to waiters in order; slow hosts get only a part. The caller holds the lock.
func (p *Places) admit() {
	for most := min(p.share, p.most); !p.stopped && p.leased() && p.used < most; {
		first := p.waiting[0].Front()
		if s := p.waiting[1].Front(); s != nil && p.slow < SlowPart(most) &&
			(first == nil || s.Value.(*waiter).turn < first.Value.(*waiter).turn) { //nolint:forcetypeassert // as above
			first = s
		}
		if first == nil {
			return
		}
		w := first.Value.(*waiter) //nolint:forcetypeassert // as above
		p.waiting[laneOf(w.place.slow)].Remove(first)
		p.used++
		if w.place.slow {
			p.slow++
		}
		w.place.lapses = p.lapses + 1
		close(w.ready)
	}
}

// holds reports whether a request may begin with the permit.
func (pl *place) holds() bool {
	pl.of.mu.Lock()
	defer pl.of.mu.Unlock()
	return !pl.of.stopped && pl.of.leased() && pl.lapses == pl.of.lapses+1
}

func (pl *place) give() {
	p := pl.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl.given {
		return
	}
	pl.given = true
	p.used--
	if pl.slow {
		p.slow--
	}
	p.admit()
}
