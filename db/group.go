package db

import (
	"bytes"
	"context"
	"sync"
	"time"
)

const (
	// maxGroupSize and maxGroupBytes bound the documents of one transaction.
	maxGroupSize  = 64
	maxGroupBytes = 4 << 20
	// groupLanes is the number of groups at a time: one waits for the disk, another computes.
	groupLanes = 2
	// maxWaitingDocuments bounds the documents that wait before room blocks.
	maxWaitingDocuments = 2 * maxGroupSize
	// idleLaneWait bounds the wait of an idle lane for callers that left room.
	idleLaneWait = 5 * time.Millisecond
	// maxLinger bounds a document's wait for others: one lingerDivisor-th of its spare time.
	maxLinger     = 20 * time.Millisecond
	lingerDivisor = 50
	// groupTimeout bounds the transaction of a group, but not of a document that is taken alone.
	groupTimeout = 30 * time.Second
	// maxLockstepWait bounds the wait of a group of Lockstep for completion.
	maxLockstepWait = 10 * time.Second
)

// groups lets documents of different domains share transactions: documents that arrive during one
// go together next. A document with spare time waits a little for others. The documents of a
// failed group are taken alone, so that a bad one harms only itself. R is the result of a
// document. Goroutines run only while a document or a caller waits.
type groups[R any] struct {
	// takeArray takes an array of documents in one transaction. alone is set for a document of
	// a failed group, which may wait for locks. Results are keyed by position, from 1.
	takeArray func(ctx context.Context, docs []byte, alone bool) (map[int]R, error)
	// maxSize bounds the documents of a group; each waits for others for at least least.
	maxSize int
	minWait time.Duration
	// onGroup is called with each finished group.
	onGroup func(GroupStats)

	mu      sync.Mutex
	waiting []*entry[R]
	// blocked are the callers that wait in room, in their order.
	blocked   []chan struct{}
	laneCount int
	// wake ends the wait of a lane when a document arrives.
	wake chan struct{}
}

func newGroups[R any](takeArray func(ctx context.Context, docs []byte, alone bool) (map[int]R, error)) *groups[R] {
	return &groups[R]{takeArray: takeArray, maxSize: maxGroupSize, wake: make(chan struct{}, 1), onGroup: func(GroupStats) {}}
}

// byPosition returns the results of a group by their positions from 1.
func byPosition[Row, R any](rows []Row, convert func(Row) (position int32, value R)) map[int]R {
	values := make(map[int]R, len(rows))
	for _, row := range rows {
		position, value := convert(row)
		values[int(position)] = value
	}
	return values
}

// SetLockstep makes attempts begin, release and be recorded in groups of n, for tests that count
// costs. Call it before the store is used. An incomplete group waits at most ten seconds.
func (s *Store) SetLockstep(n int) {
	s.begins.maxSize, s.begins.minWait = n, maxLockstepWait
	s.releases.maxSize, s.releases.minWait = n, maxLockstepWait
	s.records.maxSize, s.records.minWait = n, maxLockstepWait
}

// GroupStats describes a group of documents that shared a transaction.
type GroupStats struct {
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
	// arrivedAt is its arrival, and deadline the latest time to take it.
	arrivedAt, deadline time.Time

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
	linger := max(min(spare/lingerDivisor, maxLinger), g.minWait)
	now := time.Now()
	e := &entry[R]{
		domain: domain, write: write, size: size, deadline: now.Add(linger), arrivedAt: now, ctx: ctx, done: make(chan result[R], 1),
	}
	g.add(e)
	select {
	case res := <-e.done:
		return res.value, res.err
	case <-ctx.Done():
		var zero R
		return zero, ctx.Err()
	}
}

// add queues a document, and starts or wakes a lane.
func (g *groups[R]) add(e *entry[R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	if g.laneCount < groupLanes {
		g.laneCount++
		go g.serveLane()
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// awaitCapacity returns once fewer than maxWaitingDocuments documents wait, or the context ends. An
// attempt that began earlier would only hold its slots while it waits.
func (g *groups[R]) awaitCapacity(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if len(g.waiting) < maxWaitingDocuments && len(g.blocked) == 0 {
		g.mu.Unlock()
		return nil
	}
	admitted := make(chan struct{})
	g.blocked = append(g.blocked, admitted)
	g.mu.Unlock()
	select {
	case <-admitted: // a lane runs as long as a caller waits
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveLane takes groups until neither documents nor callers wait.
func (g *groups[R]) serveLane() {
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
	if wait := g.groupWait(); wait > 0 {
		return nil, wait
	}
	var group, rest []*entry[R]
	takenDomains, size := map[string]bool{}, 0
	for _, e := range g.waiting {
		switch {
		case e.ctx.Err() != nil: // its caller has left
		case takenDomains[e.domain], len(group) >= g.maxSize, size > 0 && size+e.size > maxGroupBytes:
			rest = append(rest, e)
		default:
			takenDomains[e.domain] = true
			size += e.size
			group = append(group, e)
		}
	}
	g.waiting = rest
	hadBlocked := len(g.blocked) > 0
	for range min(len(g.blocked), max(maxWaitingDocuments-len(rest), 0)) {
		close(g.blocked[0])
		g.blocked = g.blocked[1:]
	}
	switch {
	case len(group) > 0:
		return group, 0
	case hadBlocked: // they are about to bring documents
		return nil, idleLaneWait
	}
	g.laneCount--
	return nil, 0
}

// groupWait returns the wait before a group is taken: 0 if it is full or a document has no time.
func (g *groups[R]) groupWait() time.Duration {
	if len(g.waiting) == 0 || len(g.waiting) >= g.maxSize || len(g.blocked) > 0 {
		return 0
	}
	first := g.waiting[0].deadline
	for _, e := range g.waiting[1:] {
		if e.deadline.Before(first) {
			first = e.deadline
		}
	}
	return time.Until(first)
}

// take takes a group in one transaction. After a failure it takes each document alone, in the
// background, because one document or a lock may be the cause.
func (g *groups[R]) take(group []*entry[R]) {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	began := time.Now()
	values, err := g.takeArray(ctx, documents(group...), false)
	failed := err != nil || len(values) != len(group)
	g.onGroup(GroupStats{Documents: len(group), Waited: began.Sub(group[0].arrivedAt), Took: time.Since(began), Failed: failed})
	if failed {
		for _, e := range group {
			go func() {
				values, err := retryConflicts(e.ctx, "", func() (map[int]R, error) { return g.takeArray(e.ctx, documents(e), true) })
				e.done <- result[R]{values[1], err}
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
