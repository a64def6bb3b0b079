package db

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/search/index"
)

type keywords struct {
	mu      sync.Mutex
	lexicon lexicon
	// wake has a value after a page was recorded that waits to be indexed.
	wake chan struct{}
}

// KeywordsWake has a value after this process has recorded a page that waits to be indexed.
func (s *Store) KeywordsWake() <-chan struct{} { return s.keywords.wake }

const (
	// keywordsBytes bounds the terms of a transaction, and so the memory, except for the last page.
	keywordsBytes = 4 << 20
	// copyBytes is the number of bytes that one statement stores.
	copyBytes = 4 << 20
	// foldBatch is the number of pages in a transaction of StoreAnchors, which locks their rows.
	foldBatch = 50
)

// WriteKeywords indexes at most limit waiting pages after one, by id, as one segment. It skips
// pages that another process is writing. It returns the last page, 0 if no page waits, and their
// number.
func (s *Store) WriteKeywords(ctx context.Context, after int64, limit int) (last int64, n int, err error) {
	s.keywords.mu.Lock()
	defer s.keywords.mu.Unlock()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		ids, err := q.KeywordsLockPending(ctx, dbsqlc.KeywordsLockPendingParams{After: after, Max: int32Of(limit), Bytes: keywordsBytes})
		if err != nil || len(ids) == 0 {
			return err
		}
		n, last = len(ids), ids[len(ids)-1]
		rows, err := q.KeywordsLockTerms(ctx, ids)
		if err != nil {
			return err
		}
		pages := mapRows(rows, func(r dbsqlc.KeywordsLockTermsRow) crawl.IndexedPage { return indexedPage(r, r.AnchorTerms) })
		version, err := q.IndexNext(ctx)
		if err != nil {
			return err
		}
		if err := q.KeywordsIndexed(ctx, dbsqlc.KeywordsIndexedParams{Version: version, Pages: ids}); err != nil {
			return err
		}
		return s.addSegment(ctx, tx, pages, version)
	})
	if codeOf(err) == codeUndefinedObject { // a page's text search configuration
		err = fmt.Errorf("%w: %w", crawl.ErrRefused, err)
	}
	return last, n, translate("index pages", err)
}

// indexedPage converts a row, with the terms of other domains for the page.
func indexedPage(r dbsqlc.KeywordsLockTermsRow, anchors string) crawl.IndexedPage {
	return crawl.IndexedPage{
		Page: r.PageID, Domain: r.Domain, Language: r.Language, Anchors: anchors,
		Index: crawl.Index{
			Configs: r.Configs, SecondLanguage: r.SecondLanguage, Title: r.Title, Headings: r.Headings, Description: r.Description,
			Address: r.Address, Text: r.Body, Words: int(r.Words), TitleWords: int(r.TitleWords),
		},
	}
}

// addSegment stores pages as a new segment.
func (s *Store) addSegment(ctx context.Context, tx pgx.Tx, pages []crawl.IndexedPage, version int64) error {
	q := s.q.WithTx(tx)
	if err := s.keywords.lexicon.learn(ctx, q, pages); err != nil {
		return err
	}
	if err := addScoresAndDates(ctx, q, pages); err != nil {
		return err
	}
	for i := range pages {
		pages[i].Version = version
	}
	segment, err := writeChunks(ctx, tx, version, func(out func(crawl.Chunk) error) (crawl.Segment, error) {
		return index.Build(pages, s.keywords.lexicon.stems, out)
	})
	if err != nil {
		return err
	}
	return storeSegment(ctx, q, segment)
}

func storeSegment(ctx context.Context, q *dbsqlc.Queries, s crawl.Segment) error {
	if s.Languages == nil {
		s.Languages = []string{}
	}
	return q.IndexAdd(ctx, dbsqlc.IndexAddParams{ID: s.ID, Pages: int32Of(s.Pages), Words: s.Words, Bytes: s.Bytes, Languages: s.Languages})
}

