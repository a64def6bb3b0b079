package index_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/search/index"
)

// copies has one segment many times, and reads each chunk anew, as a database does.
type copies struct{ *memory }

func (c copies) Scan(ctx context.Context, _ int64, kind crawl.ChunkKind, after []byte, most int) ([]crawl.Chunk, error) {
	chunks, err := c.memory.Scan(ctx, 1, kind, after, most)
	for i := range chunks {
		chunks[i].Data = bytes.Clone(chunks[i].Data)
	}
	return chunks, err
}

func (c copies) Chunks(ctx context.Context, refs []crawl.ChunkRef) ([][]byte, error) {
	own := make([]crawl.ChunkRef, len(refs))
	for i, ref := range refs {
		own[i] = crawl.ChunkRef{Segment: 1, Kind: ref.Kind, Key: ref.Key}
	}
	chunks, err := c.memory.Chunks(ctx, own)
	for i := range chunks {
		chunks[i] = bytes.Clone(chunks[i])
	}
	return chunks, err
}

// It is not parallel: it measures the memory of the process.
func TestMergeHoldsFewPlaces(t *testing.T) { //nolint:paralleltest // see above
	const most = 128 << 20
	m := newMemory()
	var docs []document
	for page := range int64(250) {
		docs = append(docs, document{page: page, text: strings.Split(strings.Repeat("harbour ", 8_000), " ")})
	}
	m.add(t, docs...)
	positions := 0
	for ref, data := range m.chunks {
		if ref.Kind == positionsKind {
			positions += len(data)
		}
	}
	some := make([]crawl.Segment, 60)
	for i := range some {
		some[i] = m.segments[0]
		some[i].ID = int64(i + 1)
	}
	require.Greater(t, positions*len(some), 112<<20, "all places of the term do not fit")

	var stats runtime.MemStats
	heap := func() int {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	before, peak, n, written := heap(), 0, 0, 0
	segment, err := index.Merge(t.Context(), copies{m}, some, func(c crawl.Chunk) error {
		if c.Kind == positionsKind {
			written += len(c.Data)
		}
		if n++; n%4_000 == 1 {
			peak = max(peak, heap()-before)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 250*len(some), segment.Pages)
	require.Greater(t, written, 90<<20)
	require.Less(t, written, 100<<20)
	require.Less(t, peak, most)
}

func TestToMergeBoundsBytes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	large := make([]crawl.Segment, 20)
	for i := range large {
		large[i] = crawl.Segment{ID: int64(i), Pages: 20_000 + rng.IntN(100), Bytes: 1 << 28}
	}
	large[0].Bytes, large[0].Pages = 3<<30, 120_000
	some := index.ToMerge(large, true)
	require.Len(t, some, 8, "2 GiB")
	for _, s := range some {
		require.NotZero(t, s.ID, "a segment that is too large does not keep the others from being merged")
	}
}
