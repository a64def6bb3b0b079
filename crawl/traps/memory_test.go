package traps_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/traps"
)

// pattern is one whose pages are judged in turn, its memory stored in between.
type pattern struct {
	shared, fingerprints []byte
}

type aPage struct{ target, title, text, canonical string }

// judge reports whether a page is news, and learns from it if so.
func (p *pattern) judge(t *testing.T, page aPage) bool {
	t.Helper()
	u := mustURL(t, page.target)
	m := traps.DecodeMemory(p.shared, p.fingerprints)
	require.Equal(t, p.fingerprints != nil, len(m.Fingerprints()) > 3)
	said := traps.Read(u, page.title, page.text)
	if !m.HasNewContent(said, u.String()) {
		return false
	}
	m, shared := m.Learn(said, page.canonical)
	if shared {
		p.shared = m.Shared()
	}
	p.fingerprints = m.Fingerprints()
	require.LessOrEqual(t, len(p.shared)+len(p.fingerprints), 6<<10)
	return true
}

// news counts those of n pages that are.
func (p *pattern) news(t *testing.T, n int, page func(i int) aPage) int {
	t.Helper()
	count := 0
	for i := range n {
		if p.judge(t, page(i)) {
			count++
		}
	}
	return count
}

// around is a text in the middle of what all pages share.
func around(shared []string, own ...string) string {
	half := len(shared) / 2
	return strings.Join(slices.Concat(shared[:half], own, shared[half:]), " ")
}

func TestMemoryKnowsPagesByWhatIsTheirOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ shared, own int }{{0, 20}, {200, 20}, {1000, 26}, {2000, 20}, {2000, 40}, {5000, 40}, {9000, 20}} {
		t.Run(fmt.Sprintf("%d shared and %d own words", c.shared, c.own), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(c.shared)))
			shared := words(rng, c.shared)
			var pages []aPage
			for i := range 300 {
				pages = append(pages, aPage{target: fmt.Sprintf("/item/%d", i), title: "The shop", text: around(shared, words(rng, c.own)...)})
			}
			var p pattern
			require.Equal(t, 300, p.news(t, 300, func(i int) aPage { return pages[i] }))
			require.Zero(t, p.news(t, 50, func(i int) aPage { return pages[299-i] }), "the last 50 again")
		})
	}
}

func TestMemoryKnowsNoNewsWhereThereIsNone(t *testing.T) {
	t.Parallel()
	shared := words(rand.New(rand.NewPCG(2, 3)), 1000)
	months := strings.Fields("January February March April May June July August September October November December")
	for name, c := range map[string]struct {
		page func(i int) aPage
		most int
	}{
		"the same text": {func(i int) aPage { return aPage{fmt.Sprintf("/s/%d", i), "Shop", around(shared), ""} }, 1},
		"other numbers": {func(i int) aPage {
			return aPage{fmt.Sprintf("/s/%d", i), "Shop", around(shared, "visitor", strconv.Itoa(i*17)), ""}
		}, 1},
		"a word or two": {func(i int) aPage {
			return aPage{fmt.Sprintf("/s/%d", i), "Shop", around(shared, words(rand.New(rand.NewPCG(9, uint64(i))), 2)...), ""}
		}, 12},
		"a title that says what the URL says": {func(i int) aPage {
			return aPage{fmt.Sprintf("/?q=find%d", i), fmt.Sprintf("Results for find%d", i), around(shared, fmt.Sprintf("find%d", i)), ""}
		}, 1},
		"empty months": {func(i int) aPage {
			at := fmt.Sprintf("%s %d", months[i%12], 1990+i/12)
			return aPage{fmt.Sprintf("/cal/%d/%d", 1990+i/12, i%12+1), "Events of " + at, around(shared, at), ""}
		}, 12},
		"five pages for each visitor": {func(i int) aPage {
			return aPage{
				fmt.Sprintf("/s/%d/p/%d", i/5, i%5), fmt.Sprintf("Page %c", 'A'+i%5),
				around(shared, words(rand.New(rand.NewPCG(7, uint64(i%5))), 400)...), "",
			}
		}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p pattern
			require.LessOrEqual(t, p.news(t, 400, c.page), c.most)
		})
	}
}

