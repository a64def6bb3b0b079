package db

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/search/index"
)

// keywords is what a process needs to index pages.
type keywords struct {
	mu      sync.Mutex
	lexicon lexicon
	// wake says that a page has been recorded that waits to be indexed.
	wake chan struct{}
}

// KeywordsWake has a value when this process has recorded a page that waits to be indexed
// since the last one was taken.
func (s *Store) KeywordsWake() <-chan struct{} { return s.keywords.wake }

// keywordsWait says that a page waits.
func (s *Store) keywordsWait() {
	select {
	case s.keywords.wake <- struct{}{}:
	default:
	}
}

// keywordsBytes is how many bytes of terms are indexed in one transaction; the last page may
// exceed it. It bounds the memory, whatever pages say.
const keywordsBytes = 4 << 20

// WriteKeywords indexes at most so many waiting pages, in one transaction and as one
// segment. It takes the first pages after one, by their ids, except those that another
// process is writing. It returns the last page, 0 if none waits, and how many there were.
func (s *Store) WriteKeywords(ctx context.Context, after int64, most int) (last int64, n int, err error) {
	s.keywords.mu.Lock()
	defer s.keywords.mu.Unlock()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		rows, err := q.KeywordsTake(ctx, dbsqlc.KeywordsTakeParams{After: after, Most: int32Of(most), Bytes: keywordsBytes})
		if err != nil || len(rows) == 0 {
			return err
		}
		pages := make([]crawl.IndexedPage, len(rows))
		for i, r := range rows {
			if pages[i], err = waitingPage(r); err != nil {
				return err
			}
			last = max(last, r.PageID)
		}
		n = len(rows)
		version, err := q.IndexNext(ctx)
		if err != nil {
			return err
		}
		if err := called(ctx, q, pages); err != nil {
			return err
		}
		stored, err := storedKeywords(pages, version)
		if err != nil {
			return err
		}
		if err := q.KeywordsStore(ctx, stored); err != nil {
			return err
		}
		return s.addSegment(ctx, tx, pages, version)
	})
	if isUndefined(err) { // a page's text search configuration
		err = fmt.Errorf("%w: %w", crawl.ErrRefused, err)
	}
	return last, n, translate("index pages", err)
}

func waitingPage(r dbsqlc.KeywordsTakeRow) (crawl.IndexedPage, error) {
	p := crawl.IndexedPage{
		Page: r.PageID, Domain: r.Domain, Language: r.Language,
		Index: crawl.Index{
			Configs: r.Configs, Second: r.Second, Title: r.Title, Headings: r.Headings, Description: r.Description,
			Address: r.Address, Text: r.Body,
		},
	}
	if len(r.Sections) == 0 {
		return p, nil
	}
	return p, json.Unmarshal(r.Sections, &p.Sections)
}

// called adds to pages what others call them.
func called(ctx context.Context, q *dbsqlc.Queries, pages []crawl.IndexedPage) error {
	ids := make([]int64, len(pages))
	at := map[int64]int{}
	for i, p := range pages {
		ids[i], at[p.Page] = p.Page, i
	}
	rows, err := q.KeywordsAnchors(ctx, ids)
	for _, r := range rows {
		pages[at[r.PageID]].Anchors = r.Anchors
	}
	return err
}

// storedKeywords are pages as page_keywords has them.
func storedKeywords(pages []crawl.IndexedPage, version int64) (dbsqlc.KeywordsStoreParams, error) {
	p := dbsqlc.KeywordsStoreParams{Version: version}
	for _, x := range pages {
		p.Pages, p.Domains = append(p.Pages, x.Page), append(p.Domains, x.Domain)
		p.Languages, p.Seconds = append(p.Languages, x.Language), append(p.Seconds, x.Second)
		p.Configs = append(p.Configs, strings.Join(x.Configs, " "))
		p.Titles, p.Headings = append(p.Titles, x.Title), append(p.Headings, x.Headings)
		p.Descriptions, p.Addresses = append(p.Descriptions, x.Description), append(p.Addresses, x.Address)
		p.Bodies = append(p.Bodies, x.Text)
		sections := ""
		if len(x.Sections) > 0 {
			doc, err := json.Marshal(x.Sections)
			if err != nil {
				return p, err
			}
			sections = string(doc)
		}
		p.Sections = append(p.Sections, sections)
	}
	return p, nil
}

// addSegment makes a segment of pages and stores it.
func (s *Store) addSegment(ctx context.Context, tx pgx.Tx, pages []crawl.IndexedPage, version int64) error {
	q := s.q.WithTx(tx)
	if err := s.keywords.lexicon.learn(ctx, q, pages); err != nil {
		return err
	}
	if err := weigh(ctx, q, pages); err != nil {
		return err
	}
	b := index.Builder{Stems: s.keywords.lexicon.stems}
	for _, p := range pages {
		p.Version = version
		b.Add(p)
	}
	chunks := chunkWriter{ctx: ctx, tx: tx, segment: version}
	segment, err := b.Build(chunks.add)
	if err == nil {
		err = chunks.flush()
	}
	if err != nil {
		return err
	}
	segment.ID = version
	return storeSegment(ctx, q, segment)
}

