package traps

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// The bounds of a Memory. Encoded it has at most 6 KB.
const (
	// maxChunks limits the stored hashes of shared text, four bytes each. A page has at most
	// maxPageChunks of them; larger chunks keep to this limit.
	maxChunks, maxPageChunks = 1024, 640
	// maxTitles limits the stored titles, four bytes each, maxRecentTexts the fingerprints, twelve
	// each.
	maxTitles, maxRecentTexts = 256, 64
	// maxPageCount is the number of counted pages that halves the count. Learning uses all of the
	// first fullLearningPages pages, and one in learnInterval later pages.
	maxPageCount, fullLearningPages, learnInterval = 64, 16, 4
	// sharedInterval is the share of pages, one in so many, that makes a text count as shared.
	sharedInterval = 8
)

// OwnWordsMin is the least number of words, or of numbers, that makes a page's own text. Texts are
// compared in pieces of some words, so that one or two changed words count as about this many.
const OwnWordsMin = 12

// minNearWords is the least number of words in texts whose fingerprints count as the same despite a
// few different bits. In a shorter text each word decides too many bits.
const minNearWords = 100

// Memory holds the state to compare pages of a pattern with: their shared text, and the titles and
// fingerprints of the last pages with news, without the shared text. It is stored with the pattern;
// the zero value is for a pattern without pages.
type Memory struct {
	// level is the size of the chunks. pages counts the learned pages, halved with the counts.
	level, pages int
	// chunks are sorted by hash.
	chunks []chunkCount
	// titles and last have the newest first.
	titles      []uint32
	recentTexts []ownText
}

type chunkCount struct {
	hash  uint32 // 24 bits
	pages uint8
}

// ownText is the text of a page without its pattern's shared text.
type ownText struct {
	hash crawl.SimHash
	// canonical is the hash of its canonical URL if that is another page; else 0.
	canonical uint32
}

// HasNewContent reports whether a page has a title or a text, beside the shared text, that is new
// to its pattern. A page with too little text counts as news, and so does the canonical URL of one
// of the last pages.
func (m Memory) HasNewContent(s *PageText, url string) bool {
	if s.title != 0 && !slices.Contains(m.titles, s.title) || len(s.words) < SimHashWordsMin {
		return true
	}
	urlHash := hashOf(url)
	if slices.ContainsFunc(m.recentTexts, func(o ownText) bool { return o.canonical == urlHash }) {
		return true
	}
	text, words, enough := m.ownText(s)
	maxDistance := 0
	if words >= minNearWords {
		maxDistance = NearDuplicate
	}
	return enough && !slices.ContainsFunc(m.recentTexts, func(o ownText) bool { return o.hash.Distance(text) <= maxDistance })
}

// ownText fingerprints a page's text beyond the shared text. It counts its words, and reports
// whether they suffice.
func (m Memory) ownText(s *PageText) (hash crawl.SimHash, words int, enough bool) {
	var f fingerprint
	plain, numbers := 0, 0
	chunks := s.chunks(m.level)
	for i := range chunks {
		c := &chunks[i]
		c.onlyNumbers = false
		if !m.isShared(c.wording) {
			plain += int(c.plain)
			f.addAll(c.words)
		} else if !m.isShared(c.full) {
			numbers += int(c.numbers)
			c.onlyNumbers = true
		}
	}
	if numbers >= OwnWordsMin {
		for i := range chunks {
			if chunks[i].onlyNumbers {
				f.addAll(chunks[i].words)
			}
		}
	}
	return f.simHash(), f.count, plain >= OwnWordsMin || numbers >= OwnWordsMin
}

// isShared reports whether the pages share a text. An empty text is always shared.
func (m Memory) isShared(hash uint32) bool {
	if hash == 0 {
		return true
	}
	i, found := m.find(hash)
	return found && int(m.chunks[i].pages) >= min(m.pages, max(2, (m.pages+sharedInterval-1)/sharedInterval))
}

func (m Memory) find(hash uint32) (int, bool) {
	order := func(c chunkCount, hash uint32) int { return cmp.Compare(c.hash, hash) }
	return slices.BinarySearchFunc(m.chunks, hash, order)
}

// Learn returns the memory with a page that brought news. canonical is its canonical URL if that is
// another page, or empty. Learn reports whether the shared text must be stored anew.
func (m Memory) Learn(s *PageText, canonical string) (Memory, bool) {
	if s.title != 0 && !slices.Contains(m.titles, s.title) {
		m.titles = prepend(s.title, m.titles, maxTitles)
	}
	if len(s.words) < SimHashWordsMin {
		return m, false
	}
	level := m.level
	for len(s.chunks(level)) > maxPageChunks {
		level++
	}
	if level > m.level {
		m.level, m.pages, m.chunks = level, 0, nil
	}
	text, _, _ := m.ownText(s)
	m.recentTexts = prepend(ownText{text, hashOf(canonical)}, m.recentTexts, maxRecentTexts)
	if m.pages >= fullLearningPages && text%learnInterval != 0 {
		return m, false
	}
	return m.addSharedText(s), true
}

