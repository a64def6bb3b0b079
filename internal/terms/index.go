package terms

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mosey-web/mosey/crawl"
)

// How many terms of a page are kept. A position in a tsvector is at most 16,383, and the
// texts of links to the page need some of the positions.
const (
	titleTerms       = 100
	headingTerms     = 900
	descriptionTerms = 200
	textTerms        = 14_800
)

// Page is the texts by which a page is found.
type Page struct {
	// Language is a tag of BCP 47; empty means undetermined. Second is the other language of
	// a page in two; empty means none.
	Language, Second string

	Title, Headings, Description, Text string

	// Sections are the parts of Text that have a heading, in their order.
	Sections []Section
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
	return &crawl.Index{
		Config: Config(p.Language), Title: x.zone(p.Title, titleTerms), Headings: x.zone(p.Headings, headingTerms),
		Description: x.zone(p.Description, descriptionTerms), Text: x.zone(p.Text, textTerms),
	}
}

// indexer makes zones of documents. It keeps its memory for the next.
type indexer struct {
	cutter Cutter
	cut    []byte
	of     map[string]int // the place of a term in found
	found  []found
	next   []int // of each term of the text, the next that is the same; 0 means none
	out    []byte
}

// found is a term with where it is first and last, from 1 on.
type found struct {
	term        string
	order       uint64
	first, last int
}

// zone is the terms of a text, each with its places: "cat:2,7 the:1". They are in the order of
// their first letters, so that what is stored is not the text.
func (x *indexer) zone(text string, limit int) string {
	x.cut, _ = x.cutter.Cut(x.cut[:0], text, limit)
	x.read(string(x.cut))
	slices.SortFunc(x.found, func(a, b found) int { return cmp.Compare(a.order, b.order) })
	x.out = x.out[:0]
	for i, f := range x.found {
		if i > 0 {
			x.out = append(x.out, ' ')
		}
		x.out = append(append(x.out, f.term...), ':')
		for at := f.first; at != 0; at = x.next[at] {
			if at != f.first {
				x.out = append(x.out, ',')
			}
			x.out = strconv.AppendInt(x.out, int64(at), 10)
		}
	}
	clear(x.found) // they hold on to the text
	return string(x.out)
}

// read notes where each term is.
func (x *indexer) read(terms string) {
	if x.of == nil {
		x.of = map[string]int{}
	}
	x.found, x.next = x.found[:0], append(x.next[:0], 0)
	for term := range strings.SplitSeq(terms, " ") {
		if term == "" {
			continue
		}
		at := len(x.next)
		x.next = append(x.next, 0)
		i, known := x.of[term]
		if !known {
			x.of[term] = len(x.found)
			x.found = append(x.found, found{term, prefix(term), at, at})
			continue
		}
		x.next[x.found[i].last] = at
		x.found[i].last = at
	}
	clear(x.of)
}

// prefix orders terms by their first eight bytes.
func prefix(term string) uint64 {
	var n uint64
	for i := range 8 {
		n <<= 8
		if i < len(term) {
			n |= uint64(term[i])
		}
	}
	return n
}
