package index_test

import (
	"bytes"
	"context"
	"math/rand/v2"
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
