package read

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
)

// TestNamedSitemaps checks that a Sitemap line may lack the origin or the scheme.
func TestNamedSitemaps(t *testing.T) {
	t.Parallel()
	file, err := urls.Parse("https://www.abs.test:8443/robots.txt")
	require.NoError(t, err)
	require.Equal(t, []string{
		"https://other.test/map.xml", "https://www.abs.test:8443/map.xml", "https://www.abs.test:8443/maps/1.xml",
		"https://www.abs.test/map.xml", "https://abs.test/map.xml", "https://cdn.test/map.xml",
	}, namedSitemaps(file, []string{
		"https://other.test/map.xml", "/map.xml", "maps/1.xml", "www.abs.test/map.xml", "abs.test/map.xml", "//cdn.test/map.xml", "ftp://a/", "http://", "nonsense",
	}))
}
