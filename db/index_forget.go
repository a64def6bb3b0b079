package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/search/index"
)

// ForgetIndexed writes those segments of the search index anew that have pages of a domain, which are
// found no more, or what these called others. It is to be called when their rows are gone. It returns
// how many those were, and false where another process merges segments: call it again then.
func (s *Store) ForgetIndexed(ctx context.Context, domain string, tell func(done, all int)) (written int, free bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, false, translate("erase words from the index", err)
	}
	defer conn.Release()
	// Both locks: a merge that has begun before the rows were gone still writes what they had.
	for _, lock := range []int64{mergeLock, mergeLock + 1} {
		locked := false
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lock).Scan(&locked); err != nil || !locked {
			return 0, false, translate("erase words from the index", err)
		}
		defer func() {
			_, fault := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", lock)
			err = errors.Join(err, fault)
		}()
	}
	written, err = s.forgetIndexed(ctx, conn, domain, tell)
	return written, true, translate("erase words from the index", err)
}

func (s *Store) forgetIndexed(ctx context.Context, conn *pgxpool.Conn, domain string, tell func(done, all int)) (written int, err error) {
	q := dbsqlc.New(conn)
	for _, large := range []bool{false, true} { // what merges have left that were killed
		if err := q.IndexMergesEnd(ctx, large); err != nil {
			return 0, err
		}
	}
	linked, err := s.linkedOf(ctx, domain)
	if err != nil {
		return 0, err
	}
	segments, err := segmentsOf(ctx, q)
	if err != nil {
		return 0, err
	}
	for i, segment := range segments {
		tell(i, len(segments))
		dead, err := index.DeadPages(ctx, indexReader{s.q}, segment)
		if err != nil {
			return written, err
		}
		has, err := s.isForgotten(ctx, domain, linked, dead)
		if err != nil {
			return written, err
		}
		if !has {
			continue
		}
		if err := s.merge(ctx, conn, []crawl.Segment{segment}, false); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}
