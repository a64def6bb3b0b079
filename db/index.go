package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/search/index"
)

// mergeLock is the advisory lock of the one process that merges small segments, and the next number
// of the one for large segments.
const mergeLock = 0x6d6f736579_06

// withLocks runs fn on a connection that holds advisory locks, or returns false without them.
func (s *Store) withLocks(
	ctx context.Context, op string, locks []int64, fn func(*pgxpool.Conn) error,
) (locked bool, err error) {
	defer func() { err = translate(op, err) }()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	for _, lock := range locks {
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lock).Scan(&locked); err != nil || !locked {
			return false, err
		}
		defer func() {
			_, unlockErr := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", lock)
			err = errors.Join(err, unlockErr)
		}()
	}
	return true, fn(conn)
}

// MergeIndex merges index segments of about the same size, small or large, if there are enough, or
// else rewrites one with many dead pages. It returns false without work and while another one
// merges.
func (s *Store) MergeIndex(ctx context.Context, large bool) (merged bool, err error) {
	lock := int64(mergeLock)
	if large {
		lock++
	}
	_, err = s.withLocks(ctx, "merge the index", []int64{lock}, func(conn *pgxpool.Conn) error {
		merging, err := s.segmentsToMerge(ctx, dbsqlc.New(conn), large)
		if err != nil || len(merging) == 0 {
			return err
		}
		merged = true
		return s.merge(ctx, conn, merging, large)
	})
	return merged, err
}

func (s *Store) segmentsToMerge(ctx context.Context, q *dbsqlc.Queries, large bool) ([]crawl.Segment, error) {
	segments, err := segmentsOf(ctx, q)
	if err != nil {
		return nil, err
	}
	if merging := index.SelectForMerge(segments, large); len(merging) > 0 {
		return merging, nil
	}
	candidate, due := index.SelectForCheck(segments, large)
	if !due {
		return nil, nil
	}
	dead, err := index.DeadPages(ctx, indexReader{s.q}, candidate)
	if err != nil {
		return nil, err
	}
	if err := q.IndexChecked(ctx, candidate.ID); err != nil || !index.NeedsRewrite(candidate, len(dead)) {
		return nil, err
	}
	return []crawl.Segment{candidate}, nil
}

func (s *Store) merge(ctx context.Context, conn *pgxpool.Conn, merging []crawl.Segment, large bool) error {
	q := dbsqlc.New(conn)
	if err := q.IndexMergesDrop(ctx, large); err != nil {
		return err
	}
	id, err := q.IndexNext(ctx)
	if err != nil {
		return err
	}
	if err := q.IndexMergeBegin(ctx, dbsqlc.IndexMergeBeginParams{SegmentID: id, Large: large}); err != nil {
		return err
	}
	segment, err := writeChunks(ctx, conn.Conn(), id, func(out func(crawl.Chunk) error) (crawl.Segment, error) {
		return index.Merge(ctx, indexReader{s.q}, merging, out)
	})
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		q := dbsqlc.New(tx)
		if segment.Pages > 0 {
			if err := storeSegment(ctx, q, segment); err != nil {
				return err
			}
		}
		if err := q.IndexDrop(ctx, mapRows(merging, func(x crawl.Segment) int64 { return x.ID })); err != nil {
			return err
		}
		return q.IndexMergesDrop(ctx, large)
	})
}

// ForgetIndexed rewrites the index segments with erased pages of a domain, or with its texts of
// links to other pages. Call it after the rows are erased. It returns the number of these
// segments, and false while another process merges: call it again then.
func (s *Store) ForgetIndexed(ctx context.Context, domain string, onProgress func(done, all int)) (written int, free bool, err error) {
	// Both locks, because an earlier merge still writes the erased words.
	locks := []int64{mergeLock, mergeLock + 1}
	free, err = s.withLocks(ctx, "erase words from the index", locks, func(conn *pgxpool.Conn) (err error) {
		written, err = s.forgetIndexed(ctx, conn, domain, onProgress)
		return err
	})
	return written, free, err
}

