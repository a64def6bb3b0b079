package index

import (
	"cmp"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// part evaluates a query on one segment.
type part struct {
	s       *Search
	segment crawl.Segment
	terms   map[string]entry
	batch   *batcher
}

// word returns the pages with a key. within limits the pages; nil means all pages. If after is not
// negative, the word must follow this bucket.
func (p *part) word(key string, after int, weight float32, within []uint32) (hits, error) {
	var h hits
	err := p.blocks(key, within, h.grow, func(data []byte, count int) error {
		return h.decode(data, count, isWord(key), after, mark{weight: weight, terms: 1})
	})
	if within != nil {
		h.keep(within)
	}
	return h, err
}

// blocks reads the postings of a key that may be on the pages. It calls grow once with their
// number. Then it calls yield for each block with its encoded postings and their number.
func (p *part) blocks(key string, within []uint32, grow func(n int), yield func(data []byte, count int) error) error {
	e, found := p.terms[key]
	if !found {
		return nil
	}
	if e.blocks == nil {
		return yield(e.inline, e.pages)
	}
	wanted := e.blocksFor(within)
	chunks, err := p.batch.get(blockRefs(p.segment.ID, key, wanted))
	if err != nil {
		return err
	}
	total := 0
	for i, n := range wanted {
		if total += e.blocks[n].count; e.blocks[n].count > len(chunks[i]) {
			return ErrDamaged // each posting takes at least two bytes
		}
	}
	grow(total)
	for i, n := range wanted {
		if err := yield(chunks[i], e.blocks[n].count); err != nil {
			return err
		}
	}
	return nil
}

// phrase returns the pages that have all words of a phrase after the right buckets.
func (p *part) phrase(w Variant, weight float32, within []uint32) (hits, error) {
	order := make([]int, len(w.Keys)) // the rarest first
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.terms[w.Keys[a]].pages, p.terms[w.Keys[b]].pages) })
	all, err := intersect(len(order), within, func(n int, within []uint32) (hits, error) {
		i := order[n]
		return p.word(w.Keys[i], w.PrecedingBuckets[i], weight, within)
	})
	all.dropUnmatched(w.CountOnce)
	return all, err
}

// intersect returns the pages of all n conditions. find returns the pages of one condition, of some
// pages; nil means all pages. The marks have the least count, and the texts of all conditions.
func intersect(n int, within []uint32, find func(i int, within []uint32) (hits, error)) (hits, error) {
	var all hits
	for i := range n {
		found, err := find(i, within)
		if err != nil || len(found.pages) == 0 {
			return hits{}, err
		}
		if i > 0 {
			found.keepCommon(all)
		}
		all, within = found, found.pages
	}
	return all, nil
}

// unionOf returns the pages of all conditions. find returns the pages of one.
func unionOf[T any](conditions []T, find func(T) (hits, error)) (hits, error) {
	var all hits
	for _, c := range conditions {
		found, err := find(c)
		if err != nil {
			return hits{}, err
		}
		all = union(all, found)
	}
	return all, nil
}

func (p *part) atom(a Atom, within []uint32) (hits, error) {
	weight := p.s.stats.weight(a)
	return unionOf(a.Variants, func(w Variant) (hits, error) { return p.variant(w, weight*w.Weight, within) })
}

// variant returns the pages that match one variant of an atom.
func (p *part) variant(w Variant, weight float32, within []uint32) (hits, error) {
	switch len(w.Keys) {
	case 0:
		all, err := intersect(len(w.All), within, func(i int, within []uint32) (hits, error) { return p.atom(w.All[i], within) })
		for i := range all.marks {
			all.marks[i].weight = weight
		}
		return all, err
	case 1:
		return p.word(w.Keys[0], -1, weight, within)
	}
	return p.phrase(w, weight, within)
}

func (p *part) clause(c Clause, within []uint32) (hits, error) {
	return unionOf(c.Any, func(a Atom) (hits, error) { return p.atom(a, within) })
}
