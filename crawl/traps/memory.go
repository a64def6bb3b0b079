package traps

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// The bounds of a Memory. Encoded it has at most 6 KB.
const (
	// chunksMost limits the stored hashes of shared text, four bytes each. A page has at most
	// chunksPage of them; larger chunks keep to this limit.
	chunksMost, chunksPage = 1024, 640
	// titlesMost limits the stored titles, four bytes each, lastMost the fingerprints, twelve each.
	titlesMost, lastMost = 256, 64
	// pagesAged is the number of counted pages that halves the count. Learning uses all of the first
	// pagesEach pages, and one in learnOneIn later pages.
	pagesAged, pagesEach, learnOneIn = 64, 16, 4
	// sharedOneIn is the share of pages, one in so many, that makes a text count as shared.
	sharedOneIn = 8
)

// OwnLeast is the least number of words, or of numbers, that makes a page's own text. Texts are
// compared in pieces of some words, so that one or two changed words count as about this many.
const OwnLeast = 12

// nearLeast is the least number of words in texts whose fingerprints count as the same despite a
// few different bits. In a shorter text each word decides too many bits.
const nearLeast = 100

// Memory holds the state to compare pages of a pattern with: their shared text, and the titles and
// fingerprints of the last pages with news, without the shared text. It is stored with the pattern;
// the zero value is for a pattern without pages.
type Memory struct {
	// level is the size of the chunks. pages counts the learned pages, halved with the counts.
	level, pages int
	// chunks are sorted by hash.
	chunks []chunkCount
	// titles and last have the newest first.
	titles []uint32
	last   []own
}

type chunkCount struct {
	hash  uint32 // 24 bits
	pages uint8
}

// own is the text of a page without its pattern's shared text.
type own struct {
	hash crawl.SimHash
	// canonical is the hash of its canonical URL if that is another page; else 0.
	canonical uint32
}

// News reports whether a page has a title or a text, beside the shared text, that is new to its
// pattern. A page with too little text counts as news, and so does the canonical URL of one of the
// last pages.
func (m Memory) News(s *Said, url string) bool {
	if s.title != 0 && !slices.Contains(m.titles, s.title) || len(s.words) < SimHashWordsLeast {
		return true
	}
	self := hashOf(url)
	if slices.ContainsFunc(m.last, func(o own) bool { return o.canonical == self }) {
		return true
	}
	mine, words, enough := m.own(s)
	near := 0
	if words >= nearLeast {
		near = NearDuplicate
	}
	return enough && !slices.ContainsFunc(m.last, func(o own) bool { return o.hash.Distance(mine) <= near })
}

// own fingerprints a page's text beyond the shared text. It counts its words, and reports whether
// they suffice.
func (m Memory) own(s *Said) (hash crawl.SimHash, words int, enough bool) {
	var f fingerprint
	plain, numbers := 0, 0
	chunks := s.chunks(m.level)
	for i := range chunks {
		c := &chunks[i]
		c.onlyNumbers = false
		if !m.shares(c.wording) {
			plain += int(c.plain)
			f.addAll(c.words)
		} else if !m.shares(c.full) {
			numbers += int(c.numbers)
			c.onlyNumbers = true
		}
	}
	if numbers >= OwnLeast {
		for i := range chunks {
			if chunks[i].onlyNumbers {
				f.addAll(chunks[i].words)
			}
		}
	}
	return f.simHash(), f.count, plain >= OwnLeast || numbers >= OwnLeast
}

// shares reports whether the pages share a text. An empty text is always shared.
func (m Memory) shares(hash uint32) bool {
	if hash == 0 {
		return true
	}
	i, found := m.find(hash)
	return found && int(m.chunks[i].pages) >= min(m.pages, max(2, (m.pages+sharedOneIn-1)/sharedOneIn))
}

func (m Memory) find(hash uint32) (int, bool) {
	order := func(c chunkCount, hash uint32) int { return cmp.Compare(c.hash, hash) }
	return slices.BinarySearchFunc(m.chunks, hash, order)
}

// Learn returns the memory with a page that brought news. canonical is its canonical URL if that is
// another page, or empty. Learn reports whether the shared text must be stored anew.
func (m Memory) Learn(s *Said, canonical string) (Memory, bool) {
	if s.title != 0 && !slices.Contains(m.titles, s.title) {
		m.titles = newest(s.title, m.titles, titlesMost)
	}
	if len(s.words) < SimHashWordsLeast {
		return m, false
	}
	level := m.level
	for len(s.chunks(level)) > chunksPage {
		level++
	}
	if level > m.level {
		m.level, m.pages, m.chunks = level, 0, nil
	}
	mine, _, _ := m.own(s)
	m.last = newest(own{mine, hashOf(canonical)}, m.last, lastMost)
	if m.pages >= pagesEach && mine%learnOneIn != 0 {
		return m, false
	}
	return m.share(s), true
}

