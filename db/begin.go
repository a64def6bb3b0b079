package db

import (
	"bytes"
	"context"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// Begin asks for a lease: it takes the slots for one attempt and claims its row, or
// says what to wait for. The slots stay closed even if the process dies.
//
// Attempts at pages that share no slot and have no budget are begun in groups, as they
// are recorded. Begin waits for its group even if ctx ends, since a lease that nobody
// uses would keep its domain waiting.
func (s *Store) Begin(ctx context.Context, start crawl.Start) (crawl.Lease, error) {
	op := "begin crawl of " + start.URL
	doc, err := document("the start of a crawl", start)
	if err != nil {
		return crawl.Lease{}, err
	}
	if err := s.records.room(ctx); err != nil {
		return crawl.Lease{}, err
	}
	var row dbsqlc.CrawlBeginRow
	budgets := []*int64{start.RunBudget, start.DomainBudget, start.RegisteredBudget, start.ImageBudget}
	bounded := slices.ContainsFunc(budgets, func(b *int64) bool { return b != nil })
	if start.Prerequisite || len(start.Shared) > 0 || bounded {
		row, err = retryConflicts(ctx, op, func() (dbsqlc.CrawlBeginRow, error) { return s.q.CrawlBegin(ctx, doc) })
	} else {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), groupSpan)
		defer cancel()
		row, err = s.begins.do(ctx, start.Domain, 0, len(doc), func(w *bytes.Buffer) { w.Write(doc) })
		err = translate(op, err)
	}
	if err != nil {
		return crawl.Lease{}, err
	}
	return crawl.Lease{
		Granted: row.Granted, CrawlID: row.CrawlID, Wait: fromMS(row.WaitMs), Reason: reasons.Reason(row.Reason),
	}, nil
}

// newBegins groups attempts that are to begin.
func newBegins(q *dbsqlc.Queries) *groups[dbsqlc.CrawlBeginRow] {
	return newGroups(
		func(ctx context.Context, docs []byte) (map[int]dbsqlc.CrawlBeginRow, error) {
			rows, err := q.CrawlsBegin(ctx, docs)
			begun := make(map[int]dbsqlc.CrawlBeginRow, len(rows))
			for _, r := range rows {
				begun[int(r.N)] = dbsqlc.CrawlBeginRow{Granted: r.Granted, WaitMs: r.WaitMs, Reason: r.Reason, CrawlID: r.CrawlID}
			}
			return begun, err
		},
		func(ctx context.Context, docs []byte) (dbsqlc.CrawlBeginRow, error) {
			return q.CrawlBegin(ctx, docs[1:len(docs)-1]) // the one in the array
		},
	)
}
