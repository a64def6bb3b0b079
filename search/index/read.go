package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"
)

// ErrDamaged reports a chunk in an unknown format.
var ErrDamaged = errors.New("a chunk of the index is damaged")

type entry struct {
	pages int // the number of pages with the term
	// inline holds the postings if they are few. Otherwise they are in blocks.
	inline []byte
	blocks []blockInfo
}

type blockInfo struct {
	first uint32 // page
	count int
}

// bytesReader decodes values. After a failure it returns zero values.
type bytesReader struct {
	b      []byte
	failed bool
}

func (r *bytesReader) uvarint() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > 1<<32 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *bytesReader) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.failed, r.b = true, nil
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

// dictionary reads the terms of a chunk of the dictionary, with their encoded entries.
type dictionary struct {
	bytesReader

	key, coded []byte
}

// next reads the next term. It returns false at the end, or if the chunk is damaged.
func (d *dictionary) next() bool {
	if len(d.b) == 0 {
		return false
	}
	shared := d.uvarint()
	suffix := d.bytes(d.uvarint())
	d.coded = d.bytes(d.uvarint())
	if d.failed || shared > len(d.key) {
		d.failed = true
		return false
	}
	d.key = append(d.key[:shared], suffix...)
	return true
}

// find returns the entry of a term in a chunk of the dictionary, if present.
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
	if d.failed {
		return e, false, ErrDamaged
	}
	return e, false, nil
}

func readEntry(coded []byte) (entry, error) {
	r := bytesReader{b: coded}
	e := entry{pages: r.uvarint()}
	if r.byte() == entryInline {
		e.inline = r.b
		if r.failed {
			return e, ErrDamaged
		}
		return e, nil
	}
	first, total := 0, 0
	for range r.uvarint() {
		first += r.uvarint()
		b := blockInfo{first: uint32(first), count: r.uvarint()} //nolint:gosec // bounded by uvarint
		if r.failed {
			return e, ErrDamaged
		}
		total += b.count
		e.blocks = append(e.blocks, b)
	}
	if r.failed || total != e.pages {
		return e, ErrDamaged
	}
	return e, nil
}

// blocksFor returns the blocks that may have some pages, which must be sorted. nil means all pages.
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

// decode appends encoded postings. Postings of a word include buckets.
func (l *list) decode(data []byte, count int, word bool) error {
	if count > len(data) { // each takes at least two bytes
		return ErrDamaged
	}
	l.items = slices.Grow(l.items, count)
	page := uint32(0)
	for range count {
		distance, f, c, size := posting(data)
		if size < 0 {
			return ErrDamaged
		}
		data = data[size:]
		page += distance
		it := item{page: page, feat: f, count: c}
		if word {
			n := precedingSize(data)
			if n < 0 {
				return ErrDamaged
			}
			it.before, data = data[:n], data[n:]
		}
		l.items = append(l.items, it)
	}
	return nil
}

// posting decodes a posting: the distance of its page from the previous page, its features, and the
// count of the term in the main text. size excludes the buckets; -1 means damaged data.
func posting(data []byte) (distance uint32, f feature, count uint8, size int) {
	if len(data) >= 2 && data[0] < 0x80 { // nearly all postings of a frequent term
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
	if count = coded >> countShift; count == maxCodedCount {
		if size == len(data) {
			return 0, 0, 0, -1
		}
		count += data[size]
		size++
	}
	return distance, feature(coded) & fieldsMask, count, size
}
