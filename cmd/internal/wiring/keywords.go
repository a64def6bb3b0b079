package wiring

import (
	"context"
	"time"
)

// keywordsTimeout bounds how long a process that ends writes keywords that wait. What it
// leaves is written by the next.
const keywordsTimeout = 5 * time.Second

// writeLast writes the keywords of what was recorded last.
func (w *Worker) writeLast() {
	ctx, cancel := context.WithTimeout(context.Background(), keywordsTimeout)
	defer cancel()
	if err := w.keywords.Write(ctx); err != nil && ctx.Err() == nil {
		w.logger.Warn("could not write keywords; the next worker does", "error", err)
	}
}
