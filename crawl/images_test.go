package crawl_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestImageHash(t *testing.T) {
	t.Parallel()
	h, err := crawl.ParseImageHash("ba8c84536bd3c366")
	require.NoError(t, err)
	require.Equal(t, "ba8c84536bd3c366", h.String())
	require.Equal(t, 0, h.Distance(h))
	require.Equal(t, 64, h.Distance(^h))
	require.Equal(t, 1, h.Distance(h^1<<63))
	require.Equal(t, "000000000000000a", crawl.ImageHash(10).String())

	for hash, bits := range map[crawl.ImageHash]string{0: "0", 1: "1", math.MaxUint64: "-1", 1 << 63: "-9223372036854775808"} {
		document, err := json.Marshal(crawl.ImageContent{PHash: &hash})
		require.NoError(t, err)
		require.Contains(t, string(document), `"phash":`+bits+`}`, "as Postgres has it")
	}
	for _, wrong := range []string{"", "1", "ba8c84536bd3c36", "ba8c84536bd3c3660", "ba8c84536bd3c36g", "-a8c84536bd3c366", strings.Repeat("0", 100)} {
		_, err := crawl.ParseImageHash(wrong)
		require.ErrorIs(t, err, crawl.ErrInvalid, wrong)
	}
}
