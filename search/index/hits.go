package index

import "slices"

// hits holds the pages that match an atom or a clause, each with a mark.
type hits struct {
	pages []uint32
	marks []mark
}

// mark rates the match of a clause on a page.
type mark struct {
	weight float32 // weight of the clause
	fields feature
	count  uint8 // in the main text
	terms  uint8 // number of terms in the clause
}

// grow allocates memory for n more pages.
func (h *hits) grow(n int) {
	h.pages, h.marks = slices.Grow(h.pages, n), slices.Grow(h.marks, n)
}

// decode appends the postings of a key, each with a mark. If after is not negative, words must
// follow it.
func (h *hits) decode(data []byte, count int, word bool, after int, m mark) error {
	if count > len(data) { // each takes at least two bytes
		return ErrDamaged
	}
	h.grow(count)
	n := len(h.pages)
	h.pages, h.marks = h.pages[:n+count], h.marks[:n+count]
	pages, marks := h.pages[n:], h.marks[n:]
	page, kept := uint32(0), 0
	for range count {
		distance, f, c, size := posting(data)
		if size < 0 {
			return ErrDamaged
		}
		data = data[size:]
		page += distance
		m.fields, m.count = f, c
		pages[kept], marks[kept] = page, m
		if !word {
			kept++
			continue
		}
		if size = precedingSize(data); size < 0 {
			return ErrDamaged
		}
		if after < 0 || follows(data[:size], uint8(after)) { //nolint:gosec // a bucket
			kept++
		}
		data = data[size:]
	}
	h.pages, h.marks = h.pages[:n+kept], h.marks[:n+kept]
	return nil
}

// keep removes all pages except the given ones, which must be sorted.
func (h *hits) keep(pages []uint32) {
	n, k := 0, 0
	for i, page := range h.pages {
		for k < len(pages) && pages[k] < page {
			k++
		}
		if k == len(pages) {
			break
		}
		if pages[k] == page {
			h.pages[n], h.marks[n] = page, h.marks[i]
			n++
		}
	}
	h.pages, h.marks = h.pages[:n], h.marks[:n]
}

// keepCommon reduces the marks to the lesser count and the common texts. All pages of h must be in
// x.
func (h *hits) keepCommon(x hits) {
	for i, before := range x.marksOn(h.pages) {
		m := &h.marks[i]
		m.count, m.fields, m.terms = min(m.count, before.count), m.fields&before.fields, m.terms+before.terms
	}
}

// dropUnmatched removes the pages without a text that has all words. countOnce counts the phrase
// once a page.
func (h *hits) dropUnmatched(countOnce bool) {
	n := 0
	for i, m := range h.marks {
		if m.count > 0 || m.fields != 0 {
			if countOnce {
				m.count = min(m.count, 1)
			}
			h.pages[n], h.marks[n] = h.pages[i], m
			n++
		}
	}
	h.pages, h.marks = h.pages[:n], h.marks[:n]
}

// union merges hits and may overwrite them. A page in both gets the better of each value.
func union(a, b hits) hits {
	if len(a.pages) < len(b.pages) {
		a, b = b, a
	}
	if len(b.pages) == 0 || a.absorb(b) {
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
			out.pages = append(out.pages, a.pages[i])
			out.marks = append(out.marks, a.marks[i].better(b.marks[k]))
			i, k = i+1, k+1
		}
	}
	return out
}

// better combines two marks into the better of each value.
func (m mark) better(x mark) mark {
	return mark{
		weight: max(m.weight, x.weight), count: max(m.count, x.count),
		fields: m.fields | x.fields, terms: max(m.terms, x.terms),
	}
}

// absorb merges x into h and returns true if h has all its pages, as a stem has all pages of its
// words. Otherwise it may have merged some marks. Merging them again has no effect.
func (h *hits) absorb(x hits) bool {
	i := 0
	for k, page := range x.pages {
		for i < len(h.pages) && h.pages[i] < page {
			i++
		}
		if i == len(h.pages) || h.pages[i] != page {
			return false
		}
		h.marks[i] = h.marks[i].better(x.marks[k])
	}
	return true
}

// marksOn returns the marks of some pages, which must be sorted. Pages without a mark get the zero
// mark.
func (h *hits) marksOn(pages []uint32) []mark {
	if slices.Equal(h.pages, pages) {
		return h.marks
	}
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

// without returns the pages that are not in the hits.
func (h *hits) without(pages []uint32) []uint32 {
	k := 0
	return slices.DeleteFunc(pages, func(page uint32) bool {
		for k < len(h.pages) && h.pages[k] < page {
			k++
		}
		return k < len(h.pages) && h.pages[k] == page
	})
}
