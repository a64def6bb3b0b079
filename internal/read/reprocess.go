package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/fetch"
)

// reprocessBatch is the number of pages in one transaction.
const reprocessBatch = 50

// ArchiveStore reads archived pages and stores their findings.
type ArchiveStore interface {
	// ArchivedPages returns the archived pages among the next ones after a cursor. An empty next ends
	// them.
	ArchivedPages(ctx context.Context, domain string, every bool, after string, limit int) (pages []report.ArchivedPage, next string, _ error)
	StoreReread(ctx context.Context, attempts []crawl.Attempt) (int64, error)
}

// Rulings completes the facts of a decision by its origin's robots.txt.
type Rulings interface {
	Facts(ctx context.Context, f crawl.Facts, c *crawl.AttemptFacts) (decide.Facts, error)
}

// Reprocessor reads pages again from the archive, without a request, after the readers of pages
// have changed.
type Reprocessor struct {
	Store   ArchiveStore
	Reader  *Reader
	Rulings Rulings
	// Dir is the directory of the archive.
	Dir string
}

// Reprocessed counts pages.
type Reprocessed struct {
	// Read pages have new findings. Changed pages were requested again meanwhile, and keep those.
	Read    int64 `json:"read"`
	Changed int64 `json:"changed"`
	// Failed pages could not be read, and keep their findings. Failure is the first reason.
	Failed  int64 `json:"failed"`
	Failure error `json:"-"`
}

// Run reads the pages of a domain, or of all if it is empty: the ones that an earlier extractor
// read, or with every all of them. It calls onProgress after each batch.
func (p *Reprocessor) Run(ctx context.Context, domain string, every bool, onProgress func(Reprocessed)) (t Reprocessed, err error) {
	for after := ""; ; {
		pages, next, err := p.Store.ArchivedPages(ctx, domain, every, after, reprocessBatch)
		if err != nil || next == "" {
			return t, err
		}
		after = next
		attempts, err := p.readAll(ctx, pages, &t)
		if err != nil {
			return t, err
		}
		stored, err := p.Store.StoreReread(ctx, attempts)
		if err != nil {
			return t, err
		}
		t.Read += stored
		t.Changed += int64(len(attempts)) - stored
		onProgress(t)
	}
}

// readAll reads pages, on all processors. It counts failures of single pages.
func (p *Reprocessor) readAll(ctx context.Context, pages []report.ArchivedPage, t *Reprocessed) ([]crawl.Attempt, error) {
	var mu sync.Mutex
	var attempts []crawl.Attempt
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, page := range pages {
		group.Go(func() error {
			at, err := p.read(ctx, page)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				attempts = append(attempts, at)
			case ctx.Err() != nil || !isOfPage(err):
				return err
			default:
				t.Failed++
				if t.Failure == nil {
					t.Failure = fmt.Errorf("%s: %w", page.Run.Attempt.URL, err)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return attempts, err
}

// isOfPage reports whether an error concerns one page alone.
func isOfPage(err error) bool {
	_, isResponse := errors.AsType[*responseError](err)
	return isResponse || errors.Is(err, archive.ErrDamaged) || errors.Is(err, crawl.ErrNotFound)
}

// responseError is the error of a response that cannot be read.
type responseError struct{ error }

func (e *responseError) Unwrap() error { return e.error }

func (p *Reprocessor) read(ctx context.Context, page report.ArchivedPage) (at crawl.Attempt, err error) {
	decision, err := p.decision(ctx, page)
	if err != nil {
		return at, err
	}
	err = archive.Read(p.Dir, page.Archived, func(url string, response io.Reader) error {
		if u, err := urls.Parse(url); err != nil || u.String() != page.Run.Attempt.URL {
			return fmt.Errorf("%w: %s at %d: the response of %s", archive.ErrDamaged, page.Archived.File, page.Archived.Offset, url)
		}
		resp, err := fetch.Replay(response, fetch.MaxBodyBytesDefault)
		if err != nil {
			return &responseError{err}
		}
		defer resp.Release()
		resp.EndedAt = page.Archived.At
		at, err = p.Reader.Reread(ctx, decision, resp, page.FetchedAt)
		return err
	})
	return at, err
}

// decision returns the decision that a page is read with: its run, and its origin's statement on
// its use today.
func (p *Reprocessor) decision(ctx context.Context, page report.ArchivedPage) (decide.Decision, error) {
	run := page.Run
	d := decide.Decision{Run: &run, Attempt: run.Attempt}
	u, err := urls.Parse(run.Attempt.URL)
	if err != nil {
		return d, fmt.Errorf("stored URL: %w", err)
	}
	facts, err := p.Rulings.Facts(ctx, crawl.Facts{Domain: crawl.DomainFacts{Name: u.Domain()}}, run.Attempt)
	if facts.Ruling != nil {
		d.Usage = facts.Ruling.Usage
	}
	return d, err
}
