package terms

import (
	"cmp"
	"encoding/binary"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// How many terms of a page are kept. package index has places for as many.
const (
	titleTerms       = 120
	headingTerms     = 900
	descriptionTerms = 200
	addressTerms     = 100
	textTerms        = 50_000
)

// Page is the texts by which a page is found.
type Page struct {
	// Language is a tag of BCP 47; empty means undetermined. Second is the other language of
	// a page in two; empty means none.
	Language, Second string

	Title, Headings, Description, Text string
	// URL is the page's own.
	URL string

	// Sections are the parts of Text that have a heading, in their order.
	Sections []Section

	// NoPlaces leaves out where terms are, from which the text could be put together again,
	// and with it the sections.
	NoPlaces bool
}

// Section is a part of a page's text that has a heading.
type Section struct {
	Heading string
	// At is where in Page.Text the text under the heading begins, in bytes.
	At int
}

var indexers = sync.Pool{New: func() any { return new(indexer) }}

// Index returns the terms of a page for the index.
func Index(p Page) *crawl.Index {
	x, _ := indexers.Get().(*indexer) // there is nothing else
	defer indexers.Put(x)
	if x.noPlaces = p.NoPlaces; p.NoPlaces {
		p.Sections = nil
	}
	index := &crawl.Index{
		Configs: configsOf(p.Language, p.Second), Title: x.zone(p.Title, titleTerms), Headings: x.zone(p.Headings, headingTerms),
		Description: x.zone(p.Description, descriptionTerms), Address: x.zone(address(p.URL), addressTerms), Second: p.Second,
	}
	for _, s := range p.Sections {
		x.cutter.Marks = append(x.cutter.Marks, s.At)
	}
	index.Text = x.zone(p.Text, textTerms)
	for i, s := range p.Sections {
		index.Sections = append(index.Sections, crawl.Section{Heading: s.Heading, At: x.cutter.Marked[i]})
	}
	x.cutter.Marks = x.cutter.Marks[:0]
	return index
}

// configsOf are the configurations for the languages of a page.
func configsOf(language, second string) []string {
	first := Config(language)
	if other := Config(second); second != "" && other != first {
		return []string{first, other}
	}
	return []string{first}
}

// address is what of a URL is words: its host without www, its path, and its query.
func address(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	if plain, err := url.PathUnescape(rest); err == nil && utf8.ValidString(plain) {
		rest = plain
	}
	return strings.TrimPrefix(rest, "www.")
}

// indexer makes zones of documents. It keeps its memory for the next.
type indexer struct {
	cutter Cutter
	cut    []byte
	of     map[string]int // the place of a term in found
	found  []found
	places []place
	out    []byte
	// noPlaces writes how often a term is there in place of where
	noPlaces bool
}

// found is a term with the first and the last of its places.
type found struct {
	term        string
	order       uint64
	first, last int
}

// place is one of a term's, from 1 on, and which is the next; 0 means none.
type place struct{ at, next int }

// zone is the terms of a text, each with its places: "cat:2,7 the:1", or "cat:*2 the:*1" without.
// They are in the order of their letters, so that what is stored is not the text.
func (x *indexer) zone(text string, limit int) string {
	x.cut, _ = x.cutter.Cut(x.cut[:0], text, limit)
	slices.SortStableFunc(x.cutter.side, func(a, b Placed) int { return cmp.Compare(a.At, b.At) })
	x.read(string(x.cut), x.cutter.side)
	slices.SortFunc(x.found, func(a, b found) int {
		if x.noPlaces { // the first letters leave the others in the order of the text
			return cmp.Compare(a.term, b.term)
		}
		return cmp.Compare(a.order, b.order)
	})
	x.out = x.out[:0]
	for i, f := range x.found {
		if i > 0 {
			x.out = append(x.out, ' ')
		}
		x.out = append(append(x.out, f.term...), ':')
		if x.noPlaces {
			count := 0
			for n := f.first; n != 0; n = x.places[n].next {
				count++
			}
			x.out = strconv.AppendInt(append(x.out, '*'), int64(count), 10)
			continue
		}
		for n := f.first; n != 0; n = x.places[n].next {
			if n != f.first {
				x.out = append(x.out, ',')
			}
			x.out = strconv.AppendInt(x.out, int64(x.places[n].at), 10)
		}
	}
	clear(x.found) // they hold on to the text
	return string(x.out)
}

func (x *indexer) read(terms string, side []Placed) {
	if x.of == nil {
		x.of = map[string]int{}
	}
	x.found, x.places = x.found[:0], append(x.places[:0], place{})
	at := 0
	for term := range strings.SplitSeq(terms, " ") {
		if term == "" {
			continue
		}
		at++
		for len(side) > 0 && side[0].At < at {
			x.note(side[0].Term, side[0].At)
			side = side[1:]
		}
		x.note(term, at)
	}
	for _, s := range side {
		x.note(s.Term, s.At)
	}
	clear(x.of)
}

func (x *indexer) note(term string, at int) {
	n := len(x.places)
	x.places = append(x.places, place{at: at})
	i, known := x.of[term]
	if !known {
		x.of[term] = len(x.found)
		x.found = append(x.found, found{term, prefix(term), n, n})
		return
	}
	if x.places[x.found[i].last].at >= at {
		return // a name that is one term, too
	}
	x.places[x.found[i].last].next = n
	x.found[i].last = n
}

// prefix orders terms by their first eight bytes.
func prefix(term string) uint64 {
	var b [8]byte
	copy(b[:], term)
	return binary.BigEndian.Uint64(b[:])
}

const (
	// anchorsMost is how many different texts of links to a page count, and anchorTerms
	// how many terms of them together.
	anchorsMost = 20
	anchorTerms = 300
)

// Anchors are the terms of the texts of links to a page, as in a crawl.Index. texts has each
// text with the number of domains that use it; the most used ones count.
func Anchors(texts map[string]int) string {
	list := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(texts[b], texts[a]), cmp.Compare(a, b))
	})
	x, _ := indexers.Get().(*indexer) // there is nothing else
	defer indexers.Put(x)
	x.noPlaces = false
	return x.zone(strings.Join(list[:min(len(list), anchorsMost)], "\n"), anchorTerms)
}

// Simple is the configuration of languages that Postgres has none for.
const Simple = "simple"

// configs are the text search configurations of Postgres 15, by language.
var configs = map[string]string{
	"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
	"eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
	"id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
	"no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
	"tr": "turkish", "yi": "yiddish",
}

// Config is the text search configuration for a language, a tag of BCP 47 or empty.
func Config(tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	return cmp.Or(configs[base], Simple)
}
