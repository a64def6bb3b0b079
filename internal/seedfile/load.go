package seedfile

import (
	"context"
	"io"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/seeds"
)

const (
	// chunkSeeds is the number of seeds stored at once, in up to chunksAtOnce concurrent calls.
	chunkSeeds   = 5_000
	chunksAtOnce = 3
)

// Callbacks holds the callbacks of [Load].
type Callbacks struct {
	// Store stores some seeds. It is called from several goroutines at once.
	Store func(context.Context, []seeds.Seed) error
	// OnBadLine is called with each entry that is not a seed.
	OnBadLine func(BadLine)
	// OnStored is called with the number of entries, from the first that was read, that are stored
	// without a gap. It includes bad lines. It is called from several goroutines, one at a time.
	OnStored func(entries int64) error
	// OnEntry, if not nil, is called after each entry.
	OnEntry func()
}

// Load reads a list and stores its seeds. It returns the number of entries read, and the first
// error of [Read] or of a callback.
func Load(ctx context.Context, r io.Reader, o Options, callbacks Callbacks) (entries int64, err error) {
	group, storing := errgroup.WithContext(ctx)
	group.SetLimit(chunksAtOnce)
	marks := &marks{done: map[int]int64{}, report: callbacks.OnStored}
	chunk, n := make([]seeds.Seed, 0, chunkSeeds), 0
	send := func() {
		batch, number, upto := chunk, n, entries
		chunk, n = make([]seeds.Seed, 0, chunkSeeds), n+1
		group.Go(func() error {
			if len(batch) > 0 {
				if err := callbacks.Store(storing, batch); err != nil {
					return err
				}
			}
			return marks.finished(number, upto)
		})
	}
	err = Read(storing, r, o, func(e Entry) error {
		entries++
		if chunk = append(chunk, seedOf(e)); len(chunk) == chunkSeeds {
			send()
		}
		if callbacks.OnEntry != nil {
			callbacks.OnEntry()
		}
		return nil
	}, func(bad BadLine) error {
		entries++
		callbacks.OnBadLine(bad)
		return nil
	})
	if err == nil {
		send()
	}
	// the error that ended the reading takes precedence
	if groupErr := group.Wait(); groupErr != nil {
		return entries, groupErr
	}
	return entries, err
}

func seedOf(e Entry) seeds.Seed {
	s := seeds.Typed(e.URL, e.Seed)
	if e.Rank <= math.MaxInt32 {
		s.Rank = int32(e.Rank) //nolint:gosec // checked above
	}
	if e.Feed {
		s.Kind = kinds.Feed
	}
	return s
}

// marks tracks the stored part of a list whose chunks finish in any order.
type marks struct {
	mu sync.Mutex
	// done maps stored chunks after the unfinished chunk next to the entries up to their end.
	done   map[int]int64
	next   int
	report func(int64) error
}

func (m *marks) finished(n int, upto int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[n] = upto
	mark, moved := int64(0), false
	for at, found := m.done[m.next]; found; at, found = m.done[m.next] {
		delete(m.done, m.next)
		m.next++
		mark, moved = at, true
	}
	if !moved {
		return nil
	}
	return m.report(mark)
}
