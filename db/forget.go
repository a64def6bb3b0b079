package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ForgetStep is the number of pages whose texts are erased at once.
const ForgetStep = 500

// NoteForgotten stores that all texts of a domain are erased.
func (s *Store) NoteForgotten(ctx context.Context, domain string) error {
	return translate("store that "+domain+" is forgotten", s.q.ErasureComplete(ctx, domain))
}

// Forgotten reports whether a domain's texts are erased, or are to be; nil means neither.
func (s *Store) Forgotten(ctx context.Context, domain string) (*report.Forgotten, error) {
	row, err := s.q.ErasureGet(ctx, domain)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // most were not
	}
	return new(forgotten(row)), translate("check whether "+domain+" is forgotten", err)
}

// HalfForgotten returns up to most domains that may still have texts.
func (s *Store) HalfForgotten(ctx context.Context, most int) ([]report.Forgotten, error) {
	rows, err := s.q.ErasuresPending(ctx, int32Of(most))
	return mapped(rows, forgotten), translate("find domains to forget", err)
}

func forgotten(r dbsqlc.DomainErasure) report.Forgotten {
	return report.Forgotten{Domain: r.Domain, AskedAt: r.RequestedAt, By: r.RequestedBy, Reason: r.Reason, DoneAt: valueOf(r.DoneAt)}
}

// InFlight returns the end of the lease of a request to a domain, and of its claim; zero means not
// held. It first closes an attempt whose lease has ended.
func (s *Store) InFlight(ctx context.Context, domain string) (request, claim time.Time, err error) {
	err = retry(ctx, "find requests in flight to "+domain, func() error {
		if err := s.q.DomainsReap(ctx, []string{domain}); err != nil {
			return err
		}
		row, err := s.q.ForgetInFlight(ctx, domain)
		request, claim = timeOrZero(row.Lease), timeOrZero(row.Claim)
		return err
	})
	return request, claim, err
}

// PagesOf returns at most ForgetStep pages of a domain after a URL, and the URL of the last.
func (s *Store) PagesOf(ctx context.Context, domain, after string) (pages []int64, last string, err error) {
	rows, err := s.q.ForgetNext(ctx, dbsqlc.ForgetNextParams{Domain: domain, After: after, Max: ForgetStep})
	for _, r := range rows {
		pages, last = append(pages, r.ID), r.Url
	}
	return pages, last, translate("read the pages of "+domain, err)
}

// ForgetPages erases the texts of pages, and returns the number of rows with texts.
func (s *Store) ForgetPages(ctx context.Context, pages []int64) (int64, error) {
	return retryConflicts(ctx, "erase contents of pages", func() (int64, error) { return s.q.ForgetPages(ctx, pages) })
}

// ForgetRobots erases the texts of a domain's robots.txt files.
func (s *Store) ForgetRobots(ctx context.Context, domain string) (int64, error) {
	return retryConflicts(ctx, "erase robots.txt", func() (int64, error) { return s.q.ForgetRobots(ctx, domain) })
}

// ForgetPatterns erases the next patterns of a domain, and returns the last; empty at the end.
func (s *Store) ForgetPatterns(ctx context.Context, domain, after string) (last string, changed int64, err error) {
	row, err := retryConflicts(ctx, "erase patterns of pages", func() (dbsqlc.ForgetPatternsRow, error) {
		return s.q.ForgetPatterns(ctx, dbsqlc.ForgetPatternsParams{Domain: domain, After: after, Max: ForgetStep})
	})
	return row.Last, row.Changed, err
}

// ImagesNamed returns images on other hosts that pages of a domain name, by the images' page ids.
func (s *Store) ImagesNamed(ctx context.Context, domain string, pages []int64) ([]int64, error) {
	named, err := s.q.ForgetForeignImages(ctx, dbsqlc.ForgetForeignImagesParams{Domain: domain, Pages: pages})
	return named, translate("list images of pages", err)
}

// ImagesAlone returns the given images that no page of another domain names now.
func (s *Store) ImagesAlone(ctx context.Context, domain string, images []int64) ([]int64, error) {
	alone, err := s.q.ForgetUnsharedImages(ctx, dbsqlc.ForgetUnsharedImagesParams{Domain: domain, Pages: images})
	return alone, translate("list pages of images", err)
}

