package index_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/search/index"
)

// memory is an index without a database.
type memory struct {
	segments []crawl.Segment
	chunks   map[crawl.ChunkRef][]byte
	sorted   map[int64][]crawl.Chunk // of each segment
	pages    map[int64]int64         // the version of each page
	next     int64
	bytes    int
}

func newMemory() *memory {
	return &memory{chunks: map[crawl.ChunkRef][]byte{}, sorted: map[int64][]crawl.Chunk{}, pages: map[int64]int64{}}
}

func (m *memory) take(t testing.TB, build func(out func(crawl.Chunk) error) (crawl.Segment, error)) {
	t.Helper()
	m.next++
	id := m.next
	seg, err := build(func(c crawl.Chunk) error {
		require.LessOrEqual(t, len(c.Data)+len(c.Key), 7_900, "a chunk fits into a page of Postgres")
		ref := crawl.ChunkRef{Segment: id, Kind: c.Kind, Key: string(c.Key)}
		require.NotContains(t, m.chunks, ref)
		m.chunks[ref] = c.Data
		m.sorted[id] = append(m.sorted[id], c)
		m.bytes += len(c.Data) + len(c.Key)
		return nil
	})
	require.NoError(t, err)
	seg.ID = id
	slices.SortFunc(m.sorted[id], func(a, b crawl.Chunk) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		return bytes.Compare(a.Key, b.Key)
	})
	m.segments = append(m.segments, seg)
}

func (m *memory) add(t testing.TB, docs ...document) {
	t.Helper()
	m.take(t, func(out func(crawl.Chunk) error) (crawl.Segment, error) {
		var pages []crawl.IndexedPage
		for _, d := range docs {
			m.pages[d.page] = m.next
			pages = append(pages, d.indexed(m.next))
		}
		return index.Build(pages, stems, out)
	})
}

func (m *memory) merge(t testing.TB) {
	t.Helper()
	before := m.segments
	m.segments = nil
	m.take(t, func(out func(crawl.Chunk) error) (crawl.Segment, error) {
		return index.Merge(t.Context(), m, before, out)
	})
}

// Scan fulfils index.Scanner.
func (m *memory) Scan(_ context.Context, segment int64, kind crawl.ChunkKind, after []byte, most int) ([]crawl.Chunk, error) {
	list := m.sorted[segment]
	i := sort.Search(len(list), func(i int) bool {
		return list[i].Kind > kind || list[i].Kind == kind && string(list[i].Key) > string(after)
	})
	var out []crawl.Chunk
	for ; i < len(list) && list[i].Kind == kind && len(out) < most; i++ {
		out = append(out, list[i])
	}
	return out, nil
}

// Chunks fulfils index.Source.
func (m *memory) Chunks(_ context.Context, refs []crawl.ChunkRef) ([][]byte, error) {
	out := make([][]byte, len(refs))
	for i, ref := range refs {
		out[i] = m.chunks[ref]
	}
	return out, nil
}

// Terms fulfils index.Source.
func (m *memory) Terms(_ context.Context, segments []int64, keys []string) ([][]byte, error) {
	var out [][]byte
	for _, s := range segments {
		for _, key := range keys {
			list := m.sorted[s]
			i := sort.Search(len(list), func(i int) bool {
				return list[i].Kind > index.KindTerms || list[i].Kind == index.KindTerms && string(list[i].Key) > key
			})
			if i > 0 && list[i-1].Kind == index.KindTerms {
				out = append(out, list[i-1].Data)
			} else {
				out = append(out, nil)
			}
		}
	}
	return out, nil
}

// Scores fulfils index.Scanner.
func (m *memory) Scores(_ context.Context, pages []int64) (versions []int64, worths []float32, err error) {
	for _, p := range pages {
		versions, worths = append(versions, m.pages[p]), append(worths, float32(p%7)/7)
	}
	return versions, worths, nil
}

// document is a page of words.
type document struct {
	page        int64
	title, text []string
	domain      string
	date        time.Time
}

func (d document) indexed(version int64) crawl.IndexedPage {
	return crawl.IndexedPage{
		Page: d.page, Version: version, Domain: d.domain, Language: "en", Score: float32(d.page%7) / 7, Date: d.date,
		Index: crawl.Index{Configs: []string{"english"}, Title: zone(d.title), Text: zone(d.text)},
	}
}

// width is the number of bits of buckets.
const width = 5

func bucket(w string) int { return int(crawl.BucketOf(w)) % (1 << width) }

