package index_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/search/index"
)

func TestToMergeBoundsBytes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	large := make([]crawl.Segment, 20)
	for i := range large {
		large[i] = crawl.Segment{ID: int64(i), Pages: 20_000 + rng.IntN(100), Bytes: 1 << 28}
	}
	large[0].Bytes, large[0].Pages = 3<<30, 120_000
	some := index.SelectForMerge(large, true)
	require.Len(t, some, 8, "2 GiB")
	for _, s := range some {
		require.NotZero(t, s.ID, "a segment that is too large does not keep the others from being merged")
	}
}
