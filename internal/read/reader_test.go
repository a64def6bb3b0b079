package read

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/internal/robots"
	"github.com/mosey-web/mosey/internal/sitemap"
)

func TestBodiesAreAsLongAsTheirParsersRead(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, robots.MaxBytes+1, kinds.Robots.Traits().MaxBytes)
	require.EqualValues(t, sitemap.MaxBytes, kinds.Sitemap.Traits().MaxBytes)
	require.EqualValues(t, sitemap.MaxFeedBytes, kinds.Feed.Traits().MaxBytes)
}

func TestReaderOf(t *testing.T) {
	t.Parallel()
	require.NotNil(t, new(reading).readerOf("of a later version"), "it is read as a page")
	for _, k := range kinds.All() {
		require.Equal(t, k.Traits().Follow != kinds.FollowNothing || k.Image(), new(reading).readerOf(k) != nil, k)
	}
}
