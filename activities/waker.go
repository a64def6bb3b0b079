package activities

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// wakeInterval throttles wake-ups of one dispatcher. It polls within a minute if one is lost.
const wakeInterval = time.Second

const wakeTimeout = 30 * time.Second

// waker wakes the dispatchers of runs that have news, one wake-up of each at a time. Temporal
// writes wake-ups to the workflow one after the other, in the queue of its own steps. If Temporal
// is slow and each process sends one a second, they pile up and the dispatcher stalls.
type waker struct {
	starter Starter
	log     *slog.Logger

	mu      sync.Mutex
	runs    map[string]*wakeUps
	stopped bool
	running sync.WaitGroup
}

type wakeUps struct {
	// lastStart is the start of the last wake-up, or of the planned one.
	lastStart time.Time
	// planned is set until the next wake-up begins, inProgress from then until it ends.
	planned, inProgress bool
}

func newWaker(s Starter, log *slog.Logger) *waker {
	return &waker{starter: s, log: log, runs: make(map[string]*wakeUps)}
}

func (w *waker) wake(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.runs[run]
	if u == nil {
		u = &wakeUps{}
		w.runs[run] = u
	}
	if w.stopped || u.planned {
		return // another wake-up will follow
	}
	u.planned = true
	if !u.inProgress {
		w.plan(run, u)
	}
}

// plan schedules the next wake-up. The caller holds the lock.
func (w *waker) plan(run string, u *wakeUps) {
	now := time.Now()
	u.lastStart = u.lastStart.Add(wakeInterval)
	if u.lastStart.Before(now) {
		u.lastStart = now
	}
	w.running.Add(1)
	time.AfterFunc(time.Until(u.lastStart), func() {
		defer w.running.Done()
		w.mu.Lock()
		u.planned, u.inProgress = false, true
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
		defer cancel()
		if err := w.starter.StartCrawl(ctx, run); err != nil {
			w.log.WarnContext(ctx, "could not wake a dispatcher; it polls by itself within a minute", "run", run, "error", err)
		}
		w.end(run, u)
	})
}

// end schedules the wake-up that was requested since, because it may concern later news.
func (w *waker) end(run string, u *wakeUps) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u.inProgress = false
	if u.planned {
		w.plan(run, u)
	}
}

func (w *waker) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.running.Wait()
}
