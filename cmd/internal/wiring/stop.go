package wiring

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl"
)

const (
	// recordSpan is how long what was broken off, and what has ended last, has to be recorded.
	recordSpan = 3 * time.Second
	// pollsEnd is how long the polls of a worker that stops take to end.
	pollsEnd = 200 * time.Millisecond
	// endSpan is how long all that follows may take.
	endSpan = 2 * time.Second
)

// StopSpan is the longest that a worker takes to stop: whatever is away, it ends then.
func (f FetchFlags) StopSpan() time.Duration { return f.Drain + recordSpan + endSpan }

// Drain begins no more requests. Requests in flight may end until FetchFlags.Drain, and are then broken
// off and recorded. Another call changes nothing.
func (w *Worker) Drain() { activities.Drain(w.acts, w.drain) }

// Stop drains, ends serving and hands waiting domains over to other workers, or keeps them (see KeepIn). It
// returns after StopSpan at the latest.
func (w *Worker) Stop() {
	w.Drain()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.stopLooking()
		if w.kept != "" {
			w.stopServing()
			w.keep()
		} else {
			handedOver := background(func(context.Context) {
				time.Sleep(pollsEnd)
				activities.HandOver(w.acts)
			})
			w.stopServing()
			handedOver()
		}
		w.leaveFleet()
		w.fleet.leave()
		activities.Wait(w.acts)
		w.stopKeywords() // after the last page was recorded
		w.stopJournal()
	}()
	select {
	case <-done:
	case <-time.After(w.drain + recordSpan + endSpan):
		w.logger.Warn("this worker has not stopped in time, and ends with what it has not recorded; other workers take that over")
	}
}

// EndBy ends the process some time after a context has ended, unless stop is called before: what
// is left then waits for something that is away.
func EndBy(ctx context.Context, span time.Duration, end func()) (stop func()) {
	finished := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(span):
			end()
		case <-finished:
		}
	})
	return func() {
		unwatch()
		close(finished)
	}
}

// pause waits for a time, and returns false if the context ends before.
func pause(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

// background runs functions until stop is called, which waits for them.
func background(runs ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range runs {
		running.Go(func() { run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

const schemaEvery = 15 * time.Second

// watchSchema stops taking work, and reports to Behind, once a migration has removed what this
// program needs. Requests in flight are finished first.
func (w *Worker) watchSchema(ctx context.Context) {
	for pause(ctx, schemaEvery) {
		err := CheckSchema(ctx, w.reconciler.store)
		if !errors.Is(err, crawl.ErrInvalid) {
			continue // others tell of a database that is away
		}
		w.logger.ErrorContext(ctx, "the database has left this worker behind: it stops taking work", "error", err)
		w.stopServing()
		w.behind <- err
		return
	}
}

// Behind tells that this program can no longer serve its database, and has stopped taking work.
func (w *Worker) Behind() <-chan error { return w.behind }
