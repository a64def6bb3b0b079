package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

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
	// Archive is where the responses are.
	Archive archive.Place
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
	return errors.Is(err, archive.ErrDamaged) || errors.Is(err, crawl.ErrNotFound)
}

func (p *Reprocessor) read(ctx context.Context, page report.ArchivedPage) (at crawl.Attempt, err error) {
	decision, err := p.decision(ctx, page)
	if err != nil {
		return at, err
	}
	err = archive.Read(ctx, p.Archive, page.Archived, func(url string, response io.Reader) error {
		if u, err := urls.Parse(url); err != nil || u.String() != page.Run.Attempt.URL {
			return fmt.Errorf("%w: %s at %d: the response of %s", archive.ErrDamaged, page.Archived.File, page.Archived.Offset, url)
		}
		resp, err := fetch.Replay(response, fetch.MaxBodyBytesDefault)
		if err != nil { // it was read when it was received
			return fmt.Errorf("%w: %s at %d: %w", archive.ErrDamaged, page.Archived.File, page.Archived.Offset, err)
		}
		defer resp.Release()
		resp.EndedAt = page.Archived.At
		at, err = p.Reader.reread(ctx, decision, resp, page.FetchedAt)
		return err
	})
	return at, err
}

// decision returns the decision that a page is read with: its run, and its origin's statement on
// its use today.
func (p *Reprocessor) decision(ctx context.Context, page report.ArchivedPage) (decide.Decision, error) {
	d := decide.Decision{Run: &page.Run, Attempt: page.Run.Attempt}
	facts, err := p.Rulings.Facts(ctx, crawl.Facts{}, d.Attempt)
	if facts.Ruling != nil {
		d.Usage, d.Missing = facts.Ruling.Usage, facts.Ruling.Missing
	}
	return d, err
}

// reread reads the archived response of a page like a new one. The decision names the attempt of
// the response, its run, and the origin's statement on the page's use. fetchedAt is the time of the
// page's last request. The findings add nothing to the run.
func (r *Reader) reread(ctx context.Context, d decide.Decision, resp *fetch.Response, fetchedAt time.Time) (crawl.Attempt, error) {
	c := d.Attempt
	u, err := urls.Parse(c.URL)
	if err != nil {
		return crawl.Attempt{}, fmt.Errorf("stored URL: %w", err)
	}
	one := &reading{Reader: r, d: d, url: u, base: urls.Spelt{URL: u, Target: c.Visit.RequestTarget}}
	at := crawl.Attempt{
		ID: c.ID, Domain: u.Domain(), Outcome: crawl.OutcomeOfStatus(resp.Status), StatusCode: resp.Status, Ended: fetchedAt,
	}
	if err := one.page(ctx, &at, resp, c.Visit); err != nil {
		return crawl.Attempt{}, err
	}
	at.Follow, at.FollowImages, at.FollowKnown, at.Charge = nil, nil, nil, nil
	return at, nil
}
