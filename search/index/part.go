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

// load returns the postings of a key on some pages; nil means all pages.
func (p *part) load(key string, within []uint32) (run, error) {
	var r run
	err := p.blocks(key, within, r.grow, r.decode)
	if within != nil {
		r.keep(within)
	}
	return r, err
}

// word returns the pages that have a key, of some pages; nil means all pages.
func (p *part) word(key string, weight float32, within []uint32) (hits, error) {
	var h hits
	err := p.blocks(key, within, h.grow, func(data []byte, count, _ int) error {
		return h.decode(data, count, mark{weight: weight, terms: 1})
	})
	if within != nil {
		h.keep(within)
	}
	return h, err
}

// blocks reads the postings of a key that may be on some pages. It calls grow once, with their
// number. Then it calls yield for each block, with its coded postings, their number, and the place
// of the first in the list.
func (p *part) blocks(key string, within []uint32, grow func(n int), yield func(data []byte, count, from int) error) error {
	e, found := p.terms[key]
	if !found {
		return nil
	}
	if e.blocks == nil {
		return yield(e.inline[:e.split], e.pages, 0)
	}
	wanted := e.blocksFor(within)
	chunks, err := p.batch.get(p.refs(kindPostings, key, wanted))
	if err != nil {
		return err
	}
	total := 0
	for i, n := range wanted {
		if total += e.blocks[n].count; e.blocks[n].count > len(chunks[i]) {
			return ErrDamaged // each posting takes two bytes at the least
		}
	}
	grow(total)
	for i, n := range wanted {
		if err := yield(chunks[i], e.blocks[n].count, e.blocks[n].from); err != nil {
			return err
		}
	}
	return nil
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
			n, exact := slices.BinarySearch(e.begins, int(at))
			if !exact {
				n--
			}
			blocks = append(blocks, n)
		}
		blocks = slices.Compact(blocks)
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
		f, count := where(list)
		r.feats, r.counts = append(r.feats, f), append(r.counts, count)
	}
	return r, nil
}

// both returns the starts that have a place at a distance.
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

// where returns the texts that have some places, and the number of places in the main text.
func where(places []int32) (f feature, count uint8) {
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
	switch len(w.Keys) {
	case 0:
		return p.together(w.All, weight, within)
	case 1:
		return p.word(w.Keys[0], weight, within)
	}
	r, err := p.phrase(w, within)
	found := hits{pages: r.pages, marks: make([]mark, len(r.pages))}
	terms := uint8(len(w.Keys)) //nolint:gosec // of a query
	for i, c := range r.counts {
		found.marks[i] = mark{weight: weight, count: c, fields: r.feats[i], terms: terms}
	}
	return found, err
}

// together returns the pages that have all of some atoms. Their count is that of the rarest atom, and
// their texts are the texts that have all atoms.
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