// zone is words as a crawl.Index has them.
func zone(words []string) string {
	counts, before := map[string]int{}, map[string]map[int]bool{}
	for i, w := range words {
		if counts[w]++; before[w] == nil {
			before[w] = map[int]bool{}
		}
		if i > 0 {
			before[w][bucket(words[i-1])] = true
		}
	}
	var out []string
	for w, n := range counts {
		var item strings.Builder
		fmt.Fprintf(&item, "%s:%d:%c", w, n, 'a'+width-1)
		for b := range before[w] {
			fmt.Fprintf(&item, "%02x", b)
		}
		out = append(out, item.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// stems takes an s from the ends of words; "w0" is a stop word.
func stems(_, term string) []string {
	if term == "w0" {
		return nil
	}
	return []string{strings.TrimSuffix(term, "s")}
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// draw makes documents. Few words are frequent, most are rare.
func draw(rng *rand.Rand, from, n int) []document {
	zipf := rand.NewZipf(rng, 1.1, 3, 2_000)
	words := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("w%d", zipf.Uint64())
			if rng.IntN(4) == 0 {
				out[i] += "s"
			}
		}
		return out
	}
	docs := make([]document, n)
	for i := range docs {
		docs[i] = document{
			page: int64(from + i), title: words(1 + rng.IntN(6)), text: words(rng.IntN(120)),
			domain: fmt.Sprintf("d%d.example", rng.IntN(30)), date: epoch.AddDate(0, 0, rng.IntN(100)),
		}
	}
	return docs
}

// asked is a query, and what it means.
type asked struct {
	query index.Query
	has   func(d document) bool
	text  string
}

func word(w string) (index.Atom, func(document) bool) {
	a := index.Atom{Variants: []index.Variant{{Keys: []string{index.Word(w)}, Weight: 1}}}
	for _, stem := range stems("", w) {
		a.Variants = append(a.Variants, index.Variant{Keys: []string{index.Stem("english", stem)}, Weight: 0.8})
	}
	return a, func(d document) bool {
		for _, x := range slices.Concat(d.title, d.text) {
			if x == w || x != "w0" && w != "w0" && strings.TrimSuffix(x, "s") == strings.TrimSuffix(w, "s") {
				return true
			}
		}
		return false
	}
}

func phrase(words []string) (index.Atom, func(document) bool) {
	w := index.Variant{Weight: 1}
	for i, x := range words {
		after := -1
		if i > 0 {
			after = int(crawl.BucketOf(words[i-1]))
		}
		w.Keys, w.PrecedingBuckets = append(w.Keys, index.Word(x)), append(w.PrecedingBuckets, after)
	}
	return index.Atom{Variants: []index.Variant{w}}, func(d document) bool {
		together := false
		for _, list := range [][]string{d.title, d.text} {
			together = together || !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(list, w) })
		}
		for i, w := range words[1:] {
			behind := map[int]bool{}
			for _, list := range [][]string{d.title, d.text} {
				for k := 1; k < len(list); k++ {
					if list[k] == w {
						behind[bucket(list[k-1])] = true
					}
				}
			}
			together = together && (behind[bucket(words[i])] || len(behind) > 30)
		}
		return together
	}
}

// ask draws a query of any kind.
func ask(rng *rand.Rand, docs []document) asked {
	a := asked{has: func(document) bool { return true }}
	one := func() (index.Atom, func(document) bool) {
		d := docs[rng.IntN(len(docs))]
		words := d.title
		if len(d.text) > 0 && rng.IntN(3) > 0 {
			words = d.text
		}
		at := rng.IntN(len(words))
		if end := at + 2 + rng.IntN(2); rng.IntN(3) == 0 && end <= len(words) {
			a.text += fmt.Sprintf("%q ", words[at:end])
			return phrase(words[at:end])
		}
		a.text += words[at] + " "
		return word(words[at])
	}
	for range 1 + rng.IntN(3) {
		first, has := one()
		c := index.Clause{Any: []index.Atom{first}}
		if rng.IntN(3) == 0 {
			a.text += "or "
			second, other := one()
			c.Any = append(c.Any, second)
			left := has
			has = func(d document) bool { return left(d) || other(d) }
		}
		before := a.has
		a.has = func(d document) bool { return before(d) && has(d) }
		a.query.Clauses = append(a.query.Clauses, c)
	}
	before := a.has
	switch rng.IntN(5) {
	case 0:
		a.text += "not "
		not, has := one()
		a.query.Not = append(a.query.Not, not)
		a.has = func(d document) bool { return before(d) && !has(d) }
	case 1:
		domain := docs[rng.IntN(len(docs))].domain
		a.text += "of " + domain
		a.query.Within = append(a.query.Within, []string{index.Domain(domain)})
		a.has = func(d document) bool { return before(d) && d.domain == domain }
	case 2:
		a.query.Since = epoch.AddDate(0, 0, 50)
		a.text += "since"
		a.has = func(d document) bool { return before(d) && !d.date.Before(a.query.Since) }
	}
	return a
}

// all are the pages of a query, the best first.
func (m *memory) all(t testing.TB, q index.Query) []index.Hit {
	t.Helper()
	s, err := index.Open(t.Context(), m, m.segments, q)
	require.NoError(t, err)
	r, err := s.Rank(t.Context(), 0)
	require.NoError(t, err)
	var all []index.Hit
	for {
		hits, err := r.Next(37)
		require.NoError(t, err)
		if len(hits) == 0 {
			return all
		}
		for _, h := range hits {
			if m.pages[h.Page] == h.Version {
				all = append(all, h)
			}
		}
	}
}
