package index

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
)

// Source provides the chunks of a consistent snapshot of the index.
type Source interface {
	// Terms returns the chunk of each segment's dictionary that may have a key: the chunk with the
	// greatest first key up to it. The chunk is nil if the segment cannot have the key. The result
	// has all keys of the first segment, then all keys of the next.
	Terms(ctx context.Context, segments []int64, keys []string) ([][]byte, error)
	// Chunks returns the data of chunks.
	Chunks(ctx context.Context, refs []crawl.ChunkRef) ([][]byte, error)
}

// Query holds the conditions on pages.
type Query struct {
	// Clauses are the clauses that a page must have, apart from the optional ones.
	Clauses []Clause
	// Not are the atoms that a page must not have.
	Not []Atom
	// Within are lists of keys. A page must have one key of each list.
	Within [][]string
	// Drop reports whether to exclude pages by the tag of their language. nil excludes no page.
	Drop func(tag string) bool
	// Since excludes pages of earlier days. Zero excludes no page.
	Since time.Time
	// Fresh is the current time, or zero. If it is set, older pages get lower scores.
	Fresh time.Time
	// Prefer reports whether a tag is of the query's language. Pages in other languages get lower
	// scores. nil means that all languages count the same.
	Prefer func(tag string) bool
}

// Clause holds alternatives. A page must have one of them.
type Clause struct {
	Any []Atom
	// Optional clauses only add to the score.
	Optional bool
}

// Atom is a word or a phrase, in all its spellings and forms.
type Atom struct{ Variants []Variant }

// Variant is one spelling or form.
type Variant struct {
	// Keys are the keys of a word, or of the words of a phrase. PrecedingBuckets has the bucket of the
	// preceding word for each word of a phrase. -1 means any word.
	Keys             []string
	PrecedingBuckets []int
	// CountOnce counts a phrase once per page, because long pages have more accidental matches.
	CountOnce bool
	// All replaces keys by atoms that a page has anywhere.
	All []Atom
	// Weight is the weight of the word in this form, up to 1.
	Weight float32
}

// keys returns the distinct keys of a query.
func (q *Query) keys() []string {
	all := slices.Concat(q.Within...)
	var atoms func(list []Atom)
	atoms = func(list []Atom) {
		for _, a := range list {
			for _, w := range a.Variants {
				all = append(all, w.Keys...)
				atoms(w.All)
			}
		}
	}
	for _, c := range q.Clauses {
		atoms(c.Any)
	}
	atoms(q.Not)
	slices.Sort(all)
	return slices.Compact(all)
}

// statistics holds the statistics of all pages for scores.
type statistics struct {
	pages      float64
	average    float32 // length of a main text
	pageCounts map[string]int
}

// idf returns the inverse document frequency of a term on so many pages (Robertson and Spärck
// Jones).
func (s *statistics) idf(pages float64) float32 {
	return float32(math.Log(1 + (s.pages-min(pages, s.pages)+0.5)/(pages+0.5)))
}

// weight returns the weight of an atom.
func (s *statistics) weight(a Atom) float32 {
	maxIDF := 0.0
	var phrase float32
	for _, w := range a.Variants {
		if len(w.Keys) == 1 {
			maxIDF = max(maxIDF, float64(s.pageCounts[w.Keys[0]]))
			continue
		}
		sum := float32(0)
		for _, part := range w.All {
			sum += s.weight(part)
		}
		for _, k := range w.Keys {
			sum += s.idf(float64(s.pageCounts[k]))
		}
		phrase = max(phrase, sum)
	}
	if maxIDF > 0 || phrase == 0 {
		return s.idf(maxIDF)
	}
	return min(phrase, s.idf(1))
}

// Search evaluates a query on an index.
type Search struct {
	src      Source
	q        Query
	segments []crawl.Segment
	terms    []map[string]entry // of each segment
	stats    statistics
}

// Open looks up the terms of a query in some segments.
func Open(ctx context.Context, src Source, segments []crawl.Segment, q Query) (*Search, error) {
	s := &Search{src: src, q: q, segments: segments, stats: statistics{pageCounts: map[string]int{}}}
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
				s.stats.pageCounts[key] += e.pages
			}
		}
		s.terms = append(s.terms, terms)
	}
	return s, nil
}

// PagesWith returns the number of pages with a key, including older versions of pages.
func (s *Search) PagesWith(key string) int { return s.stats.pageCounts[key] }

// View is a consistent snapshot of the index and its pages.
type View interface {
	Source
	Scan(ctx context.Context, segment int64, kind crawl.ChunkKind, after []byte, limit int) ([]crawl.Chunk, error)
	Segments(ctx context.Context) ([]crawl.Segment, error)
	// Stems returns the stems of terms by Postgres' dictionaries, each by a text search
	// configuration. The list of a stop word is empty.
	Stems(ctx context.Context, configs, terms []string) ([][]string, error)
	// Pages returns the pages of hits, without older versions and pages that must not be shown.
	Pages(ctx context.Context, hits []Hit) ([]report.SearchHit, error)
	// Outlines returns the headings and terms of pages.
	Outlines(ctx context.Context, pages []int64) ([]report.SearchOutline, error)
}

// maxChunksScanned caps the chunks of the dictionary that are read for words with a prefix.
const maxChunksScanned = 256

// Words calls yield with the words that begin with some letters, and the number of their pages in a
// segment. It reads at most 2 MB of the dictionary.
func Words(ctx context.Context, v View, segment int64, beginning string, yield func(word string, pages int)) error {
	prefix := Word(beginning)
	first, err := v.Terms(ctx, []int64{segment}, []string{prefix})
	if err != nil {
		return err
	}
	yieldChunk := func(chunk []byte) (past bool, err error) {
		d := dictionary{bytesReader: bytesReader{b: chunk}}
		for d.next() {
			key := string(d.key)
			if !strings.HasPrefix(key, prefix) {
				if key > prefix {
					return true, nil
				}
				continue
			}
			e, err := readEntry(d.coded)
			if err != nil {
				return false, err
			}
			yield(key[len(wordPrefix):], e.pages)
		}
		return false, nil
	}
	if past, err := yieldChunk(first[0]); err != nil || past {
		return err
	}
	after := []byte(prefix)
	for n := 0; n < maxChunksScanned; n += scanBatch {
		chunks, err := v.Scan(ctx, segment, KindTerms, after, scanBatch)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			after = c.Key
			if past, err := yieldChunk(c.Data); err != nil || past {
				return err
			}
		}
		if len(chunks) < scanBatch {
			return nil
		}
	}
	return nil
}
