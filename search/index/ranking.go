package index

import (
	"encoding/binary"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// minScored is the first number of candidates whose adjacent words are compared. It
	// quadruples each time, up to a total of maxScored for a ranking.
	minScored = 200
	maxScored = 50_000
)

// Hit is a page that matches a query.
type Hit struct {
	Page, Version int64
	// Domain is a hash of the page's domain.
	Domain uint32
	Score  float64
}

type candidate struct {
	// bound is an upper bound of the final score.
	bound, score float32
	part         int32
	at           int32 // in the scored pages of the part
}

// Ranking returns the pages of a query, the best first.
type Ranking struct {
	// Found is the number of pages, including older versions of pages.
	Found int
	// Approximate is set if too many pages tied and the last were ordered regardless of adjacent
	// words.
	Approximate bool

	s     *Search
	parts []*part
	found []scored
	batch *batcher
	pairs []pair

	pending, ready heap
	scoredCount    int
}

// pair is two adjacent words of the query.
type pair struct {
	key    string // of the second word
	after  int
	weight float32
}

func newRanking(s *Search, parts []*part, found []scored, batch *batcher) *Ranking {
	r := &Ranking{s: s, parts: parts, found: found, batch: batch, pairs: s.pairs()}
	bonus := float32(0)
	for _, p := range r.pairs {
		bonus += p.weight
	}
	for _, f := range found {
		r.Found += len(f.pages)
	}
	r.pending = make(heap, 0, r.Found)
	for n, f := range found {
		for i, score := range f.scores {
			r.pending = append(r.pending, candidate{
				bound: score + bonus*f.factors[i], score: score, part: int32(n), at: int32(i),
			})
		}
	}
	r.pending.order()
	return r
}

// pairs returns the adjacent words of the query.
func (s *Search) pairs() []pair {
	var pairs []pair
	var before string
	var weight float32
	for _, c := range s.q.Clauses {
		word, own := "", float32(0)
		if len(c.Any) == 1 {
			for _, w := range c.Any[0].Variants {
				if len(w.Keys) == 1 && w.Keys[0][:1] == wordPrefix {
					word, own = w.Keys[0], s.stats.weight(c.Any[0])
					break
				}
			}
		}
		if word != "" && before != "" && s.PagesWith(word) > 0 && s.PagesWith(before) > 0 {
			pairs = append(pairs, pair{
				key: word, after: int(crawl.BucketOf(before[len(wordPrefix):])), weight: weights.near * min(weight, own),
			})
		}
		before, weight = word, own
	}
	return pairs
}

// Next returns at most limit pages, the next best. It returns an empty list at the end.
func (r *Ranking) Next(limit int) ([]Hit, error) {
	var picked []candidate
	for len(picked) < limit {
		if err := r.prepare(); err != nil {
			return nil, err
		}
		if len(r.ready) == 0 {
			break
		}
		picked = append(picked, r.ready.pop())
	}
	return r.hits(picked)
}

// prepare scores candidates until the best scored candidate is the best of all.
func (r *Ranking) prepare() error {
	for len(r.pending) > 0 && (len(r.ready) == 0 || r.ready[0].bound < r.pending[0].bound) {
		var batch []candidate
		for limit := max(minScored, 3*r.scoredCount); len(batch) < limit && len(r.pending) > 0; {
			batch = append(batch, r.pending.pop())
		}
		r.scoredCount += len(batch)
		switch {
		case len(r.pairs) == 0:
		case r.scoredCount > maxScored:
			r.Approximate = true
		default:
			if err := r.addAdjacency(batch); err != nil {
				return err
			}
		}
		for _, c := range batch {
			c.bound = c.score
			r.ready = append(r.ready, c)
		}
		r.ready.order()
	}
	return nil
}

// each runs fn for each part with candidates. list indexes candidates, in the order of their pages.
func (r *Ranking) each(candidates []candidate, fn func(n int, list []int, pages []uint32) error) error {
	byPart := make([][]int, len(r.parts))
	for i, c := range candidates {
		byPart[c.part] = append(byPart[c.part], i)
	}
	return r.batch.each(len(r.parts), func(n int) error {
		list := byPart[n]
		if len(list) == 0 {
			return nil
		}
		slices.SortFunc(list, func(a, b int) int { return int(candidates[a].at) - int(candidates[b].at) })
		pages := make([]uint32, len(list))
		for i, k := range list {
			pages[i] = r.found[n].pages[candidates[k].at]
		}
		return fn(n, list, pages)
	})
}

// addAdjacency adds the weights of adjacent words to the scores of candidates.
func (r *Ranking) addAdjacency(candidates []candidate) error {
	return r.each(candidates, func(n int, list []int, pages []uint32) error {
		p, f := r.parts[n], r.found[n]
		for _, pair := range r.pairs {
			near, err := p.word(pair.key, pair.after, pair.weight, pages)
			if err != nil {
				return err
			}
			for i, m := range near.marksOn(pages) {
				candidates[list[i]].score += m.weight * f.factors[candidates[list[i]].at]
			}
		}
		return nil
	})
}

func (r *Ranking) hits(picked []candidate) ([]Hit, error) {
	hits := make([]Hit, len(picked))
	err := r.each(picked, func(n int, list []int, pages []uint32) error {
		ids, err := r.parts[n].column(kindIDs, idBytes, idPages, pages)
		if err != nil {
			return err
		}
		for i, k := range list {
			id := ids[i*idBytes:]
			hits[k] = Hit{
				Page:    int64(binary.BigEndian.Uint64(id)),     //nolint:gosec // as it was coded
				Version: int64(binary.BigEndian.Uint64(id[8:])), //nolint:gosec // likewise
				Domain:  binary.BigEndian.Uint32(id[16:]), Score: float64(picked[k].score),
			}
		}
		return nil
	})
	return hits, err
}

// heap keeps the candidate with the highest bound first.
type heap []candidate

func (h *heap) order() {
	for i := len(*h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// before orders candidates by their bounds, and equal candidates by their positions.
func (c candidate) before(d candidate) bool {
	if c.bound != d.bound {
		return c.bound > d.bound
	}
	return c.part < d.part || c.part == d.part && c.at < d.at
}

func (h *heap) down(i int) {
	list := *h
	for {
		best := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(list) && list[k].before(list[best]) {
				best = k
			}
		}
		if best == i {
			return
		}
		list[i], list[best] = list[best], list[i]
		i = best
	}
}

func (h *heap) pop() candidate {
	top := (*h)[0]
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	h.down(0)
	return top
}
