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

// load returns the postings of a key on some pages; nil pages are all.
func (p *part) load(key string, within []uint32) (run, error) {
	var r run
	e, found := p.terms[key]
	if !found {
		return r, nil
	}
	if e.blocks == nil {
		if err := r.decode(e.inline[:e.split], e.pages, 0); err != nil {
			return r, err
		}
	} else {
		wanted := e.blocksFor(within)
		chunks, err := p.batch.get(p.refs(kindPostings, key, wanted))
		if err != nil {
			return r, err
		}
		for i, n := range wanted {
			if err := r.decode(chunks[i], e.blocks[n].count, e.blocks[n].from); err != nil {
				return r, err
			}
		}
	}
	if within != nil {
		r.keep(within)
	}
	return r, nil
}

func (p *part) refs(kind crawl.ChunkKind, key string, blocks []int) []crawl.ChunkRef {
	refs := make([]crawl.ChunkRef, len(blocks))
	for i, n := range blocks {
		refs[i] = crawl.ChunkRef{Segment: p.segment.ID, Kind: kind, Key: blockKey(key, n)}
	}
	return refs
}

// places calls yield with the places of a key on each page of a run.
func (p *part) places(key string, r run, yield func(i int, places []int32)) error {
	e := p.terms[key]
	if !e.positions || len(r.at) == 0 {
		return nil
	}
	blocks, chunks := []int{0}, [][]byte{nil}
	if e.blocks == nil {
		chunks[0] = e.inline[e.split:]
	} else {
		blocks = blocks[:0]
		for _, at := range r.at {
			n := e.blockOf(int(at))
			if len(blocks) == 0 || blocks[len(blocks)-1] != n {
				blocks = append(blocks, n)
			}
		}
		var err error
		if chunks, err = p.batch.get(p.refs(kindPositions, key, blocks)); err != nil {
			return err
		}
	}
	var places []int32
	i := 0
	for k, n := range blocks {
		data, at, end := chunks[k], 0, e.pages
		if e.blocks != nil {
			at = e.begins[n]
			if n+1 < len(e.begins) {
				end = e.begins[n+1]
			}
		}
		for ; i < len(r.at) && int(r.at[i]) < end; i++ {
			var err error
			if data, err = skipPlaces(data, int(r.at[i])-at); err != nil {
				return err
			}
			if places, data, err = readPlaces(places[:0], data); err != nil {
				return err
			}
			at = int(r.at[i]) + 1
			yield(i, places)
		}
	}
	return nil
}

// blockOf is the block of positions that a place of the list is in.
func (e *entry) blockOf(at int) int {
	n, exact := slices.BinarySearch(e.begins, at)
	if exact {
		return n
	}
	return n - 1
}

// phrase returns the postings of a phrase: the pages on which its words follow each other.
func (p *part) phrase(w Way, within []uint32) (run, error) {
	order := make([]int, len(w.Keys)) // the rarest first
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.terms[w.Keys[a]].pages, p.terms[w.Keys[b]].pages) })
	for _, i := range order {
		r, err := p.load(w.Keys[i], within)
		if err != nil || len(r.pages) == 0 {
			return run{}, err
		}
		within = r.pages
	}
	// starts are the places at which the phrase may begin, on each page
	starts := make([][]int32, len(within))
	for n, i := range order {
		r, err := p.load(w.Keys[i], within)
		if err != nil {
			return run{}, err
		}
		offset := int32(w.At[i]) //nolint:gosec // small
		if err := p.places(w.Keys[i], r, func(page int, places []int32) {
			if n == 0 {
				for _, at := range places {
					starts[page] = append(starts[page], at-offset)
				}
				return
			}
			starts[page] = both(starts[page], places, offset)
		}); err != nil {
			return run{}, err
		}
	}
	var r run
	for i, list := range starts {
		if len(list) == 0 {
			continue
		}
		r.pages = append(r.pages, within[i])
		f, count := p.where(list)
		r.feats, r.counts = append(r.feats, f), append(r.counts, count)
	}
	return r, nil
}

// both leaves of starts those that places have, at a distance.
func both(starts, places []int32, offset int32) []int32 {
	n, k := 0, 0
	for _, start := range starts {
		for k < len(places) && places[k]-offset < start {
			k++
		}
		if k < len(places) && places[k]-offset == start {
			starts[n] = start
			n++
		}
	}
	return starts[:n]
}