func prepend[T any](first T, rest []T, limit int) []T {
	rest = rest[:min(len(rest), limit-1)]
	return append(append(make([]T, 0, len(rest)+1), first), rest...)
}

func (m Memory) addSharedText(s *PageText) Memory {
	chunks := s.chunks(m.level)
	counts := make([]chunkCount, len(m.chunks), min(len(m.chunks)+2*len(chunks), maxChunks))
	copy(counts, m.chunks)
	var counted [maxChunks]bool
	s.newHashes = s.newHashes[:0]
	for _, c := range chunks {
		for _, hash := range [...]uint32{c.wording, c.full} {
			if i, found := m.find(hash); hash == 0 {
				continue
			} else if !found {
				s.newHashes = append(s.newHashes, hash)
			} else if !counted[i] {
				counted[i] = true
				counts[i].pages++ // at most maxPageCount
			}
		}
	}
	slices.Sort(s.newHashes)
	newHashes := slices.Compact(s.newHashes)
	m.pages++
	if len(counts)+len(newHashes) > maxChunks {
		// text of only one page is dropped
		counts = slices.DeleteFunc(counts, func(c chunkCount) bool { return c.pages == 1 })
	}
	for _, hash := range newHashes[:min(len(newHashes), maxChunks-len(counts))] {
		counts = append(counts, chunkCount{hash, 1})
	}
	slices.SortFunc(counts, func(a, b chunkCount) int { return cmp.Compare(a.hash, b.hash) })
	m.chunks = counts
	if m.pages >= maxPageCount {
		m.pages /= 2
		for i := range m.chunks {
			m.chunks[i].pages /= 2
		}
		m.chunks = slices.DeleteFunc(m.chunks, func(c chunkCount) bool { return c.pages == 0 })
	}
	return m
}

const (
	// memoryFormat is the first byte of a stored part. Parts with another byte are ignored.
	memoryFormat = 1
	// maxLevel is the largest level: its chunks have more words than a text.
	maxLevel = 20
)

// Shared encodes the part of the memory that seldom changes: its format, the level, the pages, and
// for each chunk its hash and its number of pages.
func (m Memory) Shared() []byte {
	b := make([]byte, 0, 3+4*len(m.chunks))
	b = append(b, memoryFormat, byte(m.level), byte(m.pages)) //nolint:gosec // at most maxLevel and maxPageCount
	for _, c := range m.chunks {
		b = binary.BigEndian.AppendUint32(b, c.hash<<8|uint32(c.pages))
	}
	return b
}

// Fingerprints encodes the other part: its format, the number of titles, the titles, and for each
// fingerprint its hash and that of the canonical URL.
func (m Memory) Fingerprints() []byte {
	b := make([]byte, 0, 3+4*len(m.titles)+12*len(m.recentTexts))
	b = binary.BigEndian.AppendUint16(append(b, memoryFormat), uint16(len(m.titles))) //nolint:gosec // at most maxTitles
	for _, title := range m.titles {
		b = binary.BigEndian.AppendUint32(b, title)
	}
	for _, o := range m.recentTexts {
		b = binary.BigEndian.AppendUint64(b, uint64(o.hash))
		b = binary.BigEndian.AppendUint32(b, o.canonical)
	}
	return b
}

// DecodeMemory reads the output of [Memory.Shared] and [Memory.Fingerprints]. Unreadable parts
// count as empty.
func DecodeMemory(shared, fingerprints []byte) (m Memory) {
	if len(shared) >= 3 && shared[0] == memoryFormat {
		m.level, m.pages = min(int(shared[1]), maxLevel), min(int(shared[2]), maxPageCount)
		m.chunks = make([]chunkCount, 0, min(len(shared)/4, maxChunks))
		for b := shared[3:]; len(b) >= 4 && len(m.chunks) < maxChunks; b = b[4:] {
			c := binary.BigEndian.Uint32(b)
			m.chunks = append(m.chunks, chunkCount{c >> 8, min(uint8(c), maxPageCount)}) //nolint:gosec // the low byte
		}
	}
	if len(fingerprints) < 3 || fingerprints[0] != memoryFormat {
		return m
	}
	titles, b := int(binary.BigEndian.Uint16(fingerprints[1:])), fingerprints[3:]
	m.titles, m.recentTexts = make([]uint32, 0, min(titles, len(b)/4, maxTitles)), make([]ownText, 0, min(len(b)/12, maxRecentTexts))
	for ; len(b) >= 4 && len(m.titles) < min(titles, maxTitles); b = b[4:] {
		m.titles = append(m.titles, binary.BigEndian.Uint32(b))
	}
	for ; len(b) >= 12 && len(m.recentTexts) < maxRecentTexts; b = b[12:] {
		m.recentTexts = append(m.recentTexts, ownText{crawl.SimHash(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint32(b[8:])})
	}
	return m
}
