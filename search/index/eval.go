package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// Rank evaluates the query. It scores every page that has all clauses or, if missing is not 0,
// every page that lacks exactly that many.
func (s *Search) Rank(ctx context.Context, missing int) (*Ranking, error) {
	parts := make([]*part, len(s.segments))
	found := make([]scored, len(s.segments))
	batch := &batcher{ctx: ctx, src: s.src, chunks: map[crawl.ChunkRef][]byte{}}
	for i := range parts {
		parts[i] = &part{s: s, segment: s.segments[i], terms: s.terms[i], batch: batch}
	}
	err := batch.each(len(parts), func(i int) error {
		var err error
		found[i], err = parts[i].rank(missing)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newRanking(s, parts, found, batch), nil
}

// rank scores the matching pages of the segment.
func (p *part) rank(missing int) (scored, error) {
	find := p.matchingPages
	if missing > 0 {
		find = func() ([]uint32, []hits, error) { return p.pagesLacking(missing) }
	}
	pages, required, err := find()
	if err != nil || len(pages) == 0 {
		return scored{}, err
	}
	for _, a := range p.s.q.Not {
		out, err := p.atom(a, pages)
		if err != nil {
			return scored{}, err
		}
		pages = out.without(pages)
	}
	if pages, err = p.dropOlder(pages); err == nil {
		pages, err = p.dropLanguages(pages)
	}
	if err != nil || len(pages) == 0 {
		return scored{}, err
	}
	clauses := make([][]mark, 0, len(p.s.q.Clauses))
	for i, c := range p.s.q.Clauses {
		h := required[i]
		if c.Optional {
			if h, err = p.clause(c, pages); err != nil {
				return scored{}, err
			}
		}
		clauses = append(clauses, h.marksOn(pages))
	}
	lengths, factors, err := p.norms(pages)
	if err != nil {
		return scored{}, err
	}
	return score(pages, clauses, lengths, factors), nil
}

// step is a condition on pages: a clause, or a list of keys if clause is -1.
type step struct {
	clause int
	keys   []string
	pages  int // upper bound of the matching pages
}

// steps returns the conditions in the order of evaluation, the rarest first.
func (p *part) steps() []step {
	var steps []step
	for i, c := range p.s.q.Clauses {
		if c.Optional {
			continue
		}
		st := step{clause: i}
		for _, a := range c.Any {
			st.pages += p.maxPagesWith(a)
		}
		steps = append(steps, st)
	}
	for _, keys := range p.s.q.Within {
		st := step{clause: -1, keys: keys}
		for _, k := range keys {
			st.pages += p.terms[k].pages
		}
		steps = append(steps, st)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.pages, b.pages) })
	return steps
}

// maxPagesWith returns an upper bound of the pages with an atom.
func (p *part) maxPagesWith(a Atom) (pages int) {
	for _, w := range a.Variants {
		minPages := p.segment.Pages
		for _, k := range w.Keys {
			minPages = min(minPages, p.terms[k].pages)
		}
		for _, part := range w.All {
			minPages = min(minPages, p.maxPagesWith(part))
		}
		pages += minPages
	}
	return pages
}

// take returns the pages that meet a condition.
func (p *part) take(st step, within []uint32) (hits, error) {
	if st.clause >= 0 {
		return p.clause(p.s.q.Clauses[st.clause], within)
	}
	return unionOf(st.keys, func(key string) (hits, error) { return p.word(key, -1, 0, within) })
}

// matchingPages returns the pages that meet all conditions, and the hits of each clause.
func (p *part) matchingPages() ([]uint32, []hits, error) {
	required := make([]hits, len(p.s.q.Clauses))
	var pages []uint32
	for _, st := range p.steps() {
		h, err := p.take(st, pages)
		if err != nil || len(h.pages) == 0 {
			return nil, nil, err
		}
		pages = h.pages
		if st.clause >= 0 {
			required[st.clause] = h
		}
	}
	return slices.Clone(pages), required, nil
}

// pagesLacking returns the pages that lack exactly missing clauses.
func (p *part) pagesLacking(missing int) ([]uint32, []hits, error) {
	required := make([]hits, len(p.s.q.Clauses))
	counts := map[uint32]int{}
	clauses := 0
	var within []uint32
	steps := p.steps()
	// lists of keys come first
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(min(a.clause, 0), min(b.clause, 0)) })
	for _, st := range steps {
		h, err := p.take(st, within)
		if err != nil || st.clause < 0 && len(h.pages) == 0 {
			return nil, nil, err
		}
		if st.clause < 0 {
			within = h.pages
			continue
		}
		clauses++
		required[st.clause] = h
		for _, page := range h.pages {
			counts[page]++
		}
	}
	var pages []uint32
	for page, n := range counts {
		if n == clauses-missing {
			pages = append(pages, page)
		}
	}
	slices.Sort(pages)
	return pages, required, nil
}

