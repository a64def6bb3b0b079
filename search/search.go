// Package search searches the pages in Mosey's database. It is the API of mosey search.
//
//	store, err := db.Open(ctx, "postgres://mosey@localhost:5432/mosey")
//	…
//	query := search.Query{Text: `"durable politeness" -temporal`}
//	results, err := search.New(store).Search(ctx, query)
//
// A page must have all words of a query, in any of their forms. As in other search engines, "or"
// between two words makes them alternatives, quotes make a phrase, and -word excludes pages. Words
// are searched in every language, regardless of accents and case.
//
// Publishers' signals are obeyed: pages with noindex, or past their unavailable_after, are not
// found, and a page with nosnippet has no description.
package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/language/tags"
	"github.com/mosey-web/mosey/internal/terms"
	"github.com/mosey-web/mosey/search/index"
)

// Defaults and bounds of a Query.
const (
	LimitDefault = 10
	LimitMax     = 100
	OffsetMax    = 1000
)

const (
	// pagesPerRead is the number of hits that are looked up at once. maxPagesRead caps the hits that
	// a query looks up, because equal pages are omitted.
	pagesPerRead = 50
	maxPagesRead = 5_000
	// maxHitsPerSkip and maxHitsSkipped are these limits for hits of full domains, which need no
	// lookup.
	maxHitsPerSkip = 2_000
	maxHitsSkipped = 500_000
	// minWordsForMissing is the least length of a query whose pages may lack words, up to maxMissing.
	minWordsForMissing = 3
	maxMissing         = 2
)

// Store is the database. *db.Store implements it.
type Store interface {
	Index(ctx context.Context, fn func(index.View) error) error
}

// Query is a query and its filters.
type Query struct {
	// Text is the typed query, at most TextBytesMax.
	Text string
	// Language is the required language, a tag of BCP 47. "pt" includes "pt-BR". Empty means any.
	Language string
	// Domain limits the results to pages of a domain. Empty means every domain.
	Domain string
	// Since limits the results to pages with this or a later date: the date that they state, or the
	// date of their last fetch. Zero means any time.
	Since time.Time
	// Fresh gives newer pages higher scores, by the date of Since. After two months a page counts
	// half.
	Fresh bool
	// Prefer is the query's language. Its pages get higher scores. If it is empty, Guess determines
	// it.
	Prefer string
	// Limit is the number of results, up to LimitMax; 0 means LimitDefault. Offset skips up to
	// OffsetMax.
	Limit, Offset int
	// All includes near-duplicates and any number of pages of a domain.
	All bool
}

// Result is a matching page.
type Result struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	// Language is a tag of BCP 47; empty means undetermined.
	Language string `json:"language"`
	Domain   string `json:"domain"`
	// Description is the page's own. It is empty if missing or if the publisher forbids snippets.
	Description string `json:"description"`
	// Heading is the heading with the most words of the query, if the page has no description.
	Heading string `json:"heading,omitempty"`
	// Words are set for a page without description and headings. They are the query's words in its
	// text, or all words if the text has only other forms of them.
	Words []string `json:"words,omitempty"`
	// Date is the date of publication or else of the last change, as the page states it, or zero.
	Date time.Time `json:"date,omitzero"`
	// Score orders the results of one query, the highest first.
	Score float64 `json:"score"`
}

// Searcher searches the pages of a store. It is safe for concurrent use if its store is.
type Searcher struct {
	// Guess, if not nil, guesses the language of a query for an empty Query.Prefer.
	Guess func(text string) string

	store Store
}

// New returns a searcher.
func New(store Store) *Searcher { return &Searcher{store: store} }

// Answer holds the results of a query.
type Answer struct {
	Results []Result
	// Found is the approximate number of matching pages.
	Found int
	// Cut is set if some matching pages were not read.
	Cut bool
	// Instead is the query with similar words of the index, if no page matches and such words
	// exist.
	Instead string
	// Indexed is the number of pages in the index.
	Indexed int

	words []string // the terms of the query
	stems []string
}

// Piece is a part of a text. Matched parts are words of the query, or likely forms of them.
type Piece struct {
	Text    string
	Matched bool
}

// Pieces cuts a text of a result at the words of the query.
func (a Answer) Pieces(text string) (pieces []Piece) {
	isWord := func(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }
	for rest := text; rest != ""; {
		first, size := utf8.DecodeRuneInString(rest)
		end := strings.IndexFunc(rest[size:], func(r rune) bool { return isWord(r) != isWord(first) })
		word := rest
		if end >= 0 {
			word = rest[:size+end]
		}
		rest = rest[len(word):]
		matched := isWord(first) && a.matches(word)
		if last := len(pieces) - 1; last >= 0 && !matched && !pieces[last].Matched {
			pieces[last].Text += word
			continue
		}
		pieces = append(pieces, Piece{word, matched})
	}
	return pieces
}

// matches reports whether a word is one of the query, or begins like the stem of one.
func (a Answer) matches(word string) bool {
	cut, _ := terms.Split(word, 1)
	if len(cut) == 0 {
		return false
	}
	term := cut[0].Term
	return slices.Contains(a.words, term) || slices.ContainsFunc(a.stems, func(stem string) bool {
		begin := stem[:max(len(stem)-1, min(len(stem), minStemBytes))] // "librari" is the stem of "library"
		return len(begin) >= minStemBytes && strings.HasPrefix(term, begin) && len(term) <= len(stem)+maxEndingBytes
	})
}

// A word matches the stem of another if it begins like it, with these bounds in bytes.
const (
	minStemBytes   = 4
	maxEndingBytes = 4
)

// Search returns the results of a query, like Find.
func (s *Searcher) Search(ctx context.Context, q Query) ([]Result, error) {
	a, err := s.Find(ctx, q)
	return a.Results, err
}

// Find returns the results of a query, the best first. It returns one of near-duplicates, and at
// most two pages of a domain unless Query.Domain is set. With three words or more, pages that lack
// one, then two, follow. It returns crawl.ErrInvalid for an invalid query.
func (s *Searcher) Find(ctx context.Context, q Query) (a Answer, err error) {
	parsed, err := q.prepare()
	if err != nil {
		return a, err
	}
	if q.Prefer == "" && s.Guess != nil {
		q.Prefer = s.Guess(q.Text)
	}
	err = s.store.Index(ctx, func(v index.View) (err error) {
		f := evaluation{view: v, q: q, parsed: parsed}
		a, err = f.find(ctx)
		return err
	})
	return a, err
}

// prepare parses and validates a query, and sets its defaults.
func (q *Query) prepare() (parsedQuery, error) {
	p, err := parse(q.Text)
	if err != nil {
		return p, err
	}
	q.Limit = cmp.Or(q.Limit, LimitDefault)
	if q.Limit < 0 || q.Limit > LimitMax {
		return p, fmt.Errorf("%w: limit %d: want 1 to %d", crawl.ErrInvalid, q.Limit, LimitMax)
	}
	if q.Offset < 0 || q.Offset > OffsetMax {
		return p, fmt.Errorf("%w: offset %d: want 0 to %d", crawl.ErrInvalid, q.Offset, OffsetMax)
	}
	if q.Language != "" {
		if _, err := tags.ParseRange(q.Language); err != nil {
			return p, err
		}
	}
	if q.Domain != "" {
		if q.Domain, err = urls.ReadDomain(q.Domain); err != nil {
			return p, err
		}
	}
	return p, nil
}
