package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/test/dbtest"
)

// toIndex has pages wait to be indexed, with a text.
func (b *bundle) toIndex(t *testing.T, text string, urls ...string) {
	t.Helper()
	x := terms.Index(terms.Page{Text: text})
	b.exec(t, `INSERT INTO page_keywords (page_id, domain, configs, body) SELECT id, domain, $1, $2 FROM pages WHERE url = ANY($3)
		ON CONFLICT (page_id) DO UPDATE SET body = excluded.body, index_pending = true`,
		x.Configs, x.Text, urls)
}

// The index forgets what pages said before, also where there is nothing to merge.
func TestIndexForgets(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	urls := []string{
		"https://site.example/1", "https://site.example/2", "https://site.example/3", "https://site.example/4", "https://site.example/5",
	}
	b.seed(t, urls...)
	b.toIndex(t, "harbour", urls...)
	dbtest.WriteKeywords(t, b.Store)
	pages := func() []int32 {
		return column[int32](t, b, "SELECT pages FROM index_segments ORDER BY id")
	}
	merge := func(large bool) bool {
		t.Helper()
		merged, err := b.MergeIndex(t.Context(), large)
		require.NoError(t, err)
		return merged
	}
	later := func(span string) {
		b.exec(t, "UPDATE index_segments SET checked_at = checked_at - $1::interval, created_at = created_at - $1::interval", span)
	}
	require.Equal(t, []int32{5}, pages())
	later("7 hours")
	require.False(t, merge(false), "no page is gone")

	b.exec(t, "DELETE FROM page_keywords WHERE page_id = (SELECT id FROM pages WHERE url = $1)", urls[0])
	require.False(t, merge(false), "it was looked for less than six hours ago")
	later("7 hours")
	require.False(t, merge(false), "one in five is gone")
	b.toIndex(t, "lighthouse", urls[1])
	dbtest.WriteKeywords(t, b.Store)
	later("7 hours")
	require.False(t, merge(true), "it is no large one")
	require.True(t, merge(false), "two in five are gone")
	require.ElementsMatch(t, []int32{1, 3}, pages())
	require.Len(t, b.finds(t, "harbour"), 3)
	require.Len(t, b.finds(t, "lighthouse"), 1)
	require.Empty(t, column[int64](t, b, "SELECT segment_id FROM index_chunks EXCEPT SELECT id FROM index_segments"))

	b.exec(t, "DELETE FROM page_keywords WHERE page_id = (SELECT id FROM pages WHERE url = $1)", urls[1])
	later("8 days")
	for merge(false) {
		continue
	}
	require.Equal(t, []int32{3}, pages())
	require.Zero(t, one[int](t, b, "SELECT count(*)::int FROM index_chunks WHERE position('lighthouse'::bytea IN data) > 0"),
		"after a week nothing of the page is left")
}

// Long pages are indexed few at a time.
func TestKeywordsOfLongPages(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	var urls []string
	for n := range 12 {
		urls = append(urls, fmt.Sprintf("https://site.example/%d", n))
	}
	b.seed(t, urls...)
	b.toIndex(t, strings.Repeat("word ", 10), urls...)
	b.exec(t, "UPDATE page_keywords SET body = repeat('w:1 ', 125000)") // half a million bytes
	var counts []int
	for after := int64(0); ; {
		last, n, err := b.WriteKeywords(t.Context(), after, 250)
		require.NoError(t, err)
		if n == 0 {
			break
		}
		counts, after = append(counts, n), last
	}
	require.Equal(t, []int{9, 3}, counts)
	require.Equal(t, 12, one[int](t, b, "SELECT count(*)::int FROM page_keywords"))
}
