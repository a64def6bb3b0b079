package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// feedBatch is the number of attempts in one statement. A page may have thousands of links.
	feedBatch = 100
	// feedDisorder is the number of attempts that may be recorded after another that ended later:
	// more than fleets have in flight.
	feedDisorder = 10_000
	// transactionInterval is the wait between looks at the transactions in progress.
	transactionInterval = 20 * time.Millisecond
)

// FeedEnd returns the last position in the feed, once no attempt can still precede it: it waits
// for the transactions in progress. It returns a position of at most after if none follows.
func (s *Store) FeedEnd(ctx context.Context, after int64) (int64, error) {
	last, err := s.q.FeedLast(ctx)
	if err != nil || last <= after {
		return last, translate("read the end of the feed", err)
	}
	// An attempt takes its position after its transaction's id, so that each earlier position
	// belongs to a transaction before this one.
	first, err := s.q.FeedTransactions(ctx)
	for now := first; err == nil && now.Oldest < first.Next; now, err = s.q.FeedTransactions(ctx) {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for the transactions in progress: %w", ctx.Err())
		case <-time.After(transactionInterval):
		}
	}
	return last, translate("read the transactions in progress", err)
}

// FeedSince returns the position before the first attempt that ended at an instant or later.
func (s *Store) FeedSince(ctx context.Context, since time.Time) (report.FeedPosition, error) {
	first, err := s.q.FeedSince(ctx, dbsqlc.FeedSinceParams{Since: since, Max: feedDisorder})
	if first == 0 { // no attempt yet
		last, lastErr := s.q.FeedLast(ctx)
		first, err = last+1, cmp.Or(err, lastErr)
	}
	return report.FeedPosition{Number: first - 1}, translate("find the position", err)
}

// CheckFeedPosition returns crawl.ErrNotFound if no attempt of this database has a position, for
// instance after the restore of a backup.
func (s *Store) CheckFeedPosition(ctx context.Context, p report.FeedPosition) error {
	if p.At.IsZero() {
		return nil
	}
	r, err := s.q.FeedAttempt(ctx, p.Number)
	switch {
	case err != nil:
		return translate("check the position", err)
	case r.CompletedAt != nil && r.CompletedAt.Equal(p.At), r.CompletedAt == nil && p.At.Before(valueOf(r.MovedBefore)):
		return nil
	}
	return fmt.Errorf("position %d: %w", p.Number, crawl.ErrNotFound)
}

// Feed reads the next attempts at pages and images after a position, up to the last one, of one run
// or of all. next is the position of the last attempt of the batch. All of the batch may belong to
// other runs or kinds, so that rows may be empty before the end. At the end next equals after.
func (s *Store) Feed(
	ctx context.Context, runID *int64, after report.FeedPosition, last int64,
) (rows []report.FeedRow, next report.FeedPosition, err error) {
	keys, err := s.q.FeedKeys(ctx, dbsqlc.FeedKeysParams{After: after.Number, Last: last, Max: feedBatch})
	if err != nil || len(keys) == 0 {
		return nil, after, translate("list the next attempts", err)
	}
	end := keys[len(keys)-1]
	next = report.FeedPosition{Number: end.Position, At: end.CompletedAt}
	keys = slices.DeleteFunc(keys, func(k dbsqlc.FeedKeysRow) bool {
		kind := kinds.Kind(k.Kind)
		return k.Prerequisite || runID != nil && k.RunID != *runID || !kind.Document() && !kind.Image() ||
			crawl.Outcome(k.Outcome) == crawl.OutcomeSkipped
	})
	rows, err = s.feedRows(ctx, keys)
	return rows, next, translate("read the feed", err)
}

func (s *Store) feedRows(ctx context.Context, keys []dbsqlc.FeedKeysRow) ([]report.FeedRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var ids, pages, images []int64
	for _, k := range keys {
		ids = append(ids, k.ID)
		if kinds.Kind(k.Kind).Image() {
			images = append(images, k.PageID)
		} else {
			pages = append(pages, k.PageID)
		}
	}
	attempts, err := s.q.ExportCrawls(ctx, dbsqlc.ExportCrawlsParams{Ids: ids})
	if err != nil {
		return nil, err
	}
	found, err := s.feedPages(ctx, pages)
	if err != nil {
		return nil, err
	}
	imagesFound, err := imageRows(ctx, s.q, images)
	if err != nil {
		return nil, err
	}
	for _, i := range imagesFound {
		found[i.PageID] = &report.FeedRow{Image: i}
	}
	byID := make(map[int64]dbsqlc.ExportCrawlsRow, len(attempts))
	for _, a := range attempts {
		byID[a.ID] = a
	}
	var rows []report.FeedRow
	for _, k := range keys {
		attempt, page := byID[k.ID], found[k.PageID]
		if attempt.ID == 0 || page == nil {
			continue // moved to a file meanwhile
		}
		row := *page
		row.Position = report.FeedPosition{Number: k.Position, At: k.CompletedAt}
		row.Attempt, row.WasRead = crawlRow(attempt), k.WasRead
		rows = append(rows, row)
	}
	return rows, nil
}

// feedPages reads pages with their links and images, without those that are gone.
func (s *Store) feedPages(ctx context.Context, ids []int64) (map[int64]*report.FeedRow, error) {
	found := make(map[int64]*report.FeedRow, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	pages, err := s.q.ExportPages(ctx, dbsqlc.ExportPagesParams{Ids: ids})
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		page, err := pageRow(p)
		if err != nil {
			return nil, err
		}
		found[p.ID] = &report.FeedRow{Page: page}
	}
	links, err := s.q.ExportLinks(ctx, dbsqlc.ExportLinksParams{Ids: ids})
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if l.GoneAt == nil {
			found[l.FromID].Links = append(found[l.FromID].Links, linkRow(l))
		}
	}
	images, err := s.q.ExportProvenance(ctx, dbsqlc.ExportProvenanceParams{Pages: ids})
	for _, i := range images {
		if i.GoneAt == nil {
			found[i.PageID].Images = append(found[i.PageID].Images, provenanceRow(i))
		}
	}
	for _, row := range found {
		slices.SortFunc(row.Links, func(a, b report.LinkRow) int { return cmp.Compare(a.ToID, b.ToID) })
		slices.SortFunc(row.Images, func(a, b report.ProvenanceRow) int { return cmp.Compare(a.ID, b.ID) })
	}
	return found, err
}
