package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// list has the pages of a term.
type list struct {
	pages  []uint32
	feats  []feature
	counts []uint8 // in the main text
	// blocks have the coded positions, and spans the bounds of each page's positions; both are empty
	// if the term has no positions.
	blocks [][]byte
	spans  []span
}

// span has the bounds of a page's coded positions in a block.
type span struct{ block, begin, end uint32 }

func (s span) size() int { return int(s.end - s.begin) }

func (l *list) reset() {
	l.pages, l.feats, l.counts = l.pages[:0], l.feats[:0], l.counts[:0]
	clear(l.blocks)
	l.blocks, l.spans = l.blocks[:0], l.spans[:0]
}

// appendPlaces appends the coded positions of pages.
func (l *list) appendPlaces(dst []byte, spans []span) []byte {
	for _, s := range spans {
		dst = append(dst, l.blocks[s.block][s.begin:s.end]...)
	}
	return dst
}

// writer makes chunks of a segment. Terms come in the order of their keys.
type writer struct {
	out func(crawl.Chunk) error

	chunk       []byte
	first, last []byte // keys in the chunk
	bytes       int64

	entry, block []byte
}

func (w *writer) emit(kind crawl.ChunkKind, key, data []byte) error {
	w.bytes += int64(len(key) + len(data))
	return w.out(crawl.Chunk{Kind: kind, Key: bytes.Clone(key), Data: bytes.Clone(data)})
}

// term adds a term with its pages.
func (w *writer) term(key []byte, l *list) error {
	w.entry = binary.AppendUvarint(w.entry[:0], uint64(len(l.pages)))
	positions := len(l.spans) > 0
	if err := w.postings(key, l, positions); err != nil {
		return err
	}
	shared := 0
	if len(w.chunk) > 0 {
		if len(w.chunk)+len(key)+len(w.entry)+8 > chunkMost {
			if err := w.flush(); err != nil {
				return err
			}
		} else {
			shared = commonPrefix(w.last, key)
		}
	}
	if len(w.chunk) == 0 {
		w.first = append(w.first[:0], key...)
	}
	w.last = append(w.last[:0], key...)
	w.chunk = binary.AppendUvarint(w.chunk, uint64(shared))
	w.chunk = binary.AppendUvarint(w.chunk, uint64(len(key)-shared))
	w.chunk = append(w.chunk, key[shared:]...)
	w.chunk = binary.AppendUvarint(w.chunk, uint64(len(w.entry)))
	w.chunk = append(w.chunk, w.entry...)
	return nil
}

// The flags of an entry.
const (
	entryPositions = 1 << iota
	entryBlocks
)

// postings appends the postings and positions to the entry or, if these are large, emits blocks and
// appends their bounds.
func (w *writer) postings(key []byte, l *list, positions bool) error {
	w.block = appendPostings(w.block[:0], l, 0, len(l.pages))
	var flags byte
	if positions {
		flags |= entryPositions
	}
	size := len(w.block)
	for _, s := range l.spans {
		size += s.size()
	}
	if size <= inlineMost {
		w.entry = append(w.entry, flags)
		w.entry = binary.AppendUvarint(w.entry, uint64(len(w.block)))
		w.entry = l.appendPlaces(append(w.entry, w.block...), l.spans)
		return nil
	}
	w.entry = append(w.entry, flags|entryBlocks)
	starts := l.starts()
	w.entry = binary.AppendUvarint(w.entry, uint64(len(starts)))
	before := uint32(0)
	for i, from := range starts {
		to := endOf(starts, i, l)
		w.entry = binary.AppendUvarint(w.entry, uint64(l.pages[from]-before))
		w.entry = binary.AppendUvarint(w.entry, uint64(to-from)) //nolint:gosec // positive
		before = l.pages[from]
		w.block = appendPostings(w.block[:0], l, from, to)
		if err := w.emit(kindPostings, []byte(blockKey(key, i)), w.block); err != nil {
			return err
		}
	}
	if !positions {
		return nil
	}
	return w.positions(key, l)
}

// endOf returns the place in a list at which the block i ends.
func endOf(starts []int, i int, l *list) int {
	if i+1 < len(starts) {
		return starts[i+1]
	}
	return len(l.pages)
}

// starts returns the places in a list at which its blocks begin.
func (l *list) starts() []int {
	starts := []int{0}
	size, before := 0, uint32(0)
	for i, page := range l.pages {
		n := uvarintLen(page-before) + 1
		if l.counts[i] >= countCoded {
			n++
		}
		if size+n > chunkMost {
			starts, size = append(starts, i), 0
			n = uvarintLen(page) + 2
		}
		size, before = size+n, page
	}
	return starts
}

// positions emits the blocks of a term's positions, and appends the place in the list of each
// block's first page to the entry. A page's positions are never in two blocks.
func (w *writer) positions(key []byte, l *list) error {
	starts := []int{0}
	size := 0
	for i := range l.pages {
		n := l.spans[i].size()
		if size > 0 && size+n > chunkMost {
			starts, size = append(starts, i), 0
		}
		size += n
	}
	w.entry = binary.AppendUvarint(w.entry, uint64(len(starts)))
	before := 0
	for i, from := range starts {
		w.entry = binary.AppendUvarint(w.entry, uint64(from-before)) //nolint:gosec // positive
		before = from
		w.block = l.appendPlaces(w.block[:0], l.spans[from:endOf(starts, i, l)])
		if err := w.emit(kindPositions, []byte(blockKey(key, i)), w.block); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) flush() error {
	if len(w.chunk) == 0 {
		return nil
	}
	err := w.emit(KindTerms, w.first, w.chunk)
	w.chunk = w.chunk[:0]
	return err
}

// column emits a column in chunks of so many bytes.
func (w *writer) column(kind crawl.ChunkKind, data []byte, size int) error {
	n := 0
	for some := range slices.Chunk(data, size) {
		if err := w.emit(kind, []byte(columnKey(n)), some); err != nil {
			return err
		}
		n++
	}
	return nil
}

// appendPostings codes the pages of a list from one place to another: the first page itself, and
// the distance of each other page from the one before.
func appendPostings(dst []byte, l *list, from, to int) []byte {
	before := uint32(0)
	for i := from; i < to; i++ {
		dst = binary.AppendUvarint(dst, uint64(l.pages[i]-before))
		before = l.pages[i]
		count := l.counts[i]
		dst = append(dst, byte(l.feats[i])|min(count, countCoded)<<countShift)
		if count >= countCoded {
			dst = append(dst, count-countCoded)
		}
	}
	return dst
}

// uvarintLen returns the length of binary.AppendUvarint.
func uvarintLen(n uint32) int { return (bits.Len32(n|1) + 6) / 7 }

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
