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
	// ErrNoPermit means that a request has waited too long for a permit.
	ErrNoPermit = errors.New("the limit of concurrent requests is reached")
)

// slowShare is the inverse of the part of the permits that slow hosts may take. So other hosts keep
// the rest, however many hosts hang. Requests for large bodies may take the same part.
const slowShare = 4

// SlowLimit returns how many of the permits slow hosts (IsSlow) may take.
func SlowLimit(limit int) int { return max(limit/slowShare, 1) }

// permitTimeout limits the wait for a permit, because another worker may have one.
const permitTimeout = 2 * time.Minute

// Permits limits the concurrent requests of a process, by its own limit and by its share of all
// workers' limit (Allow). A waiting request holds no permit. Permits is safe for concurrent use.
type Permits struct {
	limit int

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
	// waitSignal is notified when a request has to wait.
	waitSignal chan struct{}
}

// NewPermits returns limit permits.
func NewPermits(limit int) *Permits {
	return &Permits{limit: limit, share: limit, waitSignal: make(chan struct{}, 1)}
}

type waiter struct {
	turn   uint64
	permit *permit
	ready  chan struct{}
}

type permit struct {
	permits  *Permits
	slow     bool
	lapses   int
	released bool
}

// Allow limits the permits to share until an instant. Taken permits stay taken.
func (p *Permits) Allow(share int, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isShareValid() {
		p.lapses++
	}
	p.share, p.until = share, until
	p.admit()
}

// isShareValid reports whether the share is valid by both clocks. The caller holds the lock.
func (p *Permits) isShareValid() bool { return !fetch.Expired(p.until) }

// PermitsUse counts the taken permits, the permits allowed by Allow, and the wanted permits.
type PermitsUse struct{ Taken, Allowed, Wanted int }

// Use returns the present use of the permits.
func (p *Permits) Use() PermitsUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := PermitsUse{Taken: p.used, Allowed: p.used, Wanted: min(p.used+p.waiting[0].Len()+p.waiting[1].Len(), p.limit)}
	if p.isShareValid() && !p.stopped {
		u.Allowed = max(u.Allowed, min(p.share, p.limit))
	}
	return u
}

// WaitSignal returns the channel that is notified when a request has to wait for a permit.
func (p *Permits) WaitSignal() <-chan struct{} { return p.waitSignal }

// stop makes present and future waiters fail with ErrStopping.
func (p *Permits) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for i := range p.waiting {
		for e := p.waiting[i].Front(); e != nil; e = p.waiting[i].Front() {
			close(p.waiting[i].Remove(e).(*waiter).ready) //nolint:forcetypeassert // nothing else is in it
		}
	}
}

// acquire waits for a permit. slow marks a known slow host.
func (p *Permits) acquire(ctx context.Context, slow bool) (*permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	w := &waiter{turn: p.turn, permit: &permit{permits: p, slow: slow}, ready: make(chan struct{})}
	p.turn++
	lane := &p.waiting[laneOf(slow)]
	if p.stopped {
		p.mu.Unlock()
		return nil, ErrStopping
	}
	e := lane.PushBack(w)
	p.admit()
	mustWait := w.permit.lapses == 0
	p.mu.Unlock()
	if !mustWait {
		return w.permit, nil
	}
	select {
	case p.waitSignal <- struct{}{}:
	default:
	}
	timer := time.NewTimer(permitTimeout)
	defer timer.Stop()
	err := ErrNoPermit
	select {
	case <-w.ready:
		err = ErrStopping
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.permit.lapses > 0 { // admit has given it a permit
		return w.permit, nil
	}
	lane.Remove(e) // unless stop did
	return nil, err
}

func laneOf(slow bool) int {
	if slow {
		return 1
	}
	return 0
}

// admit gives permits to waiters in order; slow hosts get only a part. The caller holds the lock.
func (p *Permits) admit() {
	for limit := min(p.share, p.limit); !p.stopped && p.isShareValid() && p.used < limit; {
		first := p.waiting[0].Front()
		if s := p.waiting[1].Front(); s != nil && p.slow < SlowLimit(limit) &&
			(first == nil || s.Value.(*waiter).turn < first.Value.(*waiter).turn) { //nolint:forcetypeassert // as above
			first = s
		}
		if first == nil {
			return
		}
		w := first.Value.(*waiter) //nolint:forcetypeassert // as above
		p.waiting[laneOf(w.permit.slow)].Remove(first)
		p.used++
		if w.permit.slow {
			p.slow++
		}
		w.permit.lapses = p.lapses + 1
		close(w.ready)
	}
}

// isValid reports whether a request may begin with the permit.
func (pl *permit) isValid() bool {
	pl.permits.mu.Lock()
	defer pl.permits.mu.Unlock()
	return !pl.permits.stopped && pl.permits.isShareValid() && pl.lapses == pl.permits.lapses+1
}

func (pl *permit) release() {
	p := pl.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl.released {
		return
	}
	pl.released = true
	p.used--
	if pl.slow {
		p.slow--
	}
	p.admit()
}