// dropOlder removes pages of days before the query's date.
func (p *part) dropOlder(pages []uint32) ([]uint32, error) {
	if p.s.q.Since.IsZero() {
		return pages, nil
	}
	from := dayOf(p.s.q.Since)
	dates, err := p.column(kindDates, dateBytes, datePages, pages)
	if err != nil {
		return nil, err
	}
	return filter(pages, func(i int) bool { return binary.BigEndian.Uint16(dates[i*dateBytes:]) >= from }), nil
}

// filter keeps the pages whose index keep accepts. It overwrites pages.
func filter(pages []uint32, keep func(i int) bool) []uint32 {
	n := 0
	for i, page := range pages {
		if keep(i) {
			pages[n] = page
			n++
		}
	}
	return pages[:n]
}

// byLanguage applies a function to the segment's languages. The results are indexed by number.
func (p *part) byLanguage(of func(tag string) bool) (results [256]bool) {
	for i, tag := range p.segment.Languages {
		results[i] = of(tag)
	}
	return results
}

// dropLanguages removes pages in the languages that the query drops.
func (p *part) dropLanguages(pages []uint32) ([]uint32, error) {
	if p.s.q.Drop == nil || len(pages) == 0 {
		return pages, nil
	}
	numbers, err := p.column(kindLanguages, langBytes, langPages, pages)
	if err != nil {
		return nil, err
	}
	dropped := p.byLanguage(p.s.q.Drop)
	return filter(pages, func(i int) bool { return !dropped[numbers[i]] }), nil
}

// norms returns the lengths of the pages' texts, and the factors of their scores.
func (p *part) norms(pages []uint32) (textLengths []length, factors []float32, err error) {
	norms, err := p.column(kindNorms, normBytes, normPages, pages)
	if err != nil {
		return nil, nil, err
	}
	textLengths, factors = make([]length, len(pages)), make([]float32, len(pages))
	for i := range pages {
		textLengths[i] = length{text: lengths[norms[i*normBytes]] / p.s.stats.average, title: max(1, float32(norms[i*normBytes+2]))}
		factors[i] = 1 + weights.worth*float32(norms[i*normBytes+1])/255
	}
	if !p.s.q.Fresh.IsZero() {
		now := float32(dayOf(p.s.q.Fresh))
		dates, err := p.column(kindDates, dateBytes, datePages, pages)
		if err != nil {
			return nil, nil, err
		}
		// The factor is a half after freshDays, and at least minFreshness, even without a date.
		const freshDays, minFreshness = 60, 0.1
		for i := range pages {
			days := now - float32(binary.BigEndian.Uint16(dates[i*dateBytes:]))
			factors[i] *= max(minFreshness, freshDays/(freshDays+max(0, days)))
		}
	}
	if p.s.q.Prefer == nil {
		return textLengths, factors, nil
	}
	preferred := p.byLanguage(p.s.q.Prefer)
	numbers, err := p.column(kindLanguages, langBytes, langPages, pages)
	if err != nil {
		return nil, nil, err
	}
	for i, n := range numbers {
		if !preferred[n] {
			factors[i] *= weights.otherLanguage
		}
	}
	return textLengths, factors, nil
}

// column returns the values of a column for some pages, which must be sorted.
func (p *part) column(kind crawl.ChunkKind, size, pagesPerChunk int, pages []uint32) ([]byte, error) {
	var refs []crawl.ChunkRef
	for i := 0; i < len(pages); {
		n := int(pages[i]) / pagesPerChunk
		refs = append(refs, crawl.ChunkRef{Segment: p.segment.ID, Kind: kind, Key: columnKey(n)})
		for i < len(pages) && int(pages[i]) < (n+1)*pagesPerChunk {
			i++
		}
	}
	chunks, err := p.batch.get(refs)
	if err != nil {
		return nil, err
	}
	out := make([]byte, size*len(pages))
	for i, next := 0, 0; i < len(pages); next++ {
		chunk, first := chunks[next], int(pages[i])/pagesPerChunk*pagesPerChunk
		for ; i < len(pages) && int(pages[i])-first < pagesPerChunk; i++ {
			from := (int(pages[i]) - first) * size
			if from+size > len(chunk) {
				return nil, ErrDamaged
			}
			copy(out[i*size:(i+1)*size], chunk[from:])
		}
	}
	return out, nil
}
