package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ForgetStep is of how many pages what they said is erased at once.
const ForgetStep = 500

// NoteForgotten stores that all of it is gone.
func (s *Store) NoteForgotten(ctx context.Context, domain string) error {
	return translate("store that "+domain+" is forgotten", s.q.ForgetDone(ctx, domain))
}

// Forgotten is whether what a domain's pages said was erased, or was asked to be; nil is that it was
// not.
func (s *Store) Forgotten(ctx context.Context, domain string) (*report.Forgotten, error) {
	row, err := s.q.ForgottenGet(ctx, domain)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // most were not
	}
	return new(forgotten(row)), translate("look whether "+domain+" is forgotten", err)
}

// HalfForgotten are domains of which something may be left, at most so many.
func (s *Store) HalfForgotten(ctx context.Context, most int) ([]report.Forgotten, error) {
	rows, err := s.q.ForgottenOpen(ctx, int32Of(most))
	all := make([]report.Forgotten, len(rows))
	for i, r := range rows {
		all[i] = forgotten(r)
	}
	return all, translate("look for domains that are not forgotten yet", err)
}

func forgotten(r dbsqlc.Forgotten) report.Forgotten {
	return report.Forgotten{Domain: r.Domain, AskedAt: r.AskedAt, By: r.AskedBy, Reason: r.Reason, DoneAt: timeOf(r.DoneAt)}
}

// InFlight tells until when a request to a domain may be in flight, or its workflow has claimed it;
// zero is that neither is. An attempt whose lease has ended is closed as one whose worker died, so
// that nothing can be recorded of it any more.
func (s *Store) InFlight(ctx context.Context, domain string) (request, claim time.Time, err error) {
	err = retry(ctx, "look what is in flight of "+domain, func() error {
		if err := s.q.DomainsReap(ctx, []string{domain}); err != nil {
			return err
		}
		row, err := s.q.ForgetInFlight(ctx, domain)
		request, claim = orNone(row.Lease), orNone(row.Claim)
		return err
	})
	return request, claim, err
}

// orNone is zero for the epoch.
func orNone(t time.Time) time.Time {
	if t.Unix() == 0 {
		return time.Time{}
	}
	return t
}

// PagesOf are the next pages of a domain after a URL, at most ForgetStep, and the URL of the last.
func (s *Store) PagesOf(ctx context.Context, domain, after string) (pages []int64, last string, err error) {
	rows, err := s.q.ForgetNext(ctx, dbsqlc.ForgetNextParams{Domain: domain, After: after, Most: ForgetStep})
	for _, r := range rows {
		pages, last = append(pages, r.ID), r.Url
	}
	return pages, last, translate("read the pages of "+domain, err)
}

// ForgetPages erases what pages have said, and returns how many rows had something.
func (s *Store) ForgetPages(ctx context.Context, pages []int64) (int64, error) {
	return retryConflicts(ctx, "erase what pages said", func() (int64, error) { return s.q.ForgetPages(ctx, pages) })
}

// ForgetPatterns does it for the next patterns of a domain's URLs, and returns the last; empty is that
// there are no more.
func (s *Store) ForgetPatterns(ctx context.Context, domain, after string) (last string, changed int64, err error) {
	row, err := retryConflicts(ctx, "erase what pages share", func() (dbsqlc.ForgetPatternsRow, error) {
		return s.q.ForgetPatterns(ctx, dbsqlc.ForgetPatternsParams{Domain: domain, After: after, Most: ForgetStep})
	})
	return row.Last, row.Changed, err
}

// ImagesNamed are the images on other hosts that pages of a domain name, by the ids of their own pages.
func (s *Store) ImagesNamed(ctx context.Context, domain string, pages []int64) ([]int64, error) {
	named, err := s.q.ForgetNamed(ctx, dbsqlc.ForgetNamedParams{Domain: domain, Pages: pages})
	return named, translate("read which images pages name", err)
}

// ImagesAlone are those of some images that no page of another domain names now.
func (s *Store) ImagesAlone(ctx context.Context, domain string, images []int64) ([]int64, error) {
	alone, err := s.q.ForgetAlone(ctx, dbsqlc.ForgetAloneParams{Domain: domain, Pages: images})
	return alone, translate("read which pages name images", err)
}

