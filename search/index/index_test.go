package index_test

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/search/index"
	"github.com/mosey-web/mosey/test/form"
)

var (
	pagesFlag   = flag.Int("index.pages", 0, "how many `pages` TestQueriesAreEvaluatedWhole reads; 0 is 6,000, and 2,000 with -short")
	queriesFlag = flag.Int("index.queries", 0, "how many `queries` it asks; 0 is 400, and 150 with -short")
)

// A query finds each page that has what is asked for, and no other, however the pages are
// spread over segments. The order is that of the scores. No merge changes what is found.
func TestQueriesAreEvaluatedWhole(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	pages, asks := cmp.Or(*pagesFlag, form.Either(6_000, 2_000)), cmp.Or(*queriesFlag, form.Either(400, 150))
	docs := draw(rng, 1, pages)
	m := newMemory()
	for some := range slices.Chunk(docs, pages/6+100) {
		m.add(t, some...)
	}
	again := draw(rng, 1, 500) // read again, in a newer segment
	m.add(t, again...)
	docs = append(again, docs[500:]...)
	queries := make([]asked, asks)
	before := make([][]index.Hit, len(queries))
	for i := range queries {
		queries[i] = ask(rng, docs)
		before[i] = m.check(t, queries[i], docs)
	}
	m.merge(t)
	require.Equal(t, len(docs), m.segments[0].Pages, "older versions are dropped")
	for i, q := range queries {
		after := m.check(t, q, docs)
		require.Len(t, after, len(before[i]))
	}
}

func (m *memory) check(t *testing.T, a asked, docs []document) []index.Hit {
	t.Helper()
	hits := m.all(t, a.query)
	var found, want []int64
	last := hits
	for i, h := range hits {
		found = append(found, h.Page)
		if i > 0 {
			require.LessOrEqual(t, h.Score, last[i-1].Score, a.text)
		}
	}
	for _, d := range docs {
		if a.has(d) {
			want = append(want, d.page)
		}
	}
	slices.Sort(found)
	require.Equal(t, want, found, a.text)
	return hits
}

func TestScores(t *testing.T) {
	t.Parallel()
	filler := func(n int) []string { return slices.Repeat([]string{"filler"}, n) }
	m := newMemory()
	m.add(t,
		document{page: 7, title: []string{"harbour"}, text: filler(50)},
		document{page: 14, title: []string{"the", "harbour", "and", "all", "that", "is", "beside", "it"}, text: filler(50)},
		document{page: 21, text: append(filler(20), "harbour", "light", "harbour")},
		document{page: 28, text: append(filler(20), "harbour", "x", "x", "light", "harbour")},
		document{page: 35, text: append(filler(400), "harbour")},
		document{page: 36, text: append(filler(400), "harbour")},
	)
	order := func(words ...string) (pages []int64) {
		var q index.Query
		for _, w := range words {
			atom, _ := word(w)
			q.Clauses = append(q.Clauses, index.Clause{Any: []index.Atom{atom}})
		}
		for _, h := range m.all(t, q) {
			pages = append(pages, h.Page)
		}
		return pages
	}
	one := order("harbour")
	require.Equal(t, int64(7), one[0], "a short title")
	require.Less(t, slices.Index(one, 14), slices.Index(one, 35), "a long title")
	require.Less(t, slices.Index(one, 21), slices.Index(one, 35), "twice in a short text")
	require.Less(t, slices.Index(one, 36), slices.Index(one, 35), "what is worth more")
	require.Equal(t, []int64{21, 28}, order("harbour", "light"), "words beside each other")
}

func TestToMerge(t *testing.T) {
	t.Parallel()
	m := newMemory()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 70 {
		m.add(t, draw(rng, 1+i*10, 10)...)
	}
	require.Len(t, index.SelectForMerge(m.segments, false), 64, "many segments of a busy crawl")
	require.Empty(t, index.SelectForMerge(m.segments, true), "there are no large ones")
	require.Empty(t, index.SelectForMerge(m.segments[:7], false))
	large := make([]crawl.Segment, 20)
	for i := range large {
		large[i] = crawl.Segment{ID: int64(i), Pages: 240_000}
	}
	require.Len(t, index.SelectForMerge(large, true), 4, "no more than a million pages")
	require.Empty(t, index.SelectForMerge(large, false))
}

// What is merged as a small segment is checked as one.
func TestToCheck(t *testing.T) {
	t.Parallel()
	for _, pages := range []int{0, 1, 250, 251, 2_000, 2_001, 16_000, 200_000} {
		same := slices.Repeat([]crawl.Segment{{Pages: pages, SinceCheck: 6 * time.Hour}}, 8)
		for _, large := range []bool{false, true} {
			_, due := index.SelectForCheck(same, large)
			require.Equal(t, len(index.SelectForMerge(same, large)) > 0, due, "%d %t", pages, large)
		}
	}
	next, due := index.SelectForCheck([]crawl.Segment{{ID: 1, SinceCheck: 7 * time.Hour}, {ID: 2, SinceCheck: 8 * time.Hour}, {ID: 3}}, false)
	require.True(t, due)
	require.Equal(t, int64(2), next.ID)
	_, due = index.SelectForCheck([]crawl.Segment{{SinceCheck: 5 * time.Hour}}, false)
	require.False(t, due)
}

func TestOutlived(t *testing.T) {
	t.Parallel()
	s := crawl.Segment{Pages: 10}
	require.False(t, index.NeedsRewrite(s, 3))
	require.True(t, index.NeedsRewrite(s, 4))
	s.Age = 7 * 24 * time.Hour
	require.True(t, index.NeedsRewrite(s, 1))
	require.False(t, index.NeedsRewrite(s, 0))
}
