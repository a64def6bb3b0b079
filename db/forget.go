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

// ForgetBatch is the number of pages whose texts are erased at once.
const ForgetBatch = 500

// MarkForgotten stores that all texts of a domain are erased.
func (s *Store) MarkForgotten(ctx context.Context, domain string) error {
	return translate("store that "+domain+" is forgotten", s.q.ErasureComplete(ctx, domain))
}

// Forgotten reports whether a domain's texts are erased, or are to be; nil means neither.
func (s *Store) Forgotten(ctx context.Context, domain string) (*report.ErasureRequest, error) {
	row, err := s.q.ErasureGet(ctx, domain)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // most were not
	}
	return new(forgotten(row)), translate("check whether "+domain+" is forgotten", err)
}

// UnfinishedForgets returns at most limit domains that may still have texts.
func (s *Store) UnfinishedForgets(ctx context.Context, limit int) ([]report.ErasureRequest, error) {
	rows, err := s.q.ErasuresPending(ctx, int32Of(limit))
	return mapRows(rows, forgotten), translate("find domains to forget", err)
}

func forgotten(r dbsqlc.DomainErasure) report.ErasureRequest {
	return report.ErasureRequest{
		Domain: r.Domain, RequestedAt: r.RequestedAt, RequestedBy: r.RequestedBy, Reason: r.Reason,
		DoneAt: valueOf(r.DoneAt),
	}
}

// InFlight returns the end of the lease of a request to a domain, and of its claim; zero means no
// lease or claim. It first closes an attempt whose lease has ended.
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

// PagesOf returns at most ForgetBatch pages of a domain after a URL, and the URL of the last.
func (s *Store) PagesOf(ctx context.Context, domain, after string) (pages []int64, last string, err error) {
	rows, err := s.q.ForgetNext(ctx, dbsqlc.ForgetNextParams{Domain: domain, After: after, Max: ForgetBatch})
	for _, r := range rows {
		pages, last = append(pages, r.ID), r.Url
	}
	return pages, last, translate("read the pages of "+domain, err)
}

// ForgetPages erases the texts of pages, and returns the number of rows with texts.
func (s *Store) ForgetPages(ctx context.Context, pages []int64) (int64, error) {
	return retryConflicts(ctx, "erase contents of pages", func() (int64, error) { return s.q.ForgetPages(ctx, pages) })
}

// ForgetRobots erases the texts of a domain's robots.txt files, and the signs of its owner.
func (s *Store) ForgetRobots(ctx context.Context, domain string) (int64, error) {
	return retryConflicts(ctx, "erase robots.txt", func() (int64, error) { return s.q.ForgetRobots(ctx, domain) })
}

// ForgetPatterns erases the next patterns of a domain, and returns the last; empty at the end.
func (s *Store) ForgetPatterns(ctx context.Context, domain, after string) (last string, changed int64, err error) {
	row, err := retryConflicts(ctx, "erase patterns of pages", func() (dbsqlc.ForgetPatternsRow, error) {
		return s.q.ForgetPatterns(ctx, dbsqlc.ForgetPatternsParams{Domain: domain, After: after, Max: ForgetBatch})
	})
	return row.Last, row.Changed, err
}

// ImagesNamedBy returns images on other hosts that pages of a domain name, by the images' page ids.
func (s *Store) ImagesNamedBy(ctx context.Context, domain string, pages []int64) ([]int64, error) {
	named, err := s.q.ForgetForeignImages(ctx, dbsqlc.ForgetForeignImagesParams{Domain: domain, Pages: pages})
	return named, translate("list images of pages", err)
}

// UnsharedImages returns the given images that no page of another domain names now.
func (s *Store) UnsharedImages(ctx context.Context, domain string, images []int64) ([]int64, error) {
	unshared, err := s.q.ForgetUnsharedImages(ctx, dbsqlc.ForgetUnsharedImagesParams{Domain: domain, Pages: images})
	return unshared, translate("list pages of images", err)
}

// UnsharedContent is a content that only these images have, by their page ids.
type UnsharedContent struct {
	SHA256 string
	// Stored is set if its bytes or a small picture should be in the store.
	Stored bool
	Images []int64
}

// ImageContentsOf returns the contents that only these images have.
func (s *Store) ImageContentsOf(ctx context.Context, images []int64) ([]UnsharedContent, error) {
	rows, err := s.q.ForgetContents(ctx, images)
	return mapRows(rows, func(r dbsqlc.ForgetContentsRow) UnsharedContent {
		return UnsharedContent{SHA256: r.Sha256Hash, Stored: r.Stored, Images: r.Pages}
	}), translate("list contents of images", err)
}

// ForgetImages erases the results of images' fetches, and contents that no image has then. Delete
// their bytes before. It returns the number of images with a result.
func (s *Store) ForgetImages(ctx context.Context, images []int64) (int64, error) {
	return retryConflicts(ctx, "erase images", func() (int64, error) { return s.q.ForgetImages(ctx, images) })
}

// UnusedContents returns the next contents without an image, and the last one read; empty at the
// end.
func (s *Store) UnusedContents(ctx context.Context, after string) (unused []UnsharedContent, last string, err error) {
	rows, err := s.q.ForgetContentsAfter(ctx, dbsqlc.ForgetContentsAfterParams{After: after, Max: ForgetBatch})
	for _, r := range rows {
		if last = r.Sha256Hash; !r.IsUsed {
			unused = append(unused, UnsharedContent{SHA256: r.Sha256Hash, Stored: r.Stored})
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
	return mapRows(rows, func(r dbsqlc.ForgetPendingRow) PendingAttempt {
		return PendingAttempt{r.ID, r.Domain, r.Url, r.Run, kinds.Kind(r.Kind), r.InFlight}
	}), translate("list pending pages", err)
}

// PagesFoundByAnchors returns linked pages of other domains that a search finds by the texts of
// links.
func (s *Store) PagesFoundByAnchors(ctx context.Context, domain string, pages []int64) ([]int64, error) {
	pageIDs, err := s.q.ForgetAnchoredPages(ctx, dbsqlc.ForgetAnchoredPagesParams{Domain: domain, Pages: pages})
	return pageIDs, translate("read link texts of pages", err)
}

// linkedOf returns the indexed pages of other domains that a domain's pages link to.
func (s *Store) linkedOf(ctx context.Context, domain string) (map[int64]bool, error) {
	linked := map[int64]bool{}
	for after := ""; ; {
		pages, last, err := s.PagesOf(ctx, domain, after)
		if err != nil || len(pages) == 0 {
			return linked, err
		}
		chunk, err := s.q.ForgetLinked(ctx, dbsqlc.ForgetLinkedParams{Domain: domain, Pages: pages})
		if err != nil {
			return nil, translate("read links of pages", err)
		}
		for _, page := range chunk {
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
	for chunk := range slices.Chunk(dead, 10*ForgetBatch) {
		n, err := s.q.ForgetCount(ctx, dbsqlc.ForgetCountParams{Domain: domain, Pages: chunk})
		if n > 0 || err != nil {
			return n > 0, translate("check for erased pages", err)
		}
	}
	return false, nil
}