func (s *Store) forgetIndexed(
	ctx context.Context, conn *pgxpool.Conn, domain string, onProgress func(done, all int),
) (written int, err error) {
	q := dbsqlc.New(conn)
	for _, large := range []bool{false, true} { // chunks of merges that were killed
		if err := q.IndexMergesDrop(ctx, large); err != nil {
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
		onProgress(i, len(segments))
		dead, err := index.DeadPages(ctx, indexReader{s.q}, segment)
		if err != nil {
			return written, err
		}
		isAffected, err := s.isForgotten(ctx, domain, linked, dead)
		if err != nil {
			return written, err
		}
		if !isAffected {
			continue
		}
		if err := s.merge(ctx, conn, []crawl.Segment{segment}, false); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

func segmentsOf(ctx context.Context, q *dbsqlc.Queries) ([]crawl.Segment, error) {
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	rows, err := q.IndexSegments(ctx)
	return mapRows(rows, func(r dbsqlc.IndexSegmentsRow) crawl.Segment {
		return crawl.Segment{
			ID: r.ID, Pages: int(r.Pages), Words: r.Words, Bytes: r.Bytes, Languages: r.Languages,
			Age: seconds(r.Age), SinceCheck: seconds(r.Unchecked),
		}
	}), err
}

// indexReader implements index.Scanner, and in a transaction index.View.
type indexReader struct{ q *dbsqlc.Queries }

func (r indexReader) Terms(ctx context.Context, segments []int64, keys []string) ([][]byte, error) {
	out := make([][]byte, len(segments)*len(keys))
	if len(out) == 0 {
		return out, nil
	}
	p := dbsqlc.IndexTermsParams{Kind: int16(index.KindTerms)}
	for _, segment := range segments {
		for _, key := range keys {
			p.Segments, p.Keys = append(p.Segments, segment), append(p.Keys, []byte(key))
		}
	}
	rows, err := r.q.IndexTerms(ctx, p)
	for _, row := range rows {
		out[row.N-1] = row.Data
	}
	return out, translate("read the index", err)
}

func (r indexReader) Chunks(ctx context.Context, refs []crawl.ChunkRef) ([][]byte, error) {
	out := make([][]byte, len(refs))
	p := dbsqlc.IndexChunksParams{}
	for _, ref := range refs {
		p.Segments, p.Kinds, p.Keys = append(p.Segments, ref.Segment), append(p.Kinds, int16(ref.Kind)), append(p.Keys, []byte(ref.Key))
	}
	rows, err := r.q.IndexChunks(ctx, p)
	for _, row := range rows {
		out[row.N-1] = row.Data
	}
	return out, translate("read the index", err)
}

func (r indexReader) Scan(ctx context.Context, segment int64, kind crawl.ChunkKind, after []byte, limit int) ([]crawl.Chunk, error) {
	if after == nil {
		after = []byte{}
	}
	rows, err := r.q.IndexScan(ctx, dbsqlc.IndexScanParams{SegmentID: segment, Kind: int16(kind), After: after, Max: int32Of(limit)})
	return mapRows(rows, func(row dbsqlc.IndexScanRow) crawl.Chunk {
		return crawl.Chunk{Kind: kind, Key: row.Key, Data: row.Data}
	}), translate("read the index", err)
}

func (r indexReader) Scores(ctx context.Context, pages []int64) (versions []int64, scores []float32, err error) {
	rows, err := r.q.IndexScores(ctx, pages)
	for _, row := range rows {
		versions, scores = append(versions, row.Version), append(scores, row.Score)
	}
	return versions, scores, translate("read scores of pages", err)
}

// UpdateSegmentScores stores the current scores of pages in the next segment after one. It returns
// this segment, 0 at the end, and the number of its pages.
func (s *Store) UpdateSegmentScores(ctx context.Context, after int64) (segment int64, pages int, err error) {
	segments, err := segmentsOf(ctx, s.q)
	if err != nil {
		return 0, 0, translate("rank found pages", err)
	}
	i := slices.IndexFunc(segments, func(x crawl.Segment) bool { return x.ID > after })
	if i < 0 {
		return 0, 0, nil
	}
	err = index.UpdateWorths(ctx, indexReader{s.q}, segments[i], func(c crawl.Chunk) error {
		return s.q.IndexNormsStore(ctx, dbsqlc.IndexNormsStoreParams{
			SegmentID: segments[i].ID, Kind: int16(c.Kind), Key: c.Key, Data: c.Data,
		})
	})
	return segments[i].ID, segments[i].Pages, translate("rank found pages", err)
}

// Index runs fn on a snapshot of the search index.
func (s *Store) Index(ctx context.Context, fn func(index.View) error) error {
	var failed error
	err := s.snapshot(ctx, nil, func(tx pgx.Tx) error {
		failed = fn(indexReader{s.q.WithTx(tx)})
		return failed
	})
	if failed != nil {
		return failed
	}
	return translate("search", err)
}

func (r indexReader) Segments(ctx context.Context) ([]crawl.Segment, error) {
	segments, err := segmentsOf(ctx, r.q)
	return segments, translate("read the index", err)
}

func (r indexReader) Stems(ctx context.Context, configs, terms []string) ([][]string, error) {
	stems, err := stemsOf(ctx, r.q, configs, terms)
	return stems, translate("find stems", err)
}

func (r indexReader) Pages(ctx context.Context, hits []index.Hit) ([]report.SearchHit, error) {
	p := dbsqlc.SearchPagesParams{}
	for _, h := range hits {
		p.Pages, p.Versions = append(p.Pages, h.Page), append(p.Versions, h.Version)
	}
	rows, err := r.q.SearchPages(ctx, p)
	if err != nil {
		return nil, translate("read found pages", err)
	}
	pages := make([]report.SearchHit, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.Hit, &pages[i]); err != nil {
			return nil, fmt.Errorf("read found pages: %w", err)
		}
		pages[i].Score = hits[r.N-1].Score
	}
	return pages, nil
}

func (r indexReader) Outlines(ctx context.Context, pages []int64) ([]report.SearchOutline, error) {
	rows, err := r.q.SearchOutlines(ctx, pages)
	return mapRows(rows, func(r dbsqlc.SearchOutlinesRow) report.SearchOutline {
		return report.SearchOutline{Page: r.PageID, Text: r.Body, Outline: r.Outline}
	}), translate("read headings", err)
}
