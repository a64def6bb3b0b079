package search_test

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// known is a query that is made from a document, and the document.
type known struct {
	kind, query, url string
}

// The kinds of queries that are made from documents. Those of documents in Chinese and
// Japanese have "-cjk" behind them, and are judged apart.
const (
	kindTitle      = "title"
	kindPhrase     = "phrase"
	kindRare       = "rare"
	kindIdentifier = "identifier"
	cjk            = "-cjk"
)

// kindsOfQueries are all, in the order of the table.
var kindsOfQueries = []string{
	kindTitle, kindPhrase, kindRare, kindIdentifier, kindTitle + cjk, kindPhrase + cjk, kindRare + cjk,
}

// What queries are made from.
const (
	knownFile   = "testdata/known.tsv"
	proseLeast  = 80 // words of prose of a sampled document; half of it in CJK, where a word is a clause
	phraseWords = 5
	phraseRunes = 10 // of a phrase in CJK
	rareWords   = 3
	// A rare word is on so many documents.
	rareLeast, rareMost = 2, 20
	identifiersEach     = 80 // of each manual
)

// samples is how many documents are taken of a manual.
func samples(m *manual) int {
	switch m.name {
	case "python", "postgresql":
		return 90
	case "git":
		return 50
	}
	return 8
}

// draw is a number that belongs to a text, and to nothing else: a seed that stays the same
// where documents are added.
func draw(what, text string) uint64 {
	sum := sha256.Sum256([]byte(what + "\x00" + text))
	return binary.BigEndian.Uint64(sum[:])
}

// drawn sorts by draw.
func drawn[T any](all []T, what string, text func(T) string) {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(draw(what, text(a)), draw(what, text(b))) })
}

// makeKnown makes the queries. The same documents have the same ones.
func makeKnown(docs []*document) []known {
	k := newKnowing(docs)
	var all []known
	for _, d := range k.sample() {
		kindOf := func(kind string) string {
			if isCJK(d) {
				return kind + cjk
			}
			return kind
		}
		if q := k.title(d); q != "" {
			all = append(all, known{kindOf(kindTitle), q, d.url})
		}
		if q := k.phrase(d); q != "" {
			all = append(all, known{kindOf(kindPhrase), q, d.url})
		}
		if q := k.rare(d); q != "" {
			all = append(all, known{kindOf(kindRare), q, d.url})
		}
	}
	all = append(all, k.identifiers()...)
	slices.SortStableFunc(all, func(a, b known) int {
		return cmp.Or(slices.Index(kindsOfQueries, a.kind)-slices.Index(kindsOfQueries, b.kind), cmp.Compare(a.url, b.url))
	})
	return all
}

func isCJK(d *document) bool { return d.manual.language == "ja" || d.manual.language == "zh" }

// knowing holds statistics of all documents.
type knowing struct {
	docs   []*document
	titles map[string]int // how many have a title, in words
	df     map[string]int // how many have a word
	joined []string       // their texts, with a blank around each word
	squeez []string       // the same without blanks, where a document is in CJK
}

func newKnowing(docs []*document) *knowing {
	k := &knowing{docs: docs, titles: map[string]int{}, df: map[string]int{}}
	for _, d := range docs {
		k.titles[strings.Join(cutWords(d.title), " ")]++
		seen := map[string]bool{}
		for _, w := range wordsIn(d, d.text) {
			if !seen[w] {
				seen[w] = true
				k.df[w]++
			}
		}
		k.joined = append(k.joined, " "+strings.Join(d.text, " ")+" ")
		squeezed := ""
		if isCJK(d) {
			squeezed = strings.Join(d.text, "")
		}
		k.squeez = append(k.squeez, squeezed)
	}
	return k
}

// sample draws documents from each manual that have prose.
func (k *knowing) sample() (all []*document) {
	taken := map[string]int{}
	docs := slices.Clone(k.docs)
	drawn(docs, "document", func(d *document) string { return d.url })
	for _, d := range docs {
		words := 0
		for _, p := range d.prose {
			words += len(p)
		}
		if isCJK(d) {
			words *= 2
		}
		if words < proseLeast || taken[d.manual.name] == samples(d.manual) {
			continue
		}
		taken[d.manual.name]++
		all = append(all, d)
	}
	return all
}

// title is the words of a document's title; empty if another has the same one.
func (k *knowing) title(d *document) string {
	words := cutWords(d.title)
	if k.titles[strings.Join(words, " ")] > 1 {
		return ""
	}
	return strings.Join(slices.DeleteFunc(words, operator), " ")
}

// operator reports whether a word is one in the language of queries.
func operator(word string) bool { return word == "or" }

