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
	// groupLanes is how many groups there are at a time: while one waits for the
	// disk, another has the processor.
	groupLanes = 2
	// groupsAhead is how many documents wait at the most before those who would bring
	// more are kept back: enough to fill the next groups.
	groupsAhead = 2 * groupMax
	// groupsPause is how long a lane that has nothing to take waits for those who were
	// kept back no longer to bring something.
	groupsPause = 5 * time.Millisecond
	// lingerMost is how long a document that has time waits for others, and lingerShare
	// which part of its time it has for that, one in so many.
	lingerMost  = 20 * time.Millisecond
	lingerShare = 50
	// groupSpan bounds the transaction of a group. The documents of one that fails are
	// taken alone, each for as long as its caller waits.
	groupSpan = 30 * time.Second
)

// groups has documents of different domains share transactions: those that come while
// others are under way go together next. A document that has time waits a little for
// others; one without time does not wait. The documents of a group that fails are taken
// alone, so that a bad one harms only itself. R is the result of a document.
//
// It has goroutines only while there is something to do.
type groups[R any] struct {
	// together takes an array of documents in one transaction, and returns what became
	// of each, by its place; alone takes an array of one.
	together func(ctx context.Context, docs []byte) (map[int]R, error)
	alone    func(ctx context.Context, docs []byte) (R, error)
	// most is how many documents a group has at the most, and least how long each waits
	// for others at the least.
	most  int
	least time.Duration
	// told is called with each group that was taken.
	told func(GroupTaken)

	mu      sync.Mutex
	waiting []*entry[R]
	// kept are those who wait in room, the first first.
	kept  []chan struct{}
	lanes int
	// wake tells a lane that waits of a document that does not.
	wake chan struct{}
}

func newGroups[R any](
	together func(context.Context, []byte) (map[int]R, error), alone func(context.Context, []byte) (R, error),
) *groups[R] {
	return &groups[R]{together: together, alone: alone, most: groupMax, wake: make(chan struct{}, 1), told: func(GroupTaken) {}}
}

// GroupTaken is a group of documents that shared a transaction.
type GroupTaken struct {
	// Documents is how many, and Waited how long the first of them did for the others.
	Documents int
	Waited    time.Duration
	// Took is how long the transaction took. Where it has Failed, each was taken alone.
	Took   time.Duration
	Failed bool
}

// entry is a document that waits.
type entry[R any] struct {
	domain string
	// write appends the document as of now, of size bytes and at most entryMargin more.
	write func(*bytes.Buffer)
	size  int
	// by is when it is to be taken.
	by time.Time

	// since is when it came.
	since time.Time

	ctx  context.Context //nolint:containedctx // it is the caller's, who waits
	done chan result[R]
}

// entryMargin has room for how long ago an attempt had ended, and a comma.
const entryMargin = 64

type result[R any] struct {
	value R
	err   error
}

// do returns once a document is taken, or the context ends: then it may be taken all
// the same. spare is how long it is until the domain has another.
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

// add has a document wait, and a lane take it.
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

// room returns once fewer than groupsAhead documents wait, or the context ends. What is
// begun before would only wait here for its end, with all that it holds.
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
	case <-turn: // a lane runs as long as somebody is kept
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run takes groups until nothing waits and nobody is kept.
func (g *groups[R]) run() {
	for {
		switch group, wait := g.next(); {
		case len(group) > 0:
			g.take(group)
		case wait > 0:
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-g.wake:
				timer.Stop()
			}
		default:
			return
		}
	}
}

// next returns the next group, of different domains, and lets in those for whom there
// is room then. Without a group it returns how long to wait for one; 0 ends the lane.
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
		case e.ctx.Err() != nil: // nobody waits for it any more
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
	case kept: // they are about to bring something
		return nil, groupsPause
	}
	g.lanes--
	return nil, 0
}

// early is how long to wait before a group is taken: not at all where it is full, or
// one of its documents has no time.
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

// take takes a group in one transaction. Where that fails, for one of its documents or
// because it would wait for another transaction, it has each taken alone and does not
// wait for that.
func (g *groups[R]) take(group []*entry[R]) {
	ctx, cancel := context.WithTimeout(context.Background(), groupSpan)
	defer cancel()
	began := time.Now()
	values, err := g.together(ctx, documents(group...))
	failed := err != nil || len(values) != len(group)
	g.told(GroupTaken{Documents: len(group), Waited: began.Sub(group[0].since), Took: time.Since(began), Failed: failed})
	if failed {
		for _, e := range group {
			go g.takeAlone(e)
		}
		return
	}
	for i, e := range group {
		e.done <- result[R]{value: values[i+1]}
	}
}

func (g *groups[R]) takeAlone(e *entry[R]) {
	value, err := retryConflicts(e.ctx, "", func() (R, error) { return g.alone(e.ctx, documents(e)) })
	e.done <- result[R]{value, err}
}

// documents is an array of documents.
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
