package activities

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// wakeEvery is how often a process wakes the same dispatcher at the most. A wake-up
// that is lost with the process costs a minute: then the dispatcher looks by itself.
const wakeEvery = time.Second

// wakeTimeout bounds one wake-up.
const wakeTimeout = 30 * time.Second

// waker wakes the dispatchers of runs that have something new to look at.
type waker struct {
	starter Starter
	log     *slog.Logger

	mu sync.Mutex
	// last is when a run's dispatcher was woken last, or is to be.
	last    map[string]time.Time
	stopped bool
	running sync.WaitGroup
}

func newWaker(s Starter, log *slog.Logger) *waker {
	return &waker{starter: s, log: log, last: make(map[string]time.Time)}
}

// wake wakes the dispatcher of a run, at once or as soon as it may.
func (w *waker) wake(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.stopped || w.last[run].After(now) {
		return // another wake-up is to come
	}
	at := w.last[run].Add(wakeEvery)
	if at.Before(now) {
		at = now
	}
	w.last[run] = at
	w.running.Add(1)
	time.AfterFunc(time.Until(at), func() {
		defer w.running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), wakeTimeout)
		defer cancel()
		if err := w.starter.StartCrawl(ctx, run); err != nil {
			w.log.WarnContext(ctx, "could not wake a dispatcher; it looks by itself within a minute", "run", run, "error", err)
		}
	})
}

// stop waits for wake-ups that are under way, and begins no more.
func (w *waker) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.running.Wait()
}