// phrase is words that stand one after the other in this document and in no other.
func (k *knowing) phrase(d *document) string {
	var all []string
	for _, p := range d.prose {
		if isCJK(d) {
			all = append(all, runsCJK(strings.Join(p, " "))...)
			continue
		}
		for i := 0; i+phraseWords <= len(p); i++ {
			if some := p[i : i+phraseWords]; !slices.ContainsFunc(some, func(w string) bool { return !letters(w) }) {
				all = append(all, strings.Join(some, " "))
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	drawn(all, d.url, func(s string) string { return s })
	for _, phrase := range all {
		if k.only(d, phrase) {
			return `"` + phrase + `"`
		}
	}
	return ""
}

// only reports whether a document's text alone has a phrase.
func (k *knowing) only(d *document, phrase string) bool {
	found := false
	for i, other := range k.docs {
		text, part := k.joined[i], " "+phrase+" "
		if isCJK(d) {
			text, part = k.squeez[i], phrase
		}
		if strings.Contains(text, part) {
			if other != d {
				return false
			}
			found = true
		}
	}
	return found
}

// rare is three words of the prose that few documents have.
func (k *knowing) rare(d *document) string {
	var all []string
	for _, p := range d.prose {
		for _, w := range wordsIn(d, p) {
			if n := k.df[w]; n >= rareLeast && n <= rareMost && (letters(w) && utf8.RuneCountInString(w) >= 4 || isCJK(d)) && !operator(w) {
				all = append(all, w)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	drawn(all, d.url, func(s string) string { return s })
	if len(all) < rareWords {
		return ""
	}
	return strings.Join(all[:rareWords], " ")
}

// identifiers are names that only one document explains, and that document.
func (k *knowing) identifiers() []known {
	by := map[string][]*document{}
	for _, d := range k.docs {
		for _, name := range d.defines {
			by[name] = append(by[name], d)
		}
		if d.manual.name == "git" && strings.HasPrefix(d.title, "git-") {
			by[d.title] = append(by[d.title], d)
		}
	}
	of := map[string][]known{}
	for name, docs := range by {
		if len(docs) == 1 {
			of[docs[0].manual.name] = append(of[docs[0].manual.name], known{kindIdentifier, name, docs[0].url})
		}
	}
	var all []known
	for _, some := range of {
		slices.SortFunc(some, func(a, b known) int { return cmp.Compare(a.query, b.query) })
		drawn(some, "identifier", func(k known) string { return k.query })
		all = append(all, some[:min(len(some), identifiersEach)]...)
	}
	slices.SortFunc(all, func(a, b known) int { return cmp.Compare(a.url+a.query, b.url+b.query) })
	return all
}

func letters(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M) })
}

// wordsIn are the words of some text. Those of a document in CJK are runs of two to six
// characters of Katakana or Han between others, such as people look for.
func wordsIn(d *document, text []string) (all []string) {
	if !isCJK(d) {
		return text
	}
	for _, w := range text {
		for _, run := range runPattern.FindAllString(w, -1) {
			if n := utf8.RuneCountInString(run); n >= 2 && n <= 6 {
				all = append(all, run)
			}
		}
	}
	return all
}

var (
	runPattern = regexp.MustCompile(`[\p{Katakana}ー]+|\p{Han}+`)
	cjkPattern = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}ー]+`)
)

// runsCJK are the parts of a text of phraseRunes characters.
func runsCJK(text string) (all []string) {
	for _, run := range cjkPattern.FindAllString(text, -1) {
		runes := []rune(run)
		for i := 0; i+phraseRunes <= len(runes); i++ {
			all = append(all, string(runes[i:i+phraseRunes]))
		}
	}
	return all
}

// readTable reads a file of lines with so many columns, tabs between them. Lines that begin
// with # are comments.
func readTable(t *testing.T, file string, columns int) (rows [][]string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		if line := scan.Text(); line != "" && !strings.HasPrefix(line, "#") {
			row := strings.Split(line, "\t")
			require.Len(t, row, columns, "%s: %q", file, line)
			rows = append(rows, row)
		}
	}
	require.NoError(t, scan.Err())
	return rows
}

func readKnown(t *testing.T) (all []known) {
	t.Helper()
	for _, row := range readTable(t, knownFile, 3) {
		require.Contains(t, kindsOfQueries, row[0])
		all = append(all, known{row[0], row[1], row[2]})
	}
	return all
}

func writeKnown(t *testing.T, all []known) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintln(&out, "# kind, query and URL wanted. Made from the documents by `go test ./test/search -judge -judge.known`.")
	for _, k := range all {
		fmt.Fprintf(&out, "%s\t%s\t%s\n", k.kind, k.query, k.url)
	}
	require.NoError(t, os.WriteFile(knownFile, []byte(out.String()), 0o600))
}