// addScoresAndDates adds their scores and dates to pages.
func addScoresAndDates(ctx context.Context, q *dbsqlc.Queries, pages []crawl.IndexedPage) error {
	p := dbsqlc.KeywordsScoresParams{}
	position := map[int64]int{}
	for i, x := range pages {
		p.Pages, p.Domains, position[x.Page] = append(p.Pages, x.Page), append(p.Domains, x.Domain), i
	}
	rows, err := q.KeywordsScores(ctx, p)
	for _, r := range rows {
		x := &pages[position[r.PageID]]
		x.Score, x.Date = r.Score, r.Day
	}
	return err
}

// copier is a transaction, or a connection outside of one.
type copier interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// writeChunks stores the chunks of build, many at once, and returns the segment with its id.
func writeChunks(
	ctx context.Context, tx copier, id int64, build func(out func(crawl.Chunk) error) (crawl.Segment, error),
) (crawl.Segment, error) {
	var rows [][]any
	size := 0
	flush := func() error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"index_chunks"}, []string{"segment_id", "kind", "key", "data"}, pgx.CopyFromRows(rows))
		rows, size = rows[:0], 0
		return err
	}
	segment, err := build(func(c crawl.Chunk) error {
		rows = append(rows, []any{id, int16(c.Kind), c.Key, c.Data})
		if size += len(c.Data); size < copyBytes {
			return nil
		}
		return flush()
	})
	segment.ID = id
	if err == nil && len(rows) > 0 {
		err = flush()
	}
	return segment, err
}

// AbandonKeywords drops the terms of the first waiting page after one, because they cannot be
// stored, so that the page is read anew. It returns the page, 0 if no page waits.
func (s *Store) AbandonKeywords(ctx context.Context, after int64) (int64, error) {
	id, err := s.q.KeywordsDropNext(ctx, after)
	return id, translate("abandon keywords", err)
}

// KeywordsWaiting counts the pages that wait to be indexed, up to limit.
func (s *Store) KeywordsWaiting(ctx context.Context, limit int) (int, error) {
	n, err := s.q.KeywordsCountPending(ctx, int32Of(limit))
	return int(n), translate("count pages to index", err)
}

// StoreAnchors replaces the terms of other pages for pages, and returns the number of changed
// pages.
func (s *Store) StoreAnchors(ctx context.Context, terms []crawl.AnchorTerms) (changed int, err error) {
	anchors := map[int64]string{}
	var ids []int64
	for _, t := range terms {
		anchors[t.Page] = t.Terms
		ids = append(ids, t.Page)
	}
	rows, err := s.q.KeywordsGetAnchors(ctx, ids)
	if err != nil {
		return 0, translate("fold anchors", err)
	}
	rows = slices.DeleteFunc(rows, func(r dbsqlc.KeywordsGetAnchorsRow) bool { return r.AnchorTerms == anchors[r.PageID] })
	ids = mapRows(rows, func(r dbsqlc.KeywordsGetAnchorsRow) int64 { return r.PageID })
	slices.Sort(ids)
	for chunk := range slices.Chunk(ids, foldBatch) {
		n, err := retryConflicts(ctx, "fold anchors", func() (int, error) { return s.storeAnchors(ctx, chunk, anchors) })
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

func (s *Store) storeAnchors(ctx context.Context, ids []int64, anchors map[int64]string) (changed int, err error) {
	s.keywords.mu.Lock()
	defer s.keywords.mu.Unlock()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		rows, err := q.KeywordsLockTerms(ctx, ids)
		if err != nil {
			return err
		}
		var pages []crawl.IndexedPage
		p := dbsqlc.KeywordsSetAnchorsParams{}
		for _, r := range rows {
			if r.AnchorTerms == anchors[r.PageID] {
				continue
			}
			pages = append(pages, indexedPage(r, anchors[r.PageID]))
			p.Pages, p.Anchors = append(p.Pages, r.PageID), append(p.Anchors, anchors[r.PageID])
		}
		if changed = len(pages); changed == 0 {
			return nil
		}
		if p.Version, err = q.IndexNext(ctx); err != nil {
			return err
		}
		if err := q.KeywordsSetAnchors(ctx, p); err != nil {
			return err
		}
		return s.addSegment(ctx, tx, pages, p.Version)
	})
	return changed, err
}
