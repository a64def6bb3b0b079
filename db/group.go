package db

import (
	"bytes"
	"context"
	"sync"
	"time"
)

const (
	// groupMax and groupBytes bound the documents of one transaction.
	groupMax   = 64
	groupBytes = 4 << 20
	// groupLanes is the number of groups at a time: one waits for the disk, another computes.
	groupLanes = 2
	// groupsAhead bounds the documents that wait before room blocks.
	groupsAhead = 2 * groupMax
	// groupsPause bounds the wait of an idle lane for callers that left room.
	groupsPause = 5 * time.Millisecond
	// lingerMost bounds a document's wait for others: one lingerShare-th of its spare time.
	lingerMost  = 20 * time.Millisecond
	lingerShare = 50
	// groupSpan bounds the transaction of a group, but not of a document that is taken alone.
	groupSpan = 30 * time.Second
	// lockstepMost bounds the wait of a group of Lockstep for completion.
	lockstepMost = 10 * time.Second
)

// groups lets documents of different domains share transactions: documents that arrive during one
// go together next. A document with spare time waits a little for others. The documents of a
// failed group are taken alone, so that a bad one harms only itself. R is the result of a
// document. Goroutines run only while a document or a caller waits.
type groups[R any] struct {
	// together takes an array of documents in one transaction, and alone an array of one. Results
	// are keyed by place, from 1.
	together func(ctx context.Context, docs []byte) (map[int]R, error)
	alone    func(ctx context.Context, docs []byte) (R, error)
	// most bounds the documents of a group; each waits for others for at least least.
	most  int
	least time.Duration
	// told is called with each finished group.
	told func(GroupTaken)

	mu      sync.Mutex
	waiting []*entry[R]
	// kept are the callers that wait in room, in their order.
	kept  []chan struct{}
	lanes int
	// wake ends the wait of a lane when a document arrives.
	wake chan struct{}
}

func newGroups[R any](
	together func(context.Context, []byte) (map[int]R, error), alone func(context.Context, []byte) (R, error),
) *groups[R] {
	return &groups[R]{together: together, alone: alone, most: groupMax, wake: make(chan struct{}, 1), told: func(GroupTaken) {}}
}

// byPlace returns the results of a group by their places from 1.
func byPlace[Row, R any](rows []Row, of func(Row) (place int32, value R)) map[int]R {
	values := make(map[int]R, len(rows))
	for _, row := range rows {
		place, value := of(row)
		values[int(place)] = value
	}
	return values
}

// Lockstep makes attempts begin, release and be recorded in groups of n, for tests that count
// costs. Call it before the store is used. An incomplete group waits at most ten seconds.
func (s *Store) Lockstep(n int) {
	s.begins.most, s.begins.least = n, lockstepMost
	s.releases.most, s.releases.least = n, lockstepMost
	s.records.most, s.records.least = n, lockstepMost
}

// GroupTaken describes a group of documents that shared a transaction.
type GroupTaken struct {
	Documents int
	// Waited is the wait of the first document for the others.
	Waited time.Duration
	// Took is the duration of the transaction. If it has Failed, each document was taken alone.
	Took   time.Duration
	Failed bool
}

type entry[R any] struct {
	domain string
	// write appends the document as of now, of size bytes and at most entryMargin more.
	write func(*bytes.Buffer)
	size  int
	// since is its arrival, by the latest time to take it.
	since, by time.Time

	ctx  context.Context //nolint:containedctx // it is the caller's, who waits
	done chan result[R]
}

// entryMargin is room for the time since the end of an attempt, and a comma.
const entryMargin = 64

type result[R any] struct {
	value R
	err   error
}