func TestMemoryTakesTitlesAndTablesForNews(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 5))
	shared := words(rng, 1000)
	titled := func(i int) aPage {
		return aPage{target: fmt.Sprintf("/p/%d", i), title: "Photo of " + strings.Join(words(rng, 2), " "), text: around(shared)}
	}
	require.Equal(t, 200, new(pattern).news(t, 200, titled))

	table := func(i int) aPage {
		var figures []string
		for range 30 {
			figures = append(figures, strconv.Itoa(rng.IntN(1_000_000)))
		}
		return aPage{target: fmt.Sprintf("/t/%d", i), title: "Figures", text: around(shared, figures...)}
	}
	require.Equal(t, 200, new(pattern).news(t, 200, table))

	short := func(i int) aPage {
		return aPage{target: fmt.Sprintf("/p/%d", i), title: "Stub", text: "There is little here."}
	}
	require.Equal(t, 50, new(pattern).news(t, 50, short), "too little to tell")
}

// Two kinds of pages that share a path have boilerplates of their own.
func TestMemoryKnowsSeveralTemplates(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 7))
	templates := [][]string{words(rng, 400), words(rng, 300), words(rng, 500)}
	page := func(i int) aPage {
		return aPage{target: fmt.Sprintf("/i?n=%d", i), title: "A site", text: around(templates[i%3], words(rng, 30)...)}
	}
	require.Equal(t, 300, new(pattern).news(t, 300, page))
	bare := func(i int) aPage {
		return aPage{target: fmt.Sprintf("/i?n=%d", i), title: "A site", text: around(templates[i%3])}
	}
	p := new(pattern)
	require.Equal(t, 100, p.news(t, 100, page))
	require.Zero(t, p.news(t, 100, bare))
}

// A copy that is met before its original does not make a duplicate of it.
func TestMemoryKnowsAnOriginalByItsCopy(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 9))
	shared := words(rng, 1000)
	var p pattern
	again := 0
	for i := range 100 {
		text := around(shared, words(rng, 30)...)
		topic := aPage{target: fmt.Sprintf("/viewtopic.php?t=%d", i), title: "A topic", text: text}
		post := aPage{fmt.Sprintf("/viewtopic.php?p=%d", i*20), "A topic", text, mustURL(t, topic.target).String()}
		require.True(t, p.judge(t, post), i)
		require.True(t, p.judge(t, topic), i)
		post.target += "1"
		if p.judge(t, post) {
			again++
		}
	}
	require.Less(t, again, 5)
}

func TestRememberTakesAnything(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, {}, {1}, {1, 0}, {9, 9, 9, 9}, {1, 255, 255, 1}, []byte(strings.Repeat("\x01", 50_000))} {
		m := traps.DecodeMemory(b, b)
		said := traps.Read(mustURL(t, "/"), "A title", strings.Repeat("word after word ", 50))
		m, _ = m.Learn(said, "")
		require.LessOrEqual(t, len(m.Shared())+len(m.Fingerprints()), 6<<10)
		m.HasNewContent(said, "")
	}
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte{1, 0, 3, 0, 0, 1, 2}, []byte{1, 0, 1, 0, 0, 0, 1}, "a title", "some text 1 2 3", "more")
	f.Fuzz(func(t *testing.T, shared, fingerprints []byte, title, text, more string) {
		m := traps.DecodeMemory(shared, fingerprints)
		again := traps.DecodeMemory(m.Shared(), m.Fingerprints())
		require.Equal(t, m.Shared(), again.Shared())
		require.Equal(t, m.Fingerprints(), again.Fingerprints())
		u := mustURL(t, "/p/1")
		for _, said := range []*traps.PageText{traps.Read(u, title, text), traps.Read(u, more, more+text)} {
			m.HasNewContent(said, u.String())
			m, _ = m.Learn(said, title)
			require.LessOrEqual(t, len(m.Shared())+len(m.Fingerprints()), 6<<10)
		}
	})
}

// BenchmarkMemory measures one page of 2,020 words. The benchmark compares the page with the text
// that its pattern's pages share, and learns from it.
func BenchmarkMemory(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	shared := words(rng, 2000)
	m := traps.Memory{}
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = around(shared, words(rng, 20)...)
		m, _ = m.Learn(traps.Read(mustURL(b, "/p/1"), "A title", texts[i]), "")
	}
	kept, last := m.Shared(), m.Fingerprints()
	u := mustURL(b, "/p/17")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		said := traps.Read(u, "A title", texts[i%len(texts)])
		m := traps.DecodeMemory(kept, last)
		m.HasNewContent(said, u.String())
		m, _ = m.Learn(said, "")
		m.Shared()
		m.Fingerprints()
		said.Release()
	}
}
