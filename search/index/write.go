package index

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// item is the posting of a term on a page.
type item struct {
	page   uint32
	before []byte // the encoded buckets of a word
	feat   feature
	count  uint8 // in the main text
}

// list holds the postings of a term in the order of their pages.
type list struct {
	items []item
	coded []byte // backs item.before, unless a chunk does
}

func (l *list) reset() {
	clear(l.items) // they keep chunks in memory
	l.items, l.coded = l.items[:0], l.coded[:0]
}

// writer makes the chunks of a segment. Terms must arrive in the order of their keys.
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

func (w *writer) term(key []byte, l *list) error {
	w.entry = binary.AppendUvarint(w.entry[:0], uint64(len(l.items)))
	if err := w.postings(key, l); err != nil {
		return err
	}
	shared := 0
	if len(w.chunk) > 0 {
		if len(w.chunk)+len(key)+len(w.entry)+8 > maxChunkBytes {
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

// The encodings of postings in an entry.
const (
	entryInline = iota
	entryBlocks
)

// postings appends the postings to the entry, or emits blocks and appends their bounds.
func (w *writer) postings(key []byte, l *list) error {
	w.block = appendPostings(w.block[:0], l.items)
	if len(w.block) <= maxInlineBytes {
		w.entry = append(append(w.entry, entryInline), w.block...)
		return nil
	}
	w.entry = append(w.entry, entryBlocks)
	starts := starts(l.items)
	w.entry = binary.AppendUvarint(w.entry, uint64(len(starts)))
	before := uint32(0)
	for i, from := range starts {
		to := len(l.items)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		first := l.items[from].page
		w.entry = binary.AppendUvarint(w.entry, uint64(first-before))
		w.entry = binary.AppendUvarint(w.entry, uint64(to-from)) //nolint:gosec // positive
		before = first
		w.block = appendPostings(w.block[:0], l.items[from:to])
		if err := w.emit(kindPostings, []byte(blockKey(key, i)), w.block); err != nil {
			return err
		}
	}
	return nil
}

// starts returns the indexes in a list at which its blocks begin.
func starts(items []item) []int {
	starts := []int{0}
	size, before := 0, uint32(0)
	for i, it := range items {
		n := 1 + len(it.before)
		if it.count >= maxCodedCount {
			n++
		}
		if size+n+uvarintLen(it.page-before) > maxChunkBytes {
			starts, size, before = append(starts, i), 0, 0
		}
		size, before = size+n+uvarintLen(it.page-before), it.page
	}
	return starts
}

func (w *writer) flush() error {
	if len(w.chunk) == 0 {
		return nil
	}
	err := w.emit(KindTerms, w.first, w.chunk)
	w.chunk = w.chunk[:0]
	return err
}

// column emits a column in chunks of size bytes.
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

// appendPostings encodes the first page, and the distance of each other page from the previous one.
func appendPostings(dst []byte, items []item) []byte {
	before := uint32(0)
	for _, it := range items {
		dst = binary.AppendUvarint(dst, uint64(it.page-before))
		before = it.page
		dst = append(dst, byte(it.feat)|min(it.count, maxCodedCount)<<countShift)
		if it.count >= maxCodedCount {
			dst = append(dst, it.count-maxCodedCount)
		}
		dst = append(dst, it.before...)
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