func newest[T any](first T, rest []T, most int) []T {
	rest = rest[:min(len(rest), most-1)]
	return append(append(make([]T, 0, len(rest)+1), first), rest...)
}

func (m Memory) share(s *Said) Memory {
	chunks := s.chunks(m.level)
	counts := make([]chunkCount, len(m.chunks), min(len(m.chunks)+2*len(chunks), chunksMost))
	copy(counts, m.chunks)
	var counted [chunksMost]bool
	s.fresh = s.fresh[:0]
	for _, c := range chunks {
		for _, hash := range [...]uint32{c.wording, c.full} {
			if i, found := m.find(hash); hash == 0 {
				continue
			} else if !found {
				s.fresh = append(s.fresh, hash)
			} else if !counted[i] {
				counted[i] = true
				counts[i].pages++ // at most pagesAged
			}
		}
	}
	slices.Sort(s.fresh)
	fresh := slices.Compact(s.fresh)
	m.pages++
	if len(counts)+len(fresh) > chunksMost {
		// text of only one page is dropped
		counts = slices.DeleteFunc(counts, func(c chunkCount) bool { return c.pages == 1 })
	}
	m.chunks = merged(counts, fresh[:min(len(fresh), chunksMost-len(counts))])
	if m.pages >= pagesAged {
		m.pages /= 2
		for i := range m.chunks {
			m.chunks[i].pages /= 2
		}
		m.chunks = slices.DeleteFunc(m.chunks, func(c chunkCount) bool { return c.pages == 0 })
	}
	return m
}

// merged adds a page's hashes to counts, which have capacity for them. All are sorted.
func merged(counts []chunkCount, fresh []uint32) []chunkCount {
	at := len(counts) - 1
	counts = counts[:len(counts)+len(fresh)]
	for to := len(counts) - 1; len(fresh) > 0; to-- {
		if last := len(fresh) - 1; at < 0 || counts[at].hash < fresh[last] {
			counts[to] = chunkCount{fresh[last], 1}
			fresh = fresh[:last]
		} else {
			counts[to] = counts[at]
			at--
		}
	}
	return counts
}

const (
	// memoryFormat is the first byte of a stored part. Parts with another byte are ignored.
	memoryFormat = 1
	// levelMost is the largest level: its chunks have more words than a text.
	levelMost = 20
)

// Shared encodes the part of the memory that seldom changes: its format, the level, the pages, and
// for each chunk its hash and its number of pages.
func (m Memory) Shared() []byte {
	b := make([]byte, 0, 3+4*len(m.chunks))
	b = append(b, memoryFormat, byte(m.level), byte(m.pages)) //nolint:gosec // at most levelMost and pagesAged
	for _, c := range m.chunks {
		b = binary.BigEndian.AppendUint32(b, c.hash<<8|uint32(c.pages))
	}
	return b
}

// Fingerprints encodes the other part: its format, the number of titles, the titles, and for each
// fingerprint its hash and that of the canonical URL.
func (m Memory) Fingerprints() []byte {
	b := make([]byte, 0, 3+4*len(m.titles)+12*len(m.last))
	b = binary.BigEndian.AppendUint16(append(b, memoryFormat), uint16(len(m.titles))) //nolint:gosec // at most titlesMost
	for _, title := range m.titles {
		b = binary.BigEndian.AppendUint32(b, title)
	}
	for _, o := range m.last {
		b = binary.BigEndian.AppendUint64(b, uint64(o.hash))
		b = binary.BigEndian.AppendUint32(b, o.canonical)
	}
	return b
}

// Remember reads the output of [Memory.Shared] and [Memory.Fingerprints]. Unreadable parts count as
// empty.
func Remember(shared, fingerprints []byte) (m Memory) {
	if len(shared) >= 3 && shared[0] == memoryFormat {
		m.level, m.pages = min(int(shared[1]), levelMost), min(int(shared[2]), pagesAged)
		m.chunks = make([]chunkCount, 0, min(len(shared)/4, chunksMost))
		for b := shared[3:]; len(b) >= 4 && len(m.chunks) < chunksMost; b = b[4:] {
			c := binary.BigEndian.Uint32(b)
			m.chunks = append(m.chunks, chunkCount{c >> 8, min(uint8(c), pagesAged)}) //nolint:gosec // the low byte
		}
	}
	if len(fingerprints) < 3 || fingerprints[0] != memoryFormat {
		return m
	}
	titles, b := int(binary.BigEndian.Uint16(fingerprints[1:])), fingerprints[3:]
	m.titles, m.last = make([]uint32, 0, min(titles, len(b)/4, titlesMost)), make([]own, 0, min(len(b)/12, lastMost))
	for ; len(b) >= 4 && len(m.titles) < min(titles, titlesMost); b = b[4:] {
		m.titles = append(m.titles, binary.BigEndian.Uint32(b))
	}
	for ; len(b) >= 12 && len(m.last) < lastMost; b = b[12:] {
		m.last = append(m.last, own{crawl.SimHash(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint32(b[8:])})
	}
	return m
}