func storeSegment(ctx context.Context, q *dbsqlc.Queries, s crawl.Segment) error {
	if s.Languages == nil {
		s.Languages = []string{}
	}
	return q.IndexAdd(ctx, dbsqlc.IndexAddParams{ID: s.ID, Pages: int32Of(s.Pages), Words: s.Words, Bytes: s.Bytes, Languages: s.Languages})
}

// weigh adds to pages what they are worth, and their dates.
func weigh(ctx context.Context, q *dbsqlc.Queries, pages []crawl.IndexedPage) error {
	p := dbsqlc.KeywordsFactsParams{}
	at := map[int64]int{}
	for i, x := range pages {
		p.Pages, p.Domains, at[x.Page] = append(p.Pages, x.Page), append(p.Domains, x.Domain), i
	}
	rows, err := q.KeywordsFacts(ctx, p)
	for _, r := range rows {
		x := &pages[at[r.PageID]]
		x.Worth, x.Date = r.Worth, r.Day
	}
	return err
}

// chunkWriter stores chunks of a segment, many at once.
type chunkWriter struct {
	ctx     context.Context //nolint:containedctx // of one segment
	tx      copier
	segment int64
	rows    [][]any
	size    int
}

// copier is a transaction, or a connection outside of one.
type copier interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// chunksAtOnce is how much is stored in one statement, in bytes.
const chunksAtOnce = 4 << 20

func (w *chunkWriter) add(c crawl.Chunk) error {
	w.rows = append(w.rows, []any{w.segment, int16(c.Kind), c.Key, c.Data})
	if w.size += len(c.Data); w.size < chunksAtOnce {
		return nil
	}
	return w.flush()
}

func (w *chunkWriter) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	_, err := w.tx.CopyFrom(w.ctx, pgx.Identifier{"index_chunks"}, []string{"segment_id", "kind", "key", "data"}, pgx.CopyFromRows(w.rows))
	w.rows, w.size = w.rows[:0], 0
	return err
}

// GiveUpKeywords gives the terms up of the first page that waits after one, which cannot be
// stored, and returns it; 0 if none waits. The page counts as one that an earlier
// extractor has read, so that it is read anew.
func (s *Store) GiveUpKeywords(ctx context.Context, after int64) (int64, error) {
	id, err := s.q.KeywordsGiveUp(ctx, after)
	return id, translate("give keywords up", err)
}

// KeywordsWaiting is how many pages wait to be indexed, counted up to most.
func (s *Store) KeywordsWaiting(ctx context.Context, most int) (int, error) {
	n, err := s.q.KeywordsWaiting(ctx, int32Of(most))
	return int(n), translate("count the pages that wait to be indexed", err)
}

// FoldAnchors gives pages the terms that others use for them, in place of those that they
// had before, and returns how many pages have changed.
func (s *Store) FoldAnchors(ctx context.Context, terms []crawl.AnchorTerms) (changed int, err error) {
	said := map[int64]string{}
	var ids []int64
	for _, t := range terms {
		said[t.Page] = t.Terms
		ids = append(ids, t.Page)
	}
	rows, err := s.q.KeywordsSaid(ctx, ids)
	if err != nil {
		return 0, translate("fold anchors", err)
	}
	rows = slices.DeleteFunc(rows, func(r dbsqlc.KeywordsSaidRow) bool { return r.Anchors == said[r.PageID] })
	ids = ids[:0]
	for _, r := range rows {
		ids = append(ids, r.PageID)
	}
	slices.Sort(ids)
	for some := range slices.Chunk(ids, foldedAtOnce) {
		n, err := retryConflicts(ctx, "fold anchors", func() (int, error) { return s.foldAnchors(ctx, some, said) })
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// foldedAtOnce is how many pages one transaction folds anchors into: it holds their rows,
// which a crawl may have to delete.
const foldedAtOnce = 50

func (s *Store) foldAnchors(ctx context.Context, ids []int64, said map[int64]string) (changed int, err error) {
	s.keywords.mu.Lock()
	defer s.keywords.mu.Unlock()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		rows, err := q.KeywordsAgain(ctx, ids)
		if err != nil {
			return err
		}
		var pages []crawl.IndexedPage
		p := dbsqlc.KeywordsCalledParams{}
		for _, r := range rows {
			if r.Anchors == said[r.PageID] {
				continue
			}
			pages = append(pages, crawl.IndexedPage{
				Page: r.PageID, Domain: r.Domain, Language: r.Language, Anchors: said[r.PageID],
				Index: crawl.Index{
					Configs: r.Configs, Second: r.Second, Title: r.Title, Headings: r.Headings, Description: r.Description,
					Address: r.Address, Text: r.Body,
				},
			})
			p.Pages, p.Anchors = append(p.Pages, r.PageID), append(p.Anchors, said[r.PageID])
		}
		if changed = len(pages); changed == 0 {
			return nil
		}
		if p.Version, err = q.IndexNext(ctx); err != nil {
			return err
		}
		if err := q.KeywordsCalled(ctx, p); err != nil {
			return err
		}
		return s.addSegment(ctx, tx, pages, p.Version)
	})
	return changed, err
}
