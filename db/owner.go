package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Owner returns the stored signs of a domain's owner; zero if they are unknown.
func (s *Store) Owner(ctx context.Context, domain string) (o crawl.Owner, err error) {
	doc, err := s.q.OwnerGet(ctx, domain)
	if err != nil || doc == "" {
		return o, translate("read the owner of "+domain, err)
	}
	if err := json.Unmarshal([]byte(doc), &o); err != nil {
		return o, fmt.Errorf("read the owner of %s: %w", domain, err)
	}
	return o, nil
}

// SetOwner stores the signs of a domain's owner.
func (s *Store) SetOwner(ctx context.Context, domain string, o crawl.Owner) error {
	return s.setOwner(ctx, domain, o, false)
}

// ChangeOwner stores the signs of another owner. The pages of the domain leave the index, with
// their links, and are read anew at their next visit. Its ranks end, and links from before do not
// count any more. A killed call can be repeated, because the signs are stored last.
func (s *Store) ChangeOwner(ctx context.Context, domain string, o crawl.Owner) error {
	for after := ""; ; {
		pages, last, err := s.PagesOf(ctx, domain, after)
		if err != nil {
			return err
		}
		if len(pages) == 0 {
			break
		}
		if err := s.RemovePages(ctx, pages); err != nil {
			return err
		}
		after = last
	}
	_, err := retryConflicts(ctx, "drop the rank of "+domain, func() (int32, error) {
		return s.q.RankDomainsDrop(ctx, []string{domain})
	})
	if err != nil {
		return err
	}
	return s.setOwner(ctx, domain, o, true)
}

func (s *Store) setOwner(ctx context.Context, domain string, o crawl.Owner, isNew bool) error {
	doc, err := document("the owner of "+domain, o)
	if err != nil {
		return err
	}
	return retry(ctx, "store the owner of "+domain, func() error {
		return s.q.OwnerSet(ctx, dbsqlc.OwnerSetParams{Domain: domain, Owner: doc, IsNew: isNew})
	})
}

// RemovePages removes pages from the index, with their links and ranks. They are read anew at their
// next visit.
func (s *Store) RemovePages(ctx context.Context, pages []int64) error {
	rows, err := s.q.OwnerPages(ctx, pages)
	if err != nil {
		return translate("find pages to remove", err)
	}
	_, err = s.StoreReread(ctx, mapRows(rows, func(r dbsqlc.OwnerPagesRow) crawl.Attempt {
		return crawl.Attempt{
			ID: r.ID, Domain: r.Domain, Outcome: crawl.OutcomeSuccess, Ended: r.FetchedAt, AllLinks: true, AllSitemaps: true, AllImages: true,
			Page: &crawl.PageUpdate{Signals: &crawl.Signals{}, RemoveFromIndex: true},
		}
	}))
	if err != nil {
		return err
	}
	return retry(ctx, "drop the ranks of pages", func() error { return s.q.OwnerDropRanks(ctx, pages) })
}

// RemoveMissing removes pages of a domain, by their URLs, like RemovePages.
func (s *Store) RemoveMissing(ctx context.Context, domain string, urls []string) error {
	var pages []int64
	for _, url := range urls {
		p, err := s.q.PageGet(ctx, dbsqlc.PageGetParams{Domain: domain, Url: url})
		if err != nil {
			return translate("page "+url, err)
		}
		pages = append(pages, p.ID)
	}
	return s.RemovePages(ctx, pages)
}
