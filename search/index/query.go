package index

import (
	"context"
	"math"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// Source has the chunks of the index, all as of the same instant.
type Source interface {
	// Terms returns the chunk of each segment's dictionary that may have a key: the one with
	// the greatest first key up to it. The result has all keys of the first segment, then
	// those of the next. Nil means that the segment cannot have the key.
	Terms(ctx context.Context, segments []int64, keys []string) ([][]byte, error)
	// Chunks returns the data of chunks.
	Chunks(ctx context.Context, refs []crawl.ChunkRef) ([][]byte, error)
}

// Query is what is looked for.
type Query struct {
	// Clauses are what a page must have, apart from the optional ones.
	Clauses []Clause
	// Not is what a page must not have.
	Not []Atom
	// Within are keys: of each list, a page must have one.
	Within [][]string
	// Drop leaves out pages in a language, a tag. Nil leaves out none.
	Drop func(tag string) bool
	// Since leaves out pages with an earlier day; zero leaves out none.
	Since time.Time
	// Fresh, if it is set, is now: pages count the less the older their dates are.
	Fresh time.Time
	// Prefer reports whether a language, a tag, is the query's; nil means that none is.
	// Pages in others are worth less.
	Prefer func(tag string) bool
}

// Clause is alternatives, of which a page must have one.
type Clause struct {
	Any []Atom
	// Optional clauses only add to the score.
	Optional bool
}

// Atom is a word or a phrase, in any of the ways in which it may be written.
type Atom struct{ Ways []Way }

// Way is one of them.
type Way struct {
	// Keys are those of a word, or of the words of a phrase.
	Keys []string
	// At has for each key its place in the phrase.
	At []int
	// All, in place of keys, are atoms that a page has anywhere.
	All []Atom
	// Weight is how much it counts that a page has the word in this way, up to 1.
	Weight float32
}

// keys are all keys of a query, each once.
func (q *Query) keys() []string {
	var all []string
	seen := map[string]bool{}
	add := func(keys []string) {
		for _, k := range keys {
			if !seen[k] {
				seen[k] = true
				all = append(all, k)
			}
		}
	}
	var atoms func(list []Atom)
	atoms = func(list []Atom) {
		for _, a := range list {
			for _, w := range a.Ways {
				add(w.Keys)
				atoms(w.All)
			}
		}
	}
	for _, c := range q.Clauses {
		atoms(c.Any)
	}
	atoms(q.Not)
	for _, keys := range q.Within {
		add(keys)
	}
	return all
}

// statistics are of all pages, for scores.
type statistics struct {
	pages   float64
	average float32 // length of a main text
	having  map[string]int
}

// idf says how much it says that a page has something that so many have (Robertson and
// Spärck Jones).
func (s *statistics) idf(having float64) float32 {
	return float32(math.Log(1 + (s.pages-min(having, s.pages)+0.5)/(having+0.5)))
}

// of is the weight of an atom.
func (s *statistics) of(a Atom) float32 {
	most := 0.0
	var phrase float32
	for _, w := range a.Ways {
		if len(w.Keys) == 1 {
			most = max(most, float64(s.having[w.Keys[0]]))
			continue
		}
		sum := float32(0)
		for _, part := range w.All {
			sum += s.of(part)
		}
		for _, k := range w.Keys {
			sum += s.idf(float64(s.having[k]))
		}
		phrase = max(phrase, sum)
	}
	if most > 0 || phrase == 0 {
		return s.idf(most)
	}
	return min(phrase, s.idf(1))
}

// Search is a query that is evaluated on an index.
type Search struct {
	src      Source
	q        Query
	segments []crawl.Segment
	terms    []map[string]entry // of each segment
	stats    statistics
}

// Open looks up the terms of a query in some segments.
func Open(ctx context.Context, src Source, segments []crawl.Segment, q Query) (*Search, error) {
	s := &Search{src: src, q: q, segments: segments, stats: statistics{having: map[string]int{}}}
	ids := make([]int64, len(segments))
	words := int64(0)
	for i, seg := range segments {
		ids[i] = seg.ID
		s.stats.pages += float64(seg.Pages)
		words += seg.Words
	}
	s.stats.average = max(1, float32(float64(words)/max(1, s.stats.pages)))
	keys := q.keys()
	chunks, err := src.Terms(ctx, ids, keys)
	if err != nil {
		return nil, err
	}
	for i := range segments {
		terms := map[string]entry{}
		for k, key := range keys {
			chunk := chunks[i*len(keys)+k]
			if chunk == nil {
				continue
			}
			e, found, err := find(chunk, key)
			if err != nil {
				return nil, err
			}
			if found {
				terms[key] = e
				s.stats.having[key] += e.pages
			}
		}
		s.terms = append(s.terms, terms)
	}
	return s, nil
}

// Having is how many pages have a key, older versions of pages included.
func (s *Search) Having(key string) int { return s.stats.having[key] }
