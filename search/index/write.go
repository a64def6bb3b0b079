package index

import (
	"bytes"
	"encoding/binary"

	"github.com/mosey-web/mosey/crawl"
)

// list is the pages of a term.
type list struct {
	pages  []uint32
	feats  []feature
	counts []uint8 // in the main text
	// places are the coded positions of all pages, ends where those of each end; both are
	// empty where the term has no positions.
	places []byte
	ends   []uint32
}

func (l *list) reset() {
	l.pages, l.feats, l.counts = l.pages[:0], l.feats[:0], l.counts[:0]
	l.places, l.ends = l.places[:0], l.ends[:0]
}

// placesOf are the coded positions of the nth page.
func (l *list) placesOf(n int) []byte {
	begin := uint32(0)
	if n > 0 {
		begin = l.ends[n-1]
	}
	return l.places[begin:l.ends[n]]
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
	positions := len(l.ends) > 0
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

// What an entry is.
const (
	entryPositions = 1 << iota
	entryBlocks
)

// postings appends to the entry what says where a term's pages are, and emits blocks of
// them if they are many.
func (w *writer) postings(key []byte, l *list, positions bool) error {
	w.block = appendPostings(w.block[:0], l, 0, len(l.pages))
	var flags byte
	if positions {
		flags |= entryPositions
	}
	if len(w.block)+len(l.places) <= inlineMost {
		w.entry = append(w.entry, flags)
		w.entry = binary.AppendUvarint(w.entry, uint64(len(w.block)))
		w.entry = append(append(w.entry, w.block...), l.places...)
		return nil
	}
	w.entry = append(w.entry, flags|entryBlocks)
	starts := w.starts(l)
	w.entry = binary.AppendUvarint(w.entry, uint64(len(starts)))
	before := uint32(0)
	for i, from := range starts {
		to := len(l.pages)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
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

// starts are the places in a list at which its blocks begin.
func (w *writer) starts(l *list) []int {
	starts := []int{0}
	size, before := 0, uint32(0)
	for i, page := range l.pages {
		n := uvarintLen(uint64(page-before)) + 1
		if l.counts[i] >= countCoded {
			n++
		}
		if size+n > chunkMost {
			starts, size = append(starts, i), 0
			n = uvarintLen(uint64(page)) + 2
		}
		size, before = size+n, page
	}
	return starts
}

// positions emits the blocks of a term's positions, and appends to the entry with which
// page of the list each begins. A page's are never in two blocks.
func (w *writer) positions(key []byte, l *list) error {
	starts := []int{0}
	size := 0
	for i := range l.pages {
		n := len(l.placesOf(i))
		if size > 0 && size+n > chunkMost {
			starts, size = append(starts, i), 0
		}
		size += n
	}
	w.entry = binary.AppendUvarint(w.entry, uint64(len(starts)))
	before := 0
	for i, from := range starts {
		to := len(l.pages)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		w.entry = binary.AppendUvarint(w.entry, uint64(from-before)) //nolint:gosec // positive
		before = from
		begin := uint32(0)
		if from > 0 {
			begin = l.ends[from-1]
		}
		if err := w.emit(kindPositions, []byte(blockKey(key, i)), l.places[begin:l.ends[to-1]]); err != nil {
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

// column emits a column of so many (each) bytes for each page.
func (w *writer) column(kind crawl.ChunkKind, data []byte, each, pages int) error {
	for n := 0; len(data) > 0; n++ {
		size := min(len(data), each*pages)
		if err := w.emit(kind, []byte(columnKey(n)), data[:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

// appendPostings codes the pages of a list from one place to another. The first is as it
// is, each of the others its distance from the one before.
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

func uvarintLen(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
