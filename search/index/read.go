package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"
)

// ErrDamaged reports a chunk that this package has not written.
var ErrDamaged = errors.New("a chunk of the index is damaged")

// entry is a term's entry in the dictionary.
type entry struct {
	pages     int // how many have it
	positions bool
	// inline has the postings, up to split, and the positions behind them, if they are few
	inline []byte
	split  int
	// blocks are the blocks of postings, otherwise; begins has the first place in the list of each
	// block of positions
	blocks []blockInfo
	begins []int
}

// blockInfo is a block of postings.
type blockInfo struct {
	first uint32 // page
	from  int    // its place in the list
	count int
}

// bytesReader decodes values. After a failure it returns zero values.
type bytesReader struct {
	b    []byte
	fail bool
}

func (r *bytesReader) uvarint() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > 1<<32 {
		r.fail, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *bytesReader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *bytesReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// dictionary reads the terms of a chunk of the dictionary, with their coded entries.
type dictionary struct {
	bytesReader

	key, coded []byte
}

// next reads the next term; false at the end, or if the chunk is damaged.
func (d *dictionary) next() bool {
	if len(d.b) == 0 {
		return false
	}
	shared := d.uvarint()
	suffix := d.bytes(d.uvarint())
	d.coded = d.bytes(d.uvarint())
	if d.fail || shared > len(d.key) {
		d.fail = true
		return false
	}
	d.key = append(d.key[:shared], suffix...)
	return true
}

// find returns the entry of a term in a chunk of the dictionary; false if it has none.
func find(chunk []byte, term string) (e entry, found bool, err error) {
	d := dictionary{bytesReader: bytesReader{b: chunk}}
	for d.next() {
		switch {
		case string(d.key) == term:
			e, err = readEntry(d.coded)
			return e, err == nil, err
		case string(d.key) > term:
			return e, false, nil
		}
	}
	if d.fail {
		return e, false, ErrDamaged
	}
	return e, false, nil
}

func readEntry(coded []byte) (entry, error) {
	r := bytesReader{b: coded}
	e := entry{pages: r.uvarint()}
	flags := r.byte()
	e.positions = flags&entryPositions != 0
	if flags&entryBlocks == 0 {
		e.split = r.uvarint()
		e.inline = r.b
		if r.fail || e.split > len(e.inline) {
			return e, ErrDamaged
		}
		return e, nil
	}
	first, from := 0, 0
	for range r.uvarint() {
		first += r.uvarint()
		b := blockInfo{first: uint32(first), from: from, count: r.uvarint()} //nolint:gosec // bounded by uvarint
		if r.fail {
			return e, ErrDamaged
		}
		from += b.count
		e.blocks = append(e.blocks, b)
	}
	if e.positions {
		at := 0
		for range r.uvarint() {
			at += r.uvarint()
			if r.fail {
				return e, ErrDamaged
			}
			e.begins = append(e.begins, at)
		}
	}
	if from != e.pages || e.positions && (len(e.begins) == 0 || e.begins[0] != 0) {
		return e, ErrDamaged
	}
	return e, nil
}

// blocksFor returns the blocks that may have some pages, which are sorted; nil means all pages.
func (e *entry) blocksFor(pages []uint32) []int {
	var wanted []int
	if pages == nil {
		for i := range e.blocks {
			wanted = append(wanted, i)
		}
		return wanted
	}
	for len(pages) > 0 {
		i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].first > pages[0] }) - 1
		if i >= 0 {
			wanted = append(wanted, i)
		}
		if i+1 == len(e.blocks) {
			break
		}
		next := e.blocks[i+1].first
		pages = pages[sort.Search(len(pages), func(k int) bool { return pages[k] >= next }):]
	}
	return wanted
}

// run has some of a term's postings, decoded.
type run struct {
	pages  []uint32
	feats  []feature
	counts []uint8
	at     []uint32 // of each, its place in the term's list
}

func (p *run) reset() {
	p.pages, p.feats, p.counts, p.at = p.pages[:0], p.feats[:0], p.counts[:0], p.at[:0]
}

// grow makes room for so many postings.
func (p *run) grow(n int) {
	p.pages, p.feats = slices.Grow(p.pages, n), slices.Grow(p.feats, n)
	p.counts, p.at = slices.Grow(p.counts, n), slices.Grow(p.at, n)
}

// decode appends postings of which the first is at a place of the list.
func (p *run) decode(data []byte, count, from int) error {
	if count > len(data) { // each takes two bytes at the least
		return ErrDamaged
	}
	p.grow(count)
	n := len(p.pages)
	p.pages, p.feats, p.counts, p.at = p.pages[:n+count], p.feats[:n+count], p.counts[:n+count], p.at[:n+count]
	pages, feats, counts, at := p.pages[n:], p.feats[n:], p.counts[n:], p.at[n:]
	page := uint32(0)
	for i := range count {
		next, f, c, rest := posting(data)
		if rest < 0 {
			return ErrDamaged
		}
		data = data[rest:]
		page += next
		pages[i], feats[i], counts[i], at[i] = page, f, c, uint32(from+i) //nolint:gosec // a place in a list
	}
	return nil
}

// posting decodes a posting: the distance of its page from the one before, its features, and the
// count of the term in the main text. It has size bytes; -1 means that it is damaged.
func posting(data []byte) (distance uint32, f feature, count uint8, size int) {
	if len(data) >= 2 && data[0] < 0x80 { // nearly all of a frequent term
		distance, size = uint32(data[0]), 1
	} else {
		n, read := binary.Uvarint(data)
		if read <= 0 || len(data) <= read {
			return 0, 0, 0, -1
		}
		distance, size = uint32(n), read //nolint:gosec // as it was coded
	}
	coded := data[size]
	size++
	if count = coded >> countShift; count == countCoded {
		if size == len(data) {
			return 0, 0, 0, -1
		}
		count += data[size]
		size++
	}
	return distance, feature(coded) & fieldsMask, count, size
}

// keep leaves only some pages, which are sorted.
func (p *run) keep(pages []uint32) {
	n, k := 0, 0
	for i, page := range p.pages {
		for k < len(pages) && pages[k] < page {
			k++
		}
		if k == len(pages) {
			break
		}
		if pages[k] == page {
			p.pages[n], p.feats[n], p.counts[n], p.at[n] = page, p.feats[i], p.counts[i], p.at[i]
			n++
		}
	}
	p.pages, p.feats, p.counts, p.at = p.pages[:n], p.feats[:n], p.counts[:n], p.at[:n]
}

// skipPlaces skips the coded places of so many pages.
func skipPlaces(data []byte, pages int) ([]byte, error) {
	r := bytesReader{b: data}
	for range pages {
		for range r.uvarint() {
			if r.uvarint(); r.fail {
				return nil, ErrDamaged
			}
		}
	}
	if r.fail {
		return nil, ErrDamaged
	}
	return r.b, nil
}

// readPlaces appends the places of the next page to dst.
func readPlaces(dst []int32, data []byte) ([]int32, []byte, error) {
	r := bytesReader{b: data}
	place := 0
	for range r.uvarint() {
		place += r.uvarint()
		if r.fail {
			return dst, nil, ErrDamaged
		}
		dst = append(dst, int32(place)) //nolint:gosec // small
	}
	if r.fail {
		return dst, nil, ErrDamaged
	}
	return dst, r.b, nil
}
