package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

func TestImageCounts(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 named", ImageCounts(crawl.ImageCounts{}))
	require.Equal(t, "7 named, 2 left out, 3 in the page itself, 1 drawing (SVG)",
		ImageCounts(crawl.ImageCounts{Named: 7, Dropped: 2, Data: 3, SVG: 1}))
}
