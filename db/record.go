package db

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

const (
	// groupMax and groupBytes bound the attempts that one transaction records.
	groupMax   = 64
	groupBytes = 4 << 20
	// groupLanes is how many groups are recorded at a time: while one waits for the
	// disk, another has the processor.
	groupLanes = 2
	// groupSpan bounds the recording of a group. The attempts of one that fails are
	// recorded alone, each for as long as its caller waits.
	groupSpan = 30 * time.Second
)

// Record closes an attempt and does, in one transaction, all that follows from it:
// see attempts_record. The slots that it shares with other domains are given back
// before, so that those do not wait for the rest. Recorded.Ended is set then, even
// if the rest fails.
//
// Attempts of different domains that end while others are being recorded share the
// next transaction; nothing waits for a group to fill. The attempts of a group that
// fails are recorded alone, so that a bad one harms only itself.
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
	row, err := s.groups.record(ctx, s.q, &entry{domain: a.Domain, doc: doc, ended: a.EndedAt})
	if err != nil {
		return crawl.Recorded{Ended: a.Ended}, translate(op, err)
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
	for _, slot := range a.Shared {
		p.Shared, p.SharedDelayMs = append(p.Shared, slot.Key), append(p.SharedDelayMs, slot.Delay.Count())
	}
	return s.q.SlotReleaseShared(ctx, p)
}

// entry is an attempt that waits to be recorded.
type entry struct {
	domain string
	doc    []byte
	ended  time.Time

	ctx  context.Context //nolint:containedctx // it is the caller's, who waits
	done chan entryResult
}

type entryResult struct {
	row dbsqlc.AttemptsRecordRow
	err error
}

// groups collects attempts and records those that have come meanwhile together. It has
// goroutines only while there is something to record.
type groups struct {
	mu      sync.Mutex
	waiting []*entry
	lanes   int
}

// record returns once an attempt is recorded, or the context ends: then it may be
// recorded all the same.
func (g *groups) record(ctx context.Context, q *dbsqlc.Queries, e *entry) (dbsqlc.AttemptsRecordRow, error) {
	e.ctx, e.done = ctx, make(chan entryResult, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, e)
	if g.lanes < groupLanes {
		g.lanes++
		go g.run(q)
	}
	g.mu.Unlock()
	select {
	case res := <-e.done:
		return res.row, res.err
	case <-ctx.Done():
		return dbsqlc.AttemptsRecordRow{}, ctx.Err()
	}
}

// run records groups until nothing waits.
func (g *groups) run(q *dbsqlc.Queries) {
	for group := g.take(); len(group) > 0; group = g.take() {
		recordGroup(q, group)
	}
}

// take returns the next group, of different domains: none ends the lane.
func (g *groups) take() []*entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	var group, rest []*entry
	taken, size := map[string]bool{}, 0
	for _, e := range g.waiting {
		switch {
		case e.ctx.Err() != nil: // nobody waits for it any more
		case taken[e.domain], len(group) >= groupMax, size > 0 && size+len(e.doc) > groupBytes:
			rest = append(rest, e)
		default:
			taken[e.domain] = true
			size += len(e.doc)
			group = append(group, e)
		}
	}
	g.waiting = rest
	if len(group) == 0 {
		g.lanes--
	}
	return group
}

// recordGroup records attempts in one transaction. Where that fails, for one of them or
// because it would wait for another transaction, it has each recorded alone and does not
// wait for that.
func recordGroup(q *dbsqlc.Queries, group []*entry) {
	ctx, cancel := context.WithTimeout(context.Background(), groupSpan)
	defer cancel()
	rows, err := q.AttemptsRecordGroup(ctx, groupDocument(group))
	if err != nil || len(rows) != len(group) {
		for _, e := range group {
			go e.recordAlone(q)
		}
		return
	}
	for _, row := range rows {
		group[row.N-1].done <- entryResult{row: dbsqlc.AttemptsRecordRow(row)}
	}
}

func (e *entry) recordAlone(q *dbsqlc.Queries) {
	row, err := retryConflicts(e.ctx, "", func() (dbsqlc.AttemptsRecordRow, error) {
		rows, err := q.AttemptsRecord(e.ctx, groupDocument([]*entry{e}))
		if err != nil {
			return dbsqlc.AttemptsRecordRow{}, err
		}
		return rows[0], nil
	})
	e.done <- entryResult{row: row, err: err}
}

// groupDocument is the document of a group, with how long ago each attempt had ended,
// as of now.
func groupDocument(group []*entry) []byte {
	var doc bytes.Buffer
	doc.WriteByte('[')
	for i, e := range group {
		if i > 0 {
			doc.WriteByte(',')
		}
		doc.WriteString(`{"since_end_ms":`)
		doc.WriteString(strconv.FormatInt(sinceMS(e.ended), 10))
		doc.WriteByte(',')
		doc.Write(e.doc[1:])
	}
	doc.WriteByte(']')
	return doc.Bytes()
}
