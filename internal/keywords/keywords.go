// Package keywords has pages found, beside the crawl. The transaction that records a page
// only notes its terms, in a row that waits. A Writer makes a segment of the search index of
// many such rows at once, about a second later, and merges segments. If a process dies in
// between, nothing is lost: the rows still wait, and the next Writer on the database takes
// them.
//
// Any number of processes may write at the same time. They take different rows. One of them
// merges.
package keywords

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
)

const (
	// gather is how long a page waits for others: the more are written together, the
	// less each costs.
	gather = time.Second
	// every is how often the writer looks for rows that another process has left, and for
	// large segments to merge.
	every = 10 * time.Second
	// lastSpan bounds the last write. The next Writer writes the rest.
	lastSpan = 5 * time.Second
	// batch is how many pages one transaction takes.
	batch = 250
	// passMost is how many transactions follow each other before the pages with the
	// lowest ids have their turn again.
	passMost = 40
	// behind is how many pages may wait before the log warns, and lookEvery how often
	// they are counted.
	behind    = report.KeywordsBound
	lookEvery = time.Minute
)

// Store is where terms wait; *db.Store is one.
type Store interface {
	KeywordsWake() <-chan struct{}
	WriteKeywords(ctx context.Context, after int64, most int) (last int64, n int, err error)
	GiveUpKeywords(ctx context.Context, after int64) (int64, error)
	KeywordsWaiting(ctx context.Context, most int) (int, error)
	MergeIndex(ctx context.Context, large bool) (bool, error)
}

// Writer writes keywords. It is for one goroutine.
type Writer struct {
	Store  Store
	Logger *slog.Logger

	looked time.Time // when it was looked last how many wait
}

// Run writes keywords as pages are recorded, until the context ends. Then it writes those of the
// last pages, for lastSpan at most.
func (w *Writer) Run(ctx context.Context) {
	var merging sync.WaitGroup
	defer merging.Wait()
	merging.Go(func() { w.mergeLarge(ctx) })
	// A transaction that is broken off keeps its pages from the last one for a moment.
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastSpan, cancel) })()
	for ended := false; !ended; {
		ended = w.wait(ctx)
		err := w.Write(writing)
		if err == nil {
			err = w.tell(writing)
		}
		if err != nil {
			w.Logger.WarnContext(ctx, "could not write keywords; tried again soon, until then the pages are not found", "error", err)
		}
	}
}

// wait waits until pages may wait, and reports whether the context has ended.
func (w *Writer) wait(ctx context.Context) (ended bool) {
	select {
	case <-ctx.Done():
	case <-time.After(every):
	case <-w.Store.KeywordsWake():
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
	return ctx.Err() != nil
}

// Write writes the keywords of all waiting pages, except those that another process is
// writing.
func (w *Writer) Write(ctx context.Context) error {
	for {
		after := int64(0)
		for range passMost {
			last, n, err := w.Store.WriteKeywords(ctx, after, batch)
			if errors.Is(err, crawl.ErrRefused) {
				last, n, err = w.singly(ctx, after)
			}
			if err != nil {
				return err
			}
			if n == 0 {
				return nil
			}
			after = last
			w.merge(ctx, false)
		}
		if err := w.tell(ctx); err != nil {
			return err
		}
	}
}

// merge merges segments if that is due, and reports whether there was something to merge.
func (w *Writer) merge(ctx context.Context, large bool) bool {
	merged, err := w.Store.MergeIndex(ctx, large)
	if err != nil && ctx.Err() == nil {
		w.Logger.WarnContext(ctx, "could not merge parts of the search index; tried again soon, until then searches take longer", "error", err)
	}
	return merged && err == nil
}

// mergeLarge merges segments that take long, until the context ends.
func (w *Writer) mergeLarge(ctx context.Context) {
	for {
		if w.merge(ctx, true) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// singly writes the next pages one by one, and gives those up that cannot be stored.
func (w *Writer) singly(ctx context.Context, after int64) (last int64, n int, err error) {
	for last = after; n < batch; n++ {
		id, took, err := w.Store.WriteKeywords(ctx, last, 1)
		if errors.Is(err, crawl.ErrRefused) {
			reason := err
			if id, err = w.Store.GiveUpKeywords(ctx, last); err == nil && id != 0 {
				took = 1
				w.Logger.WarnContext(ctx, "a page's keywords cannot be stored; it is read anew by `mosey recrawl --outdated`",
					"page", id, "error", reason)
			}
		}
		if err != nil || took == 0 {
			return last, n, err
		}
		last = id
	}
	return last, n, nil
}

// tell warns, at most once a minute, that pages are crawled faster than their keywords
// are written.
func (w *Writer) tell(ctx context.Context) error {
	if time.Since(w.looked) < lookEvery {
		return nil
	}
	w.looked = time.Now()
	n, err := w.Store.KeywordsWaiting(ctx, behind)
	if err == nil && n >= behind {
		w.Logger.WarnContext(ctx, "the crawl is faster than its index: pages are found by a search only later", "waiting", n)
	}
	return err
}
