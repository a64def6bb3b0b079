package db

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// keywords is what a process needs to write keywords.
type keywords struct {
	mu      sync.Mutex
	lexicon lexicon
	// wake says that a page has been recorded that waits for its keywords.
	wake chan struct{}
}

// KeywordsWake has a value when this process has recorded a page that waits for its keywords
// since the last one was taken.
func (s *Store) KeywordsWake() <-chan struct{} { return s.keywords.wake }

// keywordsWait says that a page waits.
func (s *Store) keywordsWait() {
	select {
	case s.keywords.wake <- struct{}{}:
	default:
	}
}

// WriteKeywords makes keywords of the terms of at most so many waiting pages, in one
// transaction. It takes the first pages after one, by their ids, except those that another
// process is writing. It returns the last page and how many there were.
func (s *Store) WriteKeywords(ctx context.Context, after int64, most int) (last int64, n int, err error) {
	s.keywords.mu.Lock()
	defer s.keywords.mu.Unlock()
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		waiting, err := q.KeywordsTake(ctx, dbsqlc.KeywordsTakeParams{After: after, Most: int32(most)}) //nolint:gosec // some hundreds
		if err != nil || len(waiting) == 0 {
			return err
		}
		p, err := s.keywordsOf(ctx, q, waiting)
		if err != nil {
			return err
		}
		for _, id := range p.Pages {
			last = max(last, id)
		}
		n = len(waiting)
		return q.KeywordsStore(ctx, p)
	})
	if isUndefined(err) { // a page's text search configuration
		err = fmt.Errorf("%w: %w", crawl.ErrRefused, err)
	}
	return last, n, translate("write keywords", err)
}

// keywordsOf makes terms keywords.
func (s *Store) keywordsOf(ctx context.Context, q *dbsqlc.Queries, waiting []dbsqlc.KeywordsTakeRow) (dbsqlc.KeywordsStoreParams, error) {
	var p dbsqlc.KeywordsStoreParams
	known := &s.keywords.lexicon
	read, unknown := known.read(waiting)
	if len(unknown.terms) > 0 {
		vectors, err := q.KeywordsLexemes(ctx, dbsqlc.KeywordsLexemesParams{Configs: unknown.configs, Terms: unknown.terms})
		if err == nil {
			err = known.learn(unknown, vectors)
		}
		if err != nil {
			known.forget()
			return p, err
		}
	}
	for i, w := range waiting {
		p.Pages, p.Domains = append(p.Pages, w.PageID), append(p.Domains, w.Domain)
		p.Languages, p.Configs = append(p.Languages, w.Language), append(p.Configs, w.Config)
		p.Terms = append(p.Terms, known.vector(read[i]))
	}
	return p, nil
}

// GiveUpKeywords gives the terms up of the first page that waits after one, which cannot be
// stored, and returns it; 0 if none waits. The page counts as one that an earlier
// extractor has read, so that it is read anew.
func (s *Store) GiveUpKeywords(ctx context.Context, after int64) (int64, error) {
	id, err := s.q.KeywordsGiveUp(ctx, after)
	return id, translate("give keywords up", err)
}

// KeywordsWaiting is how many pages wait for their keywords, counted up to most.
func (s *Store) KeywordsWaiting(ctx context.Context, most int) (int, error) {
	n, err := s.q.KeywordsWaiting(ctx, int32(most)) //nolint:gosec // a bound of the caller's
	return int(n), translate("count the pages that wait for their keywords", err)
}