// OwnContent is a content that no image has but some, by the ids of their pages.
type OwnContent struct {
	SHA256 string
	// Stored says that its bytes, or a small picture, should be in the store.
	Stored bool
	Images []int64
}

// ImageContentsOf are the contents that no image has but those given.
func (s *Store) ImageContentsOf(ctx context.Context, images []int64) ([]OwnContent, error) {
	rows, err := s.q.ForgetContents(ctx, images)
	own := make([]OwnContent, len(rows))
	for i, r := range rows {
		own[i] = OwnContent{SHA256: r.Sha256Hash, Stored: r.Stored, Images: r.Pages}
	}
	return own, translate("read the contents of images", err)
}

// ForgetImages erases what the fetches of images brought, and contents that no image has then. Have
// their bytes deleted before. It returns how many images had something.
func (s *Store) ForgetImages(ctx context.Context, images []int64) (int64, error) {
	return retryConflicts(ctx, "erase what images were", func() (int64, error) { return s.q.ForgetImages(ctx, images) })
}

// UnusedContents are those of the next contents after one that no image has; last is empty if there
// are no more.
func (s *Store) UnusedContents(ctx context.Context, after string) (unused []OwnContent, last string, err error) {
	rows, err := s.q.ForgetContentsAfter(ctx, dbsqlc.ForgetContentsAfterParams{After: after, Most: ForgetStep})
	for _, r := range rows {
		if last = r.Sha256Hash; !r.Had {
			unused = append(unused, OwnContent{SHA256: r.Sha256Hash, Stored: r.Stored})
		}
	}
	return unused, last, translate("read contents that no image has", err)
}

// DropContents deletes those of some contents that no image has, and returns how many they were.
func (s *Store) DropContents(ctx context.Context, sha256 []string) (int64, error) {
	return retryConflicts(ctx, "drop contents", func() (int64, error) { return s.q.ForgetContentsDrop(ctx, sha256) })
}

// PendingAttempt is one that is not closed.
type PendingAttempt struct {
	ID               int64
	Domain, URL, Run string
	Kind             kinds.Kind
	InFlight         bool
}

// PendingOf are the attempts at pages that are not closed.
func (s *Store) PendingOf(ctx context.Context, pages []int64) ([]PendingAttempt, error) {
	rows, err := s.q.ForgetPending(ctx, pages)
	all := make([]PendingAttempt, len(rows))
	for i, r := range rows {
		all[i] = PendingAttempt{ID: r.ID, Domain: r.Domain, URL: r.Url, Run: r.Run, Kind: kinds.Kind(r.Kind), InFlight: r.InFlight}
	}
	return all, translate("read what is pending", err)
}

// PagesCalled are the pages of other domains that pages of a domain link to, and that are found by
// what others call them.
func (s *Store) PagesCalled(ctx context.Context, domain string, pages []int64) ([]int64, error) {
	called, err := s.q.ForgetCalled(ctx, dbsqlc.ForgetCalledParams{Domain: domain, Pages: pages})
	return called, translate("read what pages call others", err)
}

// linkedOf are the pages of other domains to which a domain's pages link, and which are found.
func (s *Store) linkedOf(ctx context.Context, domain string) (map[int64]bool, error) {
	linked := map[int64]bool{}
	for after := ""; ; {
		pages, last, err := s.PagesOf(ctx, domain, after)
		if err != nil || len(pages) == 0 {
			return linked, err
		}
		some, err := s.q.ForgetLinked(ctx, dbsqlc.ForgetLinkedParams{Domain: domain, Pages: pages})
		if err != nil {
			return nil, translate("read what pages link to", err)
		}
		for _, page := range some {
			linked[page] = true
		}
		after = last
	}
}

// isForgotten is whether a segment has, among its dead pages, some of a domain or some that its pages
// have called something.
func (s *Store) isForgotten(ctx context.Context, domain string, linked map[int64]bool, dead []int64) (bool, error) {
	for _, page := range dead {
		if linked[page] {
			return true, nil
		}
	}
	for len(dead) > 0 {
		some := dead[:min(len(dead), 10*ForgetStep)]
		dead = dead[len(some):]
		n, err := s.q.ForgetCount(ctx, dbsqlc.ForgetCountParams{Domain: domain, Pages: some})
		if n > 0 || err != nil {
			return n > 0, translate("look whose pages are gone", err)
		}
	}
	return false, nil
}
