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
	// recordSpan bounds the time to record the last requests, including cancelled ones.
	recordSpan = 3 * time.Second
	// pollsEnd is the time for a stopping worker's polls to end.
	pollsEnd = 200 * time.Millisecond
	// endSpan bounds the remaining steps.
	endSpan = 2 * time.Second
)

// StopSpan returns the longest time to stop a worker, even if a service is unavailable.
func (f FetchFlags) StopSpan() time.Duration { return f.Drain + recordSpan + endSpan }

// Drain starts no more requests, and cancels and records the requests in flight after
// FetchFlags.Drain. Further calls have no effect.
func (w *Worker) Drain() { activities.Drain(w.acts, w.drain) }

// Stop drains, stops serving and hands waiting domains over, or saves them (see KeepIn). It returns
// within StopSpan.
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
		w.logger.Warn("this worker did not stop in time and ends with unrecorded work, which other workers take over")
	}
}

// EndBy calls end some time after a context has ended, unless stop is called before. So a process
// ends although a service is unavailable.
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

// pause waits for span, or returns false if the context ends first.
func pause(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

// background runs functions; stop cancels them and waits for them.
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

// watchSchema stops taking work, finishes its requests, and reports to Behind, once a migration has
// removed needed schema.
func (w *Worker) watchSchema(ctx context.Context) {
	for pause(ctx, schemaEvery) {
		err := CheckSchema(ctx, w.reconciler.store)
		if !errors.Is(err, crawl.ErrInvalid) {
			continue // other checks report a failure of the database
		}
		w.logger.ErrorContext(ctx, "this worker is too old for the database and stops taking work", "error", err)
		w.stopServing()
		w.behind <- err
		return
	}
}

// Behind reports that this program can no longer serve its database, and has stopped taking work.
func (w *Worker) Behind() <-chan error { return w.behind }
