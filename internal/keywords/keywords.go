// Package keywords indexes pages for search, beside the crawl. The transaction that records a page
// only stores its terms, in a waiting row. A Writer makes a segment of the search index from many
// such rows at once, about a second later, and merges segments. If a process dies in between, the
// rows still wait, and the next Writer on the database takes them.
//
// Any number of processes may write at the same time. They take different rows. One of them merges.
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
	// batchDelay delays the first page of a batch, because large batches cost less per page.
	batchDelay = time.Second
	// pollInterval is the poll interval for rows that another process has left and for large merges.
	pollInterval = 10 * time.Second
	// finalTimeout limits the last write. The next Writer writes the rest.
	finalTimeout = 5 * time.Second
	// maxBatchPages caps the pages of one transaction.
	maxBatchPages = 250
	// maxPassBatches caps the consecutive transactions before the lowest page ids get their turn
	// again.
	maxPassBatches = 40
	// backlogThreshold is the number of waiting pages that the log warns of, and backlogInterval the
	// interval of counts.
	backlogThreshold = report.KeywordsBound
	backlogInterval  = time.Minute
)

// Store stores the waiting terms; *db.Store is one.
type Store interface {
	KeywordsWake() <-chan struct{}
	WriteKeywords(ctx context.Context, after int64, limit int) (last int64, n int, err error)
	AbandonKeywords(ctx context.Context, after int64) (int64, error)
	KeywordsWaiting(ctx context.Context, limit int) (int, error)
	MergeIndex(ctx context.Context, large bool) (bool, error)
}

// Writer writes keywords. It is not safe for concurrent use.
type Writer struct {
	Store  Store
	Logger *slog.Logger

	backlogCheckedAt time.Time // the last count of waiting pages
}

// Run writes keywords as pages are recorded, until the context ends. Then it writes the keywords of
// the last pages, for finalTimeout at most.
func (w *Writer) Run(ctx context.Context) {
	var merging sync.WaitGroup
	defer merging.Wait()
	merging.Go(func() { w.mergeLarge(ctx) })
	// An aborted transaction briefly keeps its pages from the last write.
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finalTimeout, cancel) })()
	for ended := false; !ended; {
		ended = w.wait(ctx)
		err := w.Write(writing)
		if err == nil {
			err = w.warnIfBehind(writing)
		}
		if err != nil {
			w.Logger.WarnContext(ctx, "could not write keywords; retrying soon, the pages are not searchable until then", "error", err)
		}
	}
}

// wait waits until pages may wait, and reports whether the context has ended.
func (w *Writer) wait(ctx context.Context) (ended bool) {
	select {
	case <-ctx.Done():
	case <-time.After(pollInterval):
	case <-w.Store.KeywordsWake():
		select {
		case <-ctx.Done():
		case <-time.After(batchDelay):
		}
	}
	return ctx.Err() != nil
}

// Write writes the keywords of all waiting pages, except pages that another process is writing.
func (w *Writer) Write(ctx context.Context) error {
	for {
		after := int64(0)
		for range maxPassBatches {
			last, n, err := w.Store.WriteKeywords(ctx, after, maxBatchPages)
			if errors.Is(err, crawl.ErrRefused) {
				last, n, err = w.writeOneByOne(ctx, after)
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
		if err := w.warnIfBehind(ctx); err != nil {
			return err
		}
	}
}

// merge merges segments if a merge is due, and reports whether it merged any.
func (w *Writer) merge(ctx context.Context, large bool) bool {
	merged, err := w.Store.MergeIndex(ctx, large)
	if err != nil && ctx.Err() == nil {
		w.Logger.WarnContext(ctx, "could not merge parts of the search index; retrying soon, searches are slower until then", "error", err)
	}
	return merged && err == nil
}

func (w *Writer) mergeLarge(ctx context.Context) {
	for {
		if w.merge(ctx, true) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollInterval):
		}
	}
}

// writeOneByOne writes the next pages one by one, and abandons pages that cannot be stored.
func (w *Writer) writeOneByOne(ctx context.Context, after int64) (last int64, n int, err error) {
	for last = after; n < maxBatchPages; n++ {
		id, written, err := w.Store.WriteKeywords(ctx, last, 1)
		if errors.Is(err, crawl.ErrRefused) {
			reason := err
			if id, err = w.Store.AbandonKeywords(ctx, last); err == nil && id != 0 {
				written = 1
				w.Logger.WarnContext(ctx, "a page's keywords cannot be stored; mosey recrawl --outdated reads the page again",
					"page", id, "error", reason)
			}
		}
		if err != nil || written == 0 {
			return last, n, err
		}
		last = id
	}
	return last, n, nil
}

// warnIfBehind warns, at most once a minute, that pages are crawled faster than their keywords are
// written.
func (w *Writer) warnIfBehind(ctx context.Context) error {
	if time.Since(w.backlogCheckedAt) < backlogInterval {
		return nil
	}
	w.backlogCheckedAt = time.Now()
	n, err := w.Store.KeywordsWaiting(ctx, backlogThreshold)
	if err == nil && n >= backlogThreshold {
		w.Logger.WarnContext(ctx, "the crawl is faster than its index: pages become searchable late", "waiting", n)
	}
	return err
}
