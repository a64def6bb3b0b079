package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/kinds"
)

func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[kinds.Kind]bool{}
	for _, k := range kinds.All() {
		require.False(t, seen[k], "%s is there twice", k)
		seen[k] = true
		require.NotEmpty(t, k.Traits().Accept, k)
		require.NotNil(t, k.Traits().Accepts, k)
		require.False(t, k.Traits().Path != "" && k.CountsAsPage(), "%s is in no frontier, and so in no budget", k)
	}
	require.Equal(t, kinds.Page.Traits(), kinds.Kind("of a later version").Traits())
}

func TestTakes(t *testing.T) {
	t.Parallel()
	for mediaType, want := range map[string][]kinds.Kind{
		"text/html":                {kinds.Page, kinds.Sitemap, kinds.Feed},
		"text/plain":               {kinds.Page, kinds.Sitemap, kinds.Feed},
		"":                         {kinds.Page, kinds.Sitemap, kinds.Feed, kinds.Image},
		"application/rss+xml":      {kinds.Sitemap, kinds.Feed},
		"application/octet-stream": {kinds.Sitemap, kinds.Feed, kinds.Image},
		"image/webp":               {kinds.Image},
		"image/svg+xml":            nil,
		"video/mp4":                nil,
	} {
		var takes []kinds.Kind
		for _, k := range []kinds.Kind{kinds.Page, kinds.Sitemap, kinds.Feed, kinds.Image} {
			if k.Traits().Accepts(mediaType) {
				takes = append(takes, k)
			}
		}
		require.Equal(t, want, takes, mediaType)
	}
}
