package wiring

import (
	"context"
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// schemaEvery is how often a worker looks whether its database still serves it.
const schemaEvery = 15 * time.Second

// watchSchema stops taking work once a migration has taken away what this program needs of the
// database: its statements would fail, or say what is no longer true. Requests in flight are
// finished first. What it found is told to Behind.
func (w *Worker) watchSchema(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(schemaEvery):
		}
		err := CheckSchema(ctx, w.reconciler.store)
		if !errors.Is(err, crawl.ErrInvalid) {
			continue // others tell of a database that is away
		}
		w.logger.ErrorContext(ctx, "the database has left this worker behind: it stops taking work", "error", err)
		w.leave(err)
		return
	}
}

// leave stops taking work, and has Behind tell why.
func (w *Worker) leave(err error) {
	w.stopServing()
	w.behind <- err
}

// Behind tells that this program can no longer serve its database, and has
// stopped taking work.
func (w *Worker) Behind() <-chan error { return w.behind }
