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
	// ErrStopping says that this process begins no more requests, and breaks off late ones.
	ErrStopping = errors.New("this worker stops")
	// ErrNoPlace says that a request has waited for long for a place among those in flight.
	ErrNoPlace = errors.New("as many requests are in flight as may be")
)

// slowShare is the part of the places, one in so many, that slow hosts may take: the others keep
// the rest, however many hosts hang. Requests for large bodies may take as many.
const slowShare = 4

// SlowPart is how many of so many places slow hosts may take (IsSlow).
func SlowPart(most int) int { return max(most/slowShare, 1) }

// placeSpan limits the wait for a place. Another worker may have one.
const placeSpan = 2 * time.Minute

// Places bound the requests in flight of a process, by its own number and by its share of those of
// all workers (Allow). A waiting request holds nothing. Places are safe for concurrent use.
type Places struct {
	most int

	mu sync.Mutex
	// share is how many may be taken until an instant; without one it is for ever.
	share int
	until time.Time
	// lapses counts lapses of the share. Places from before one are void unless their request began.
	lapses  int
	stopped bool

	used, slow int
	// waiting are those who wait, of fast hosts and of slow ones, the first first.
	waiting [2]list.List
	turn    uint64
	// wish is told when somebody has to wait.
	wish chan struct{}
}

// NewPlaces makes so many places.
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

// Allow has at most share places taken until an instant. Those that are taken stay so.
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

// PlacesUse counts the taken places, those that may be taken until Allow, and the wanted ones.
type PlacesUse struct{ Taken, Held, Wanted int }

// Use tells how the places are used.
func (p *Places) Use() PlacesUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := PlacesUse{Taken: p.used, Held: p.used, Wanted: min(p.used+p.waiting[0].Len()+p.waiting[1].Len(), p.most)}
	if p.leased() && !p.stopped {
		u.Held = max(u.Held, min(p.share, p.most))
	}
	return u
}

// Wishes is told when somebody has to wait for a place.
func (p *Places) Wishes() <-chan struct{} { return p.wish }

// stop has those who wait, and all who come, be refused with ErrStopping.
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

// take waits for a place. slow says that the host is known to be slow.
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
	if w.place.lapses > 0 { // admit has given it a place
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

// admitted reports whether the wait is over.
func (w *waiter) admitted() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// admit gives places to waiters in order; slow hosts get only a part. The caller holds the lock.
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

// holds reports whether a request may begin in the place.
func (pl *place) holds() bool {
	pl.of.mu.Lock()
	defer pl.of.mu.Unlock()
	return !pl.of.stopped && pl.of.leased() && pl.lapses == pl.of.lapses+1
}

// give gives the place back, once.
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