// where are the texts in which places are, and how many are in the main text.
func (p *part) where(places []int32) (f feature, count uint8) {
	for _, at := range places {
		switch {
		case at > textBase:
			if count < countMost {
				count++
			}
		case at > anchorsBase:
			f |= inAnchor
		case at > headingsBase:
			f |= inHeading
		case at > addressBase:
			f |= inAddress
		case at > descriptionBase:
			f |= inDescription
		default:
			f |= inTitle
		}
	}
	return f, count
}

// hits are pages that have an atom or a clause, and how well.
type hits struct {
	pages []uint32
	marks []mark
}

// mark is how well a page has a clause.
type mark struct {
	weight float32 // of the clause
	count  float32 // in the main text
	fields feature
	terms  uint8 // how many it is
}

// atom returns the pages that have an atom.
func (p *part) atom(a Atom, within []uint32) (hits, error) {
	weight := p.s.stats.of(a)
	var all hits
	for _, w := range a.Ways {
		found, err := p.way(w, weight*w.Weight, within)
		if err != nil {
			return hits{}, err
		}
		all = union(all, found)
	}
	return all, nil
}

// way returns the pages that have an atom in one way.
func (p *part) way(w Way, weight float32, within []uint32) (hits, error) {
	var r run
	var err error
	switch len(w.Keys) {
	case 0:
		return p.together(w.All, weight, within)
	case 1:
		r, err = p.load(w.Keys[0], within)
	default:
		r, err = p.phrase(w, within)
	}
	found := hits{pages: r.pages, marks: make([]mark, len(r.pages))}
	for i := range r.pages {
		found.marks[i] = mark{
			weight: weight, count: float32(r.counts[i]), fields: r.feats[i], terms: uint8(len(w.Keys)), //nolint:gosec // of a query
		}
	}
	return found, err
}

// together returns the pages that have all of some atoms. They have them as often as the
// rarest of them, in the texts that have all of them.
func (p *part) together(atoms []Atom, weight float32, within []uint32) (hits, error) {
	var all hits
	for n, a := range atoms {
		found, err := p.atom(a, within)
		if err != nil || len(found.pages) == 0 {
			return hits{}, err
		}
		if n > 0 {
			for i, before := range all.on(found.pages) {
				m := &found.marks[i]
				m.count, m.fields, m.terms = min(m.count, before.count), m.fields&before.fields, m.terms+before.terms
			}
		}
		for i := range found.marks {
			found.marks[i].weight = weight
		}
		all, within = found, found.pages
	}
	return all, nil
}

// clause returns the pages that have a clause.
func (p *part) clause(c Clause, within []uint32) (hits, error) {
	var all hits
	for _, a := range c.Any {
		found, err := p.atom(a, within)
		if err != nil {
			return hits{}, err
		}
		all = union(all, found)
	}
	return all, nil
}

// union merges hits. A page that is in both is as good as the better of them.
func union(a, b hits) hits {
	if len(a.pages) == 0 {
		return b
	}
	if len(b.pages) == 0 {
		return a
	}
	out := hits{pages: make([]uint32, 0, len(a.pages)+len(b.pages)), marks: make([]mark, 0, len(a.pages)+len(b.pages))}
	i, k := 0, 0
	for i < len(a.pages) || k < len(b.pages) {
		switch {
		case k == len(b.pages) || i < len(a.pages) && a.pages[i] < b.pages[k]:
			out.pages, out.marks = append(out.pages, a.pages[i]), append(out.marks, a.marks[i])
			i++
		case i == len(a.pages) || a.pages[i] > b.pages[k]:
			out.pages, out.marks = append(out.pages, b.pages[k]), append(out.marks, b.marks[k])
			k++
		default:
			x, y := a.marks[i], b.marks[k]
			out.pages = append(out.pages, a.pages[i])
			out.marks = append(out.marks, mark{
				weight: max(x.weight, y.weight), count: max(x.count, y.count),
				fields: x.fields | y.fields, terms: max(x.terms, y.terms),
			})
			i, k = i+1, k+1
		}
	}
	return out
}

// on returns the marks of some pages, which are sorted; the zero mark of pages that are
// not in hits.
func (h hits) on(pages []uint32) []mark {
	out := make([]mark, len(pages))
	k := 0
	for i, page := range pages {
		for k < len(h.pages) && h.pages[k] < page {
			k++
		}
		if k < len(h.pages) && h.pages[k] == page {
			out[i] = h.marks[k]
		}
	}
	return out
}

// without returns the pages that are not in hits.
func (h hits) without(pages []uint32) []uint32 {
	k := 0
	return slices.DeleteFunc(pages, func(page uint32) bool {
		for k < len(h.pages) && h.pages[k] < page {
			k++
		}
		return k < len(h.pages) && h.pages[k] == page
	})
}
