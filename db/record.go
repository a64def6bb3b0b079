package db

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Record closes an attempt and does, in one transaction, all that follows from it:
// see attempts_record. The slots that it shares with other domains are given back
// before, so that those do not wait for the rest. Recorded.Ended is set then, even
// if the rest fails.
//
// Attempts of different domains that end while others are being recorded share the
// next transaction. One whose domain rests for a while waits for others too, for some
// milliseconds. The attempts of a group that fails are recorded alone, so that a bad one
// harms only itself.
func (s *Store) Record(ctx context.Context, a crawl.Attempt) (crawl.Recorded, error) {
	op := "record crawl " + strconv.FormatInt(a.CrawlID, 10)
	if a.Requested && len(a.Shared) > 0 && a.Ended.IsZero() {
		var err error
		if a.Ended, err = s.releaseShared(ctx, a); err != nil {
			return crawl.Recorded{}, translate(op, err)
		}
	}
	doc, err := attemptDocument(a)
	if err != nil {
		return crawl.Recorded{Ended: a.Ended}, err
	}
	row, err := s.records.do(ctx, a.Domain, time.Duration(a.Delay), len(doc), func(w *bytes.Buffer) {
		fmt.Fprintf(w, `{"since_end_ms":%d,`, sinceMS(a.EndedAt))
		w.Write(doc[1:])
	})
	if err != nil {
		return crawl.Recorded{Ended: a.Ended}, translate(op, err)
	}
	if a.Index != nil && row.Closed {
		s.keywordsWait()
	}
	facts, err := s.facts(row.Facts)
	return crawl.Recorded{Closed: row.Closed, News: row.News, Facts: facts, Ended: a.Ended}, err
}

// attemptDocument is an attempt as the database takes it, but for how long ago it had
// ended.
func attemptDocument(a crawl.Attempt) ([]byte, error) {
	if a.Robots != nil {
		r := storable(*a.Robots)
		a.Robots = &r
	}
	return document("an attempt", a)
}

// releaseShared returns when the request had ended, on the database's clock.
func (s *Store) releaseShared(ctx context.Context, a crawl.Attempt) (time.Time, error) {
	p := dbsqlc.SlotReleaseSharedParams{Holder: "crawl:" + strconv.FormatInt(a.CrawlID, 10), SinceEndMs: sinceMS(a.EndedAt)}
	p.Shared, p.SharedDelayMs = sharedFor(a.Shared, math.MaxInt64)
	return s.q.SlotReleaseShared(ctx, p)
}

// newRecords groups attempts that are to be recorded.
func newRecords(q *dbsqlc.Queries) *groups[dbsqlc.AttemptsRecordRow] {
	return newGroups(
		func(ctx context.Context, docs []byte) (map[int]dbsqlc.AttemptsRecordRow, error) {
			rows, err := q.AttemptsRecord(ctx, dbsqlc.AttemptsRecordParams{Attempts: docs, Hurried: true})
			recorded := make(map[int]dbsqlc.AttemptsRecordRow, len(rows))
			for _, r := range rows {
				recorded[int(r.N)] = r
			}
			return recorded, err
		},
		func(ctx context.Context, docs []byte) (dbsqlc.AttemptsRecordRow, error) {
			rows, err := q.AttemptsRecord(ctx, dbsqlc.AttemptsRecordParams{Attempts: docs})
			if err != nil {
				return dbsqlc.AttemptsRecordRow{}, err
			}
			return rows[0], nil
		},
	)
}
