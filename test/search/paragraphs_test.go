package search_test

import (
	"flag"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var paragraphsFlag = flag.Int("judge.paragraphs", 3000, "with -judge, look for so many `paragraphs` of prose")

const (
	paragraphWords = 4 // of a paragraph that is looked for, at the least
	beginWords     = 8 // by which it is looked for
	// mainTextMax is about where Mosey cuts a text, in characters.
	mainTextMax = 300_000
)

// paragraph is how a paragraph begins that only one document has.
type paragraph struct {
	doc   *document
	begin string
}

// beginnings draws paragraphs from documents whose beginning is in no other document, and
// in theirs once.
func beginnings(docs []*document, most int) []paragraph {
	seed := maphash.MakeSeed()
	count := map[uint64]int{}
	var all []paragraph
	for _, d := range docs {
		for i, p := range d.prose {
			if begin := beginningOf(d, i); begin != "" && len(p) >= paragraphWords {
				all = append(all, paragraph{d, begin})
				count[maphash.String(seed, begin)] = 0
			}
		}
	}
	for _, d := range docs {
		for n := paragraphWords; n <= beginWords; n++ {
			for i := 0; i+n <= len(d.text); i++ {
				h := maphash.String(seed, strings.Join(d.text[i:i+n], " "))
				if c, is := count[h]; is {
					count[h] = c + 1
				}
			}
		}
	}
	all = slices.DeleteFunc(all, func(p paragraph) bool { return count[maphash.String(seed, p.begin)] != 1 })
	drawn(all, "paragraph", func(p paragraph) string { return p.doc.url + p.begin })
	return all[:min(len(all), most)]
}

// beginningOf is the first words of a document's paragraph; empty if one of them is no plain
// word.
func beginningOf(d *document, i int) string {
	words := d.prose[i][:min(len(d.prose[i]), beginWords)]
	if isCJK(d) || slices.ContainsFunc(words, func(w string) bool { return !letters(w) || utf8.RuneCountInString(w) > 30 || operator(w) }) {
		return ""
	}
	return strings.Join(words, " ")
}

func TestBeginnings(t *testing.T) {
	t.Parallel()
	m := &manual{name: "m", url: "https://m.example/", language: "en"}
	docs := []*document{
		newDocument(m, "a", "<p>Four words are enough</p><p>Both of them have this.</p><p>Not three words</p>"),
		newDocument(m, "b", "<p>Both of them have this.</p><p>No pg_class among plain words.</p>"),
	}
	all := beginnings(docs, 10)
	require.Equal(t, []paragraph{{docs[0], "four words are enough"}}, all)
}

// judgeParagraphs prints how many paragraphs of prose are not found.
func judgeParagraphs(t *testing.T, docs []*document, find finder) {
	t.Helper()
	all := beginnings(docs, *paragraphsFlag)
	var unfound, missing, far int
	for _, p := range all {
		host := hostOf(p.doc.url)
		found, err := find(t.Context(), `"`+p.begin+`"`, host)
		require.NoError(t, err, p.begin)
		if slices.Contains(found, p.doc.url) {
			continue
		}
		unfound++
		if strings.Index(strings.Join(p.doc.text, " "), p.begin) > mainTextMax {
			far++
			continue
		}
		// its words may be there, and the phrase not be found for another reason
		found, err = find(t.Context(), p.begin, host)
		require.NoError(t, err, p.begin)
		if !slices.Contains(found, p.doc.url) {
			missing++
		}
		if *missesFlag {
			t.Logf("not found (words of it: %t): %s: %s", slices.Contains(found, p.doc.url), p.doc.url, p.begin)
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(len(all)) }
	t.Logf("%d paragraphs of prose: %d or %.2f %% are not found by their first words in quotes; %d of these stand after %d characters; "+
		"of the others %d or %.2f %% are not found without quotes either",
		len(all), unfound, share(unfound), far, mainTextMax, missing, share(missing))
}