// do returns once a document is taken, or the context ends; then it may still be taken. spare is
// the time until the domain has another document.
func (g *groups[R]) do(
	ctx context.Context, domain string, spare time.Duration, size int, write func(*bytes.Buffer),
) (R, error) {
	linger := max(min(spare/lingerShare, lingerMost), g.least)
	now := time.Now()
	e := &entry[R]{
		domain: domain, write: write, size: size, by: now.Add(linger), since: now, ctx: ctx, done: make(chan result[R], 1),
	}
	g.add(e)
	select {
	case res := <-e.done:
		return res.value, res.err
	case <-ctx.Done():
		var none R
		return none, ctx.Err()
	}
}

// add queues a document, and starts or wakes a lane.
func (g *groups[R]) add(e *entry[R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	if g.lanes < groupLanes {
		g.lanes++
		go g.run()
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// room returns once fewer than groupsAhead documents wait, or the context ends. An attempt that
// began earlier would only hold its slots while it waits.
func (g *groups[R]) room(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if len(g.waiting) < groupsAhead && len(g.kept) == 0 {
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.kept = append(g.kept, turn)
	g.mu.Unlock()
	select {
	case <-turn: // a lane runs as long as a caller waits
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run takes groups until neither documents nor callers wait.
func (g *groups[R]) run() {
	for {
		switch group, wait := g.next(); {
		case len(group) > 0:
			g.take(group)
		case wait > 0:
			select {
			case <-time.After(wait):
			case <-g.wake:
			}
		default:
			return
		}
	}
}

// next returns the next group, of different domains, and admits callers to the freed room. Without
// a group it returns the wait for one; 0 ends the lane.
func (g *groups[R]) next() ([]*entry[R], time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.early(); wait > 0 {
		return nil, wait
	}
	var group, rest []*entry[R]
	taken, size := map[string]bool{}, 0
	for _, e := range g.waiting {
		switch {
		case e.ctx.Err() != nil: // its caller has left
		case taken[e.domain], len(group) >= g.most, size > 0 && size+e.size > groupBytes:
			rest = append(rest, e)
		default:
			taken[e.domain] = true
			size += e.size
			group = append(group, e)
		}
	}
	g.waiting = rest
	kept := len(g.kept) > 0
	for range min(len(g.kept), max(groupsAhead-len(rest), 0)) {
		close(g.kept[0])
		g.kept = g.kept[1:]
	}
	switch {
	case len(group) > 0:
		return group, 0
	case kept: // they are about to bring documents
		return nil, groupsPause
	}
	g.lanes--
	return nil, 0
}

// early returns the wait before a group is taken: 0 if it is full or a document has no time.
func (g *groups[R]) early() time.Duration {
	if len(g.waiting) == 0 || len(g.waiting) >= g.most || len(g.kept) > 0 {
		return 0
	}
	first := g.waiting[0].by
	for _, e := range g.waiting[1:] {
		if e.by.Before(first) {
			first = e.by
		}
	}
	return time.Until(first)
}

// take takes a group in one transaction. After a failure it takes each document alone, in the
// background, because one document or a lock may be the cause.
func (g *groups[R]) take(group []*entry[R]) {
	ctx, cancel := context.WithTimeout(context.Background(), groupSpan)
	defer cancel()
	began := time.Now()
	values, err := g.together(ctx, documents(group...))
	failed := err != nil || len(values) != len(group)
	g.told(GroupTaken{Documents: len(group), Waited: began.Sub(group[0].since), Took: time.Since(began), Failed: failed})
	if failed {
		for _, e := range group {
			go func() {
				value, err := retryConflicts(e.ctx, "", func() (R, error) { return g.alone(e.ctx, documents(e)) })
				e.done <- result[R]{value, err}
			}()
		}
		return
	}
	for i, e := range group {
		e.done <- result[R]{value: values[i+1]}
	}
}

// documents returns an array of documents.
func documents[R any](group ...*entry[R]) []byte {
	size := 2
	for _, e := range group {
		size += e.size + entryMargin
	}
	doc := bytes.NewBuffer(make([]byte, 0, size))
	doc.WriteByte('[')
	for i, e := range group {
		if i > 0 {
			doc.WriteByte(',')
		}
		e.write(doc)
	}
	doc.WriteByte(']')
	return doc.Bytes()
}
