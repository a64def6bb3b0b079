package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// BeginMoving stores that crawls completed before an instant may be in files from now on. It
// returns crawl.ErrInvalid if the session's role may not delete history, such as a worker's.
func (s *Store) BeginMoving(ctx context.Context, before time.Time) error {
	if err := s.CheckMoveRights(ctx); err != nil {
		return err
	}
	return translate("store the moved range", s.q.MovedNote(ctx, before))
}

// CheckMoveRights returns crawl.ErrInvalid if the session's role may not delete history.
func (s *Store) CheckMoveRights(ctx context.Context) error {
	rights, err := s.Rights(ctx)
	if err == nil && !rights.CanDelete {
		err = fmt.Errorf("%w: the role %s may not delete history: set DATABASE_URL to the owner of the schema", crawl.ErrInvalid, rights.Role)
	}
	return err
}

// MoveCrawls deletes crawls that a file has, some hundred in one transaction, and returns their
// number. It keeps crawls that something needs again. Call BeginMoving before.
func (s *Store) MoveCrawls(ctx context.Context, crawls []report.MovedCrawl) (moved int64, err error) {
	p := dbsqlc.AttemptsDeleteMovedParams{}
	for _, c := range crawls {
		p.Ids, p.Ended = append(p.Ids, c.ID), append(p.Ended, c.CompletedAt)
	}
	return retryConflicts(ctx, "delete moved attempts", func() (int64, error) {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SET LOCAL mosey.allow_delete = 'crawls'")
			if err == nil {
				moved, err = s.q.WithTx(tx).AttemptsDeleteMoved(ctx, p)
			}
			return err
		})
		return moved, err
	})
}

// Moved returns the number of moved crawls.
func (s *Store) Moved(ctx context.Context) (int64, error) {
	n, err := s.q.CheckMoved(ctx)
	return n, translate("count moved attempts", err)
}

// movedOf reports the part of a domain's history that is in files; nil means an empty part.
func movedOf(ctx context.Context, q *dbsqlc.Queries, domain string) (*report.MovedHistory, error) {
	row, err := q.MovedGet(ctx, domain)
	if err != nil || row.Attempts == 0 {
		return nil, translate("read the moved history of "+domain, err)
	}
	return &report.MovedHistory{Before: valueOf(row.MovedBefore), Attempts: row.Attempts}, nil
}
