package index

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl"
)

// batcher fetches the chunks for several goroutines in one query, once all of them wait.
type batcher struct {
	ctx context.Context //nolint:containedctx // of one evaluation
	src Source

	mu      sync.Mutex
	running int
	waiting []*chunkRequest
	chunks  map[crawl.ChunkRef][]byte
}

type chunkRequest struct {
	refs []crawl.ChunkRef
	done chan error
}

// each runs fn concurrently for the numbers below n.
func (b *batcher) each(n int, fn func(i int) error) error {
	b.running = n
	var group errgroup.Group
	for i := range n {
		group.Go(func() error {
			err := fn(i)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.running--
			b.flush()
			return err
		})
	}
	return group.Wait()
}

func (b *batcher) get(refs []crawl.ChunkRef) ([][]byte, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	w := &chunkRequest{refs: refs, done: make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.flush()
	b.mu.Unlock()
	if err := <-w.done; err != nil {
		return nil, err
	}
	out := make([][]byte, len(refs))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, ref := range refs {
		if out[i] = b.chunks[ref]; out[i] == nil {
			return nil, ErrDamaged
		}
	}
	return out, nil
}

// flush fetches the wanted chunks if all running goroutines wait.
func (b *batcher) flush() {
	if len(b.waiting) == 0 || len(b.waiting) < b.running {
		return
	}
	var refs []crawl.ChunkRef
	requested := map[crawl.ChunkRef]bool{}
	for _, w := range b.waiting {
		for _, ref := range w.refs {
			if b.chunks[ref] == nil && !requested[ref] {
				requested[ref] = true
				refs = append(refs, ref)
			}
		}
	}
	var err error
	if len(refs) > 0 {
		var chunks [][]byte
		chunks, err = b.src.Chunks(b.ctx, refs)
		for i, chunk := range chunks {
			b.chunks[refs[i]] = chunk
		}
	}
	for _, w := range b.waiting {
		w.done <- err
	}
	b.waiting = nil
}