// OwnContent is a content that only these images have, by their page ids.
type OwnContent struct {
	SHA256 string
	// Stored is set if its bytes or a small picture should be in the store.
	Stored bool
	Images []int64
}

// ImageContentsOf returns the contents that only these images have.
func (s *Store) ImageContentsOf(ctx context.Context, images []int64) ([]OwnContent, error) {
	rows, err := s.q.ForgetContents(ctx, images)
	return mapped(rows, func(r dbsqlc.ForgetContentsRow) OwnContent {
		return OwnContent{SHA256: r.Sha256Hash, Stored: r.Stored, Images: r.Pages}
	}), translate("list contents of images", err)
}

// ForgetImages erases the results of images' fetches, and contents that no image has then. Delete
// their bytes before. It returns the number of images with a result.
func (s *Store) ForgetImages(ctx context.Context, images []int64) (int64, error) {
	return retryConflicts(ctx, "erase images", func() (int64, error) { return s.q.ForgetImages(ctx, images) })
}

// UnusedContents returns the next contents without an image, and the last one read; empty at the
// end.
func (s *Store) UnusedContents(ctx context.Context, after string) (unused []OwnContent, last string, err error) {
	rows, err := s.q.ForgetContentsAfter(ctx, dbsqlc.ForgetContentsAfterParams{After: after, Max: ForgetStep})
	for _, r := range rows {
		if last = r.Sha256Hash; !r.IsUsed {
			unused = append(unused, OwnContent{SHA256: r.Sha256Hash, Stored: r.Stored})
		}
	}
	return unused, last, translate("list unused contents", err)
}

// DropContents deletes the given contents that no image has, and returns their number.
func (s *Store) DropContents(ctx context.Context, sha256 []string) (int64, error) {
	return retryConflicts(ctx, "drop contents", func() (int64, error) { return s.q.ForgetContentsDrop(ctx, sha256) })
}

// PendingAttempt is an open attempt.
type PendingAttempt struct {
	ID               int64
	Domain, URL, Run string
	Kind             kinds.Kind
	InFlight         bool
}

// PendingOf returns the open attempts at pages.
func (s *Store) PendingOf(ctx context.Context, pages []int64) ([]PendingAttempt, error) {
	rows, err := s.q.ForgetPending(ctx, pages)
	return mapped(rows, func(r dbsqlc.ForgetPendingRow) PendingAttempt {
		return PendingAttempt{r.ID, r.Domain, r.Url, r.Run, kinds.Kind(r.Kind), r.InFlight}
	}), translate("list pending pages", err)
}

// PagesCalled returns linked pages of other domains that a search finds by the texts of links.
func (s *Store) PagesCalled(ctx context.Context, domain string, pages []int64) ([]int64, error) {
	called, err := s.q.ForgetAnchoredPages(ctx, dbsqlc.ForgetAnchoredPagesParams{Domain: domain, Pages: pages})
	return called, translate("read link texts of pages", err)
}

// linkedOf returns the indexed pages of other domains that a domain's pages link to.
func (s *Store) linkedOf(ctx context.Context, domain string) (map[int64]bool, error) {
	linked := map[int64]bool{}
	for after := ""; ; {
		pages, last, err := s.PagesOf(ctx, domain, after)
		if err != nil || len(pages) == 0 {
			return linked, err
		}
		some, err := s.q.ForgetLinked(ctx, dbsqlc.ForgetLinkedParams{Domain: domain, Pages: pages})
		if err != nil {
			return nil, translate("read links of pages", err)
		}
		for _, page := range some {
			linked[page] = true
		}
		after = last
	}
}

// isForgotten reports whether dead pages of a segment are in linked or on a domain.
func (s *Store) isForgotten(ctx context.Context, domain string, linked map[int64]bool, dead []int64) (bool, error) {
	if slices.ContainsFunc(dead, func(page int64) bool { return linked[page] }) {
		return true, nil
	}
	for some := range slices.Chunk(dead, 10*ForgetStep) {
		n, err := s.q.ForgetCount(ctx, dbsqlc.ForgetCountParams{Domain: domain, Pages: some})
		if n > 0 || err != nil {
			return n > 0, translate("check for erased pages", err)
		}
	}
	return false, nil
}
