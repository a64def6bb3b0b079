package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
	"github.com/mosey-web/mosey/search/index"
)

// mergeLock is the advisory lock of the one process that merges small segments. The next
// number is that of large ones.
const mergeLock = 0x6d6f736579_06

// MergeIndex merges segments of the search index of about the same size, small or large
// ones, if there are enough of them. Otherwise it writes one anew that has many pages which
// are gone, if there is such a one. It reports whether there was something to do; false, too, while
// another process does it.
func (s *Store) MergeIndex(ctx context.Context, large bool) (merged bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, translate("merge the index", err)
	}
	defer conn.Release()
	lock, locked := int64(mergeLock), false
	if large {
		lock++
	}
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lock).Scan(&locked); err != nil || !locked {
		return false, translate("merge the index", err)
	}
	defer func() {
		unlock := context.WithoutCancel(ctx)
		_, fault := conn.Exec(unlock, "SELECT pg_advisory_unlock($1)", lock)
		err = errors.Join(err, fault)
	}()
	some, err := s.toMerge(ctx, dbsqlc.New(conn), large)
	if err == nil && len(some) > 0 {
		merged, err = true, s.merge(ctx, conn, some, large)
	}
	return merged, translate("merge the index", err)
}

// toMerge are the segments to be merged next.
func (s *Store) toMerge(ctx context.Context, q *dbsqlc.Queries, large bool) ([]crawl.Segment, error) {
	segments, err := segmentsOf(ctx, q)
	if err != nil {
		return nil, err
	}
	if some := index.ToMerge(segments, large); len(some) > 0 {
		return some, nil
	}
	one, due := index.ToCheck(segments, large)
	if !due {
		return nil, nil
	}
	dead, err := index.Dead(ctx, indexReader{s.q}, one)
	if err != nil {
		return nil, err
	}
	if err := q.IndexChecked(ctx, one.ID); err != nil || !index.Outlived(one, dead) {
		return nil, err
	}
	return []crawl.Segment{one}, nil
}

// merge makes one segment of several.
func (s *Store) merge(ctx context.Context, conn *pgxpool.Conn, some []crawl.Segment, large bool) error {
	q := dbsqlc.New(conn)
	if err := q.IndexMergesEnd(ctx, large); err != nil {
		return err
	}
	id, err := q.IndexNext(ctx)
	if err != nil {
		return err
	}
	if err := q.IndexMergeBegin(ctx, dbsqlc.IndexMergeBeginParams{SegmentID: id, Large: large}); err != nil {
		return err
	}
	chunks := chunkWriter{ctx: ctx, tx: conn.Conn(), segment: id}
	segment, err := index.Merge(ctx, indexReader{s.q}, some, chunks.add)
	if err == nil {
		err = chunks.flush()
	}
	if err != nil {
		return err
	}
	segment.ID = id
	ids := make([]int64, len(some))
	for i, x := range some {
		ids[i] = x.ID
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		q := dbsqlc.New(tx)
		if segment.Pages > 0 {
			if err := storeSegment(ctx, q, segment); err != nil {
				return err
			}
		}
		if err := q.IndexDrop(ctx, ids); err != nil {
			return err
		}
		return q.IndexMergesEnd(ctx, large)
	})
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func segmentsOf(ctx context.Context, q *dbsqlc.Queries) ([]crawl.Segment, error) {
	rows, err := q.IndexSegments(ctx)
	segments := make([]crawl.Segment, len(rows))
	for i, r := range rows {
		segments[i] = crawl.Segment{
			ID: r.ID, Pages: int(r.Pages), Words: r.Words, Bytes: r.Bytes, Languages: r.Languages,
			Age: seconds(r.Age), Unchecked: seconds(r.Unchecked),
		}
	}
	return segments, err
}

// indexReader reads the index.
type indexReader struct{ q *dbsqlc.Queries }

// Terms fulfils index.Source.
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

// Chunks fulfils index.Source.
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

// Scan fulfils index.Scanner.
func (r indexReader) Scan(ctx context.Context, segment int64, kind crawl.ChunkKind, after []byte, most int) ([]crawl.Chunk, error) {
	if after == nil {
		after = []byte{}
	}
	rows, err := r.q.IndexScan(ctx, dbsqlc.IndexScanParams{SegmentID: segment, Kind: int16(kind), After: after, Most: int32Of(most)})
	chunks := make([]crawl.Chunk, len(rows))
	for i, row := range rows {
		chunks[i] = crawl.Chunk{Kind: kind, Key: row.Key, Data: row.Data}
	}
	return chunks, translate("read the index", err)
}

// Worths fulfils index.Scanner.
func (r indexReader) Worths(ctx context.Context, pages []int64) (versions []int64, worths []float32, err error) {
	rows, err := r.q.IndexWorths(ctx, pages)
	for _, row := range rows {
		versions, worths = append(versions, row.Version), append(worths, row.Worth)
	}
	return versions, worths, translate("read what pages are worth", err)
}

// RankFound gives the index what pages are worth now: of one segment, the next one after
// another. It returns that, and how many pages it has; 0 if there are no more.
func (s *Store) RankFound(ctx context.Context, after int64) (segment int64, pages int, err error) {
	segments, err := segmentsOf(ctx, s.q)
	if err != nil {
		return 0, 0, translate("rank what is found", err)
	}
	i := slices.IndexFunc(segments, func(x crawl.Segment) bool { return x.ID > after })
	if i < 0 {
		return 0, 0, nil
	}
	err = index.Reweigh(ctx, indexReader{s.q}, segments[i], func(c crawl.Chunk) error {
		return s.q.IndexNormsStore(ctx, dbsqlc.IndexNormsStoreParams{
			SegmentID: segments[i].ID, Kind: int16(c.Kind), Key: c.Key, Data: c.Data,
		})
	})
	return segments[i].ID, segments[i].Pages, translate("rank what is found", err)
}
