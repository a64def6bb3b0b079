package index

import (
	"context"
	"sync"

	"github.com/mosey-web/mosey/crawl"
)

// batcher asks for the chunks that several goroutines want at once: when all of them
// wait, what they wait for is asked for together.
type batcher struct {
	ctx context.Context //nolint:containedctx // of one evaluation
	src Source

	mu      sync.Mutex
	running int
	waiting []*wanted
	known   map[crawl.ChunkRef][]byte
}

type wanted struct {
	refs []crawl.ChunkRef
	done chan error
}

// each runs fn for numbers up to n, at the same time.
func (b *batcher) each(n int, fn func(i int) error) error {
	b.running = n
	errs := make(chan error, n)
	for i := range n {
		go func() {
			err := fn(i)
			b.mu.Lock()
			b.running--
			b.flush()
			b.mu.Unlock()
			errs <- err
		}()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// get returns chunks.
func (b *batcher) get(refs []crawl.ChunkRef) ([][]byte, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	w := &wanted{refs: refs, done: make(chan error, 1)}
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
		if out[i] = b.known[ref]; out[i] == nil {
			return nil, ErrDamaged
		}
	}
	return out, nil
}

// flush asks for what is wanted if all that run wait for it.
func (b *batcher) flush() {
	if len(b.waiting) == 0 || len(b.waiting) < b.running {
		return
	}
	var refs []crawl.ChunkRef
	asked := map[crawl.ChunkRef]bool{}
	for _, w := range b.waiting {
		for _, ref := range w.refs {
			if b.known[ref] == nil && !asked[ref] {
				asked[ref] = true
				refs = append(refs, ref)
			}
		}
	}
	var err error
	if len(refs) > 0 {
		var chunks [][]byte
		chunks, err = b.src.Chunks(b.ctx, refs)
		for i, chunk := range chunks {
			b.known[refs[i]] = chunk
		}
	}
	for _, w := range b.waiting {
		w.done <- err
	}
	b.waiting = nil
}
