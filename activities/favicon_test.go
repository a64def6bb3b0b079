package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/test/web"
)

// TestFavicons crawls a page that names an icon, and links to it as well.
func TestFavicons(t *testing.T) {
	t.Parallel()
	const icons = "SELECT count(*) FROM page_crawls WHERE kind = 'favicon' AND outcome = 'success'"

	crawled := func(t *testing.T, set crawl.Settings, body string) *testBundle {
		b := setup(t, options{
			sites: serving(map[string]web.Behaviour{
				"/":         page{head: `<link rel="shortcut icon" href="/icon.png">`, body: body},
				"/next":     page{head: `<link rel=icon href=/icon.png>`},
				"/icon.png": turns{answers: []func(*web.Visit){iconPNG, iconPNG}},
			}),
			settings: set,
		})
		b.seed(t, "/")
		b.follow(t)
		return b
	}

	t.Run("AreAskedForOnce", func(t *testing.T) {
		t.Parallel()
		b := crawled(t, crawl.Settings{Favicons: new(true)}, `<a href="/next">next</a>`)
		require.ElementsMatch(t, []string{"/", "/next", "/icon.png"}, b.pages())
		require.Equal(t, 1, b.count(t, icons))
		require.Empty(t, b.report(t, "/icon.png").Title)
	})
	t.Run("AreAskedForOnceIfLinkedToo", func(t *testing.T) {
		t.Parallel()
		b := crawled(t, crawl.Settings{Favicons: new(true)}, `<a href="/icon.png">icon</a>`)
		require.ElementsMatch(t, []string{"/", "/icon.png"}, b.pages())
	})
	t.Run("AreNotAskedForUntold", func(t *testing.T) {
		t.Parallel()
		b := crawled(t, crawl.Settings{}, `<a href="/next">next</a>`)
		require.ElementsMatch(t, []string{"/", "/next"}, b.pages())
		require.Equal(t, 0, b.count(t, icons))
	})
}

func iconPNG(v *web.Visit) {
	v.W.Header().Set("Content-Type", "image/png")
	v.Write([]byte("\x89PNG\r\n\x1a\n"))
}
