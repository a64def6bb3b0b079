package db

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Begin acquires the slots for one attempt and claims its row, or returns the wait and its reason.
// The slots stay closed even if the process dies.
//
// Attempts without a budget begin in groups. Begin waits for its group even if ctx ends, because
// an unused lease would keep its domain waiting.
func (s *Store) Begin(ctx context.Context, start crawl.Start) (crawl.Lease, error) {
	op := "begin crawl of " + start.URL
	doc, err := document("the start of a crawl", start)
	if err != nil {
		return crawl.Lease{}, err
	}
	if err := s.records.awaitCapacity(ctx); err != nil {
		return crawl.Lease{}, err
	}
	var row dbsqlc.AttemptBeginRow
	hasBudget := cmp.Or(start.RunBudget, start.DomainBudget, start.RegisteredBudget, start.ImageBudget) != nil
	if hasBudget {
		row, err = retryConflicts(ctx, op, func() (dbsqlc.AttemptBeginRow, error) { return s.q.AttemptBegin(ctx, doc) })
	} else {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), groupTimeout)
		defer cancel()
		row, err = s.begins.do(ctx, start.Domain, 0, len(doc), func(w *bytes.Buffer) { w.Write(doc) })
		err = translate(op, err)
	}
	if err != nil {
		return crawl.Lease{}, err
	}
	return crawl.Lease{
		Granted: row.Granted, AttemptID: row.AttemptID, Wait: fromMS(row.WaitMs), Reason: reasons.Reason(row.Reason),
	}, nil
}

func newBegins(q *dbsqlc.Queries) *groups[dbsqlc.AttemptBeginRow] {
	return newGroups(func(ctx context.Context, docs []byte, alone bool) (map[int]dbsqlc.AttemptBeginRow, error) {
		if alone {
			row, err := q.AttemptBegin(ctx, docs[1:len(docs)-1]) // the element of the array
			return map[int]dbsqlc.AttemptBeginRow{1: row}, err
		}
		rows, err := q.AttemptsBegin(ctx, docs)
		return byPosition(rows, func(r dbsqlc.AttemptsBeginRow) (int32, dbsqlc.AttemptBeginRow) {
			return r.N, dbsqlc.AttemptBeginRow{Granted: r.Granted, WaitMs: r.WaitMs, Reason: r.Reason, AttemptID: r.AttemptID}
		}), err
	})
}

// Record closes an attempt and stores its results in one transaction (see attempts_record). It
// first releases the shared slots, so that other domains do not wait for the rest. Recorded.Ended
// is set then, even if the rest fails.
//
// Attempts of different domains that end during a transaction share the next one. An attempt whose
// domain rests for a while waits some milliseconds for others.
func (s *Store) Record(ctx context.Context, a crawl.Attempt) (crawl.RecordResult, error) {
	id := strconv.FormatInt(a.ID, 10)
	op := "record crawl " + id
	if a.Requested && len(a.Shared) > 0 && a.Ended.IsZero() {
		var err error
		if a.Ended, err = s.release(ctx, a); err != nil {
			return crawl.RecordResult{}, translate(op, err)
		}
	}
	if a.Robots != nil {
		a.Robots = new(storable(*a.Robots))
	}
	doc, err := document("an attempt", a)
	if err != nil {
		return crawl.RecordResult{Ended: a.Ended}, err
	}
	row, err := s.records.do(ctx, a.Domain, time.Duration(a.Delay), len(doc), func(w *bytes.Buffer) { writeEnded(w, a, doc) })
	if err != nil {
		return crawl.RecordResult{Ended: a.Ended}, translate(op, err)
	}
	if a.Index != nil && row.Closed {
		select {
		case s.keywords.wake <- struct{}{}:
		default:
		}
	}
	facts, err := s.facts(row.Facts, nil)
	return crawl.RecordResult{Closed: row.Closed, HasNewWork: row.HasNewDueDomains, Facts: facts, Ended: a.Ended}, err
}

// release releases the shared slots of an attempt, and returns the end of its request.
func (s *Store) release(ctx context.Context, a crawl.Attempt) (time.Time, error) {
	doc, err := document("the end of a request", struct {
		AttemptID int64              `json:"attempt_id"`
		Shared    []crawl.SharedSlot `json:"shared_slots"`
	}{a.ID, a.Shared})
	if err != nil {
		return time.Time{}, err
	}
	return s.releases.do(ctx, a.Domain, 0, len(doc), func(w *bytes.Buffer) { writeEnded(w, a, doc) })
}

// writeEnded adds the time since the attempt ended, rounded down so that the end is not too early.
func writeEnded(w *bytes.Buffer, a crawl.Attempt, doc []byte) {
	fmt.Fprintf(w, `{"since_end_ms":%d,`, max(time.Since(a.EndedAt).Milliseconds(), 0))
	w.Write(doc[1:])
}
