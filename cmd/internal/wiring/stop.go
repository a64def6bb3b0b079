package wiring

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/activities"
)

const (
	// recordSpan is how long what was broken off, and what has ended last, has to be recorded.
	recordSpan = 3 * time.Second
	// endSpan is how long all that follows may take.
	endSpan = 2 * time.Second
)

// StopSpan is the longest that a worker takes to stop: whatever is away, it ends then.
func (f FetchFlags) StopSpan() time.Duration { return f.Drain + recordSpan + endSpan }

// Stop stops serving: no request is begun any more, and who waits for something stops to, so that
// Temporal gives the domains to other workers. Requests in flight have until FetchFlags.Drain to
// end; then they are broken off, at nobody's cost, and recorded. It returns after
// FetchFlags.StopSpan in any case.
func (w *Worker) Stop() {
	activities.Drain(w.acts, w.drain)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.stopLooking()
		w.stopServing()
		w.leaveFleet()
		w.fleet.leave()
		activities.Wait(w.acts)
		w.stopKeywords() // after the last page was recorded
		w.stopJournal()
	}()
	timer := time.NewTimer(w.drain + recordSpan + endSpan)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		w.logger.Warn("this worker has not stopped in time, and ends with what it has not recorded; other workers take that over")
	}
}

// EndBy ends the process some time after a context has ended, unless stop is called before: what
// is left then waits for something that is away.
func EndBy(ctx context.Context, span time.Duration, end func()) (stop func()) {
	finished := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(span)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-finished:
		}
	})
	return func() {
		unwatch()
		close(finished)
	}
}
