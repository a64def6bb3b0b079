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
	// recordTimeout bounds the time to record the last requests, including cancelled ones.
	recordTimeout = 3 * time.Second
	// pollStopTime is the time for a stopping worker's polls to end.
	pollStopTime = 200 * time.Millisecond
	// endTimeout bounds the remaining steps.
	endTimeout = 2 * time.Second
)

// StopTimeout returns the longest time to stop a worker, even if a service is unavailable.
func (f FetchFlags) StopTimeout() time.Duration {
	timeout := f.Drain + recordTimeout + endTimeout
	if inBucket(f.Archive) {
		timeout += uploadTimeout
	}
	return timeout
}

// Drain starts no more requests, and cancels and records the requests in flight after
// FetchFlags.Drain. Further calls have no effect.
func (w *Worker) Drain() { activities.Drain(w.acts, w.drain) }

// Stop drains, stops serving and hands waiting domains over, or saves them (see WaitingFile). It
// returns within StopTimeout.
func (w *Worker) Stop() {
	w.Drain()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.stopReconciling()
		if w.WaitingFile != "" {
			w.stopServing()
			w.saveWaiting()
		} else {
			early := time.AfterFunc(pollStopTime, func() { activities.HandOver(w.acts) })
			w.stopServing()
			early.Stop()
			activities.HandOver(w.acts) // also of domains that began to wait meanwhile
		}
		w.stopFleet()
		w.fleet.unregister()
		activities.Wait(w.acts)
		if w.program != nil {
			w.program.Close()
		}
		if w.archive != nil {
			ctx, cancel := context.WithTimeout(context.Background(), uploadTimeout)
			if err := w.archive.Close(ctx); err != nil {
				w.logger.Warn("could not complete or upload a file of the archive; the next start does", "error", err)
			}
			cancel()
		}
		w.stopKeywords() // after the last page was recorded
		w.stopJournal()
	}()
	select {
	case <-done:
	case <-time.After(w.stopTimeout):
		w.logger.Warn("this worker did not stop in time and ends with unrecorded work, which other workers take over")
	}
}

// EndAfter calls end some time after a context has ended, unless stop is called before. So a
// process ends although a service is unavailable.
func EndAfter(ctx context.Context, timeout time.Duration, end func()) (stop func()) {
	finished := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(timeout):
			end()
		case <-finished:
		}
	})
	return func() {
		unwatch()
		close(finished)
	}
}

// sleep waits for duration, or returns false if the context ends first.
func sleep(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
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

const schemaCheckInterval = 15 * time.Second

// watchSchema stops taking work, finishes its requests, and reports to Outdated, once a migration
// has removed needed schema.
func (w *Worker) watchSchema(ctx context.Context) {
	for sleep(ctx, schemaCheckInterval) {
		err := CheckSchema(ctx, w.reconciler.store)
		if !errors.Is(err, crawl.ErrInvalid) {
			continue // other checks report a failure of the database
		}
		w.logger.ErrorContext(ctx, "this worker is too old for the database and stops taking work", "error", err)
		w.stopServing()
		w.outdated <- err
		return
	}
}

// Outdated reports that this program can no longer serve its database, and has stopped taking work.
func (w *Worker) Outdated() <-chan error { return w.outdated }
