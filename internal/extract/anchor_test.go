package extract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/extract"
)

func TestHTMLAnchors(t *testing.T) {
	t.Parallel()
	const body = `<p>See <a href=/a>the <b>first</b>
		text</a> and <a href=/a>another</a>, <a href=/b><img src=x alt=" A  picture "></a>, <a href=/c></a><a href=/c rel="ugc sponsored">later</a>,
		<a href=/d rel="UGC nofollow">by a user</a>, <a href="./../e">one</a><a href=/e>two</a>, <a href=/f><p>a block</p></a>, <a href=/g>` +
		"e\u0301\x1b[31m" + `</a><map><area href=/h></map><iframe src=/i></iframe>`
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		page := mustHTML(t, body, limits)
		anchors, rels := map[string]string{}, map[string]crawl.Rel{}
		for _, l := range page.Links {
			path := strings.TrimPrefix(l.URL.String(), "https://example.org")
			anchors[path] = l.Anchor
			if l.Rel != 0 {
				rels[path] = l.Rel
			}
		}
		require.Equal(t, map[string]string{
			"/a": "the first text", "/b": "A picture", "/c": "later", "/d": "by a user", "/e": "one", "/f": "a block", "/g": "é[31m", "/h": "", "/i": "",
		}, anchors)
		require.Equal(t, map[string]crawl.Rel{"/d": crawl.RelUGC}, rels, "as far as every occurrence has them")
		require.True(t, page.Links[3].NoFollow)

		long := mustHTML(t, "<a href=/long>"+strings.Repeat("ä ", 500)+"</a>", limits).Links[0].Anchor
		require.LessOrEqual(t, len(long), 200)
		require.True(t, strings.HasPrefix(long, "ä ä"))
	})
}
