package traps

import (
	"net/url"
	"slices"
	"sync"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

// PageText is the text of a page as a hash for each word, to detect repetition. [Read] makes it.
type PageText struct {
	// title is a hash of the title's words that are not in the URL; 0 without such words.
	title uint32
	words []word

	// chunkCache is the text in chunks of a level; empty before chunks computes it.
	chunkCache []chunk
	level      int
	// newHashes is a buffer for hashes that a Memory lacks.
	newHashes []uint32
}

// word is a word of a text. A word that is also in the URL (echo) is not news, wherever it is.
type word struct {
	hash          uint64
	number, inURL bool
}

// pageTextPool are reused for the next pages, so that reading a page allocates nothing else.
var pageTextPool = sync.Pool{New: func() any { return new(PageText) }}

// A PageText with more words or chunks is not reused: most pages have a tenth.
const maxPooledWords, maxPooledChunks = 16 << 10, 8 << 10

// Release optionally frees the result of Read, which must not be used afterwards.
func (s *PageText) Release() {
	if cap(s.words) <= maxPooledWords && cap(s.chunkCache) <= maxPooledChunks {
		pageTextPool.Put(s)
	}
}

// Read reads a page's title and text once, in time linear in both. The caller bounds their length.
func Read(u urls.URL, title, text string) *PageText {
	s, _ := pageTextPool.Get().(*PageText) // the pool has no other type
	s.chunkCache = s.chunkCache[:0]
	plain, err := url.PathUnescape(u.String())
	if err != nil {
		plain = u.String()
	}
	s.words = appendWords(s.words[:0], plain)
	inURL := make([]uint64, len(s.words))
	for i, w := range s.words {
		inURL[i] = w.hash
	}
	slices.Sort(inURL)

	s.words = appendWords(s.words[:0], title)
	var titleHash uint64
	for _, w := range s.words {
		if _, isInURL := slices.BinarySearch(inURL, w.hash); !isInURL {
			titleHash = mix(titleHash ^ w.hash)
		}
	}
	s.title = uint32(titleHash)

	s.words = appendWords(slices.Grow(s.words[:0], len(text)/8), text)
	for i := range s.words {
		_, s.words[i].inURL = slices.BinarySearch(inURL, s.words[i].hash)
	}
	return s
}

// maxErrorWords is the number of words above which a text is no error message.
const maxErrorWords = 3000

// Text returns a hash of a short text and its title that is equal for two pages that only repeat
// words of their own URLs differently. It is 0 for a long text, and for one without other words.
func (s *PageText) Text() uint64 {
	if len(s.words) > maxErrorWords {
		return 0
	}
	var hash uint64
	for _, w := range s.words {
		if !w.inURL {
			hash = mix(hash ^ w.hash)
		}
	}
	if hash == 0 {
		return 0
	}
	return mix(hash ^ uint64(s.title))
}

// SimHash fingerprints the text and counts its words. Words are runs of letters and digits, in any
// case; a character of a script without spaces is a word. It takes time linear in the text. A text
// without words has the fingerprint 0.
//
// Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain and
// Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007. Every three consecutive words
// weigh the same, as often as they occur.
func (s *PageText) SimHash() (h crawl.SimHash, words int) {
	var f fingerprint
	f.addAll(s.words)
	return f.simHash(), f.count
}

// chunk is a run of words. Only they decide its end, so that inserted text leaves others unchanged.
type chunk struct {
	words []word
	// wording is a hash of the words that are not numbers, and full of all words. wording is 0 without
	// such words, full is 0 if all words are in wording.
	wording, full uint32
	// plain and numbers count the words and numbers that are not an echo.
	plain, numbers int32
	// onlyNumbers is set if a Memory shares the wording but not the numbers.
	onlyNumbers bool
}

const (
	// chunkBits makes chunks of four words on average at level 0; each level doubles them.
	chunkBits = 2
	// chunkWords and chunkNumbers end a chunk at level 0.
	chunkWords, chunkNumbers = 8, 24
)

// chunks cuts the text into chunks. Numbers do not decide the cuts.
func (s *PageText) chunks(level int) []chunk {
	if len(s.chunkCache) > 0 && s.level == level {
		return s.chunkCache
	}
	s.chunkCache, s.level = slices.Grow(s.chunkCache[:0], len(s.words)>>(chunkBits+level)*5/4+1), level
	for rest := s.words; len(rest) > 0; {
		end := chunkEnd(rest, level)
		s.chunkCache = append(s.chunkCache, newChunk(rest[:end]))
		rest = rest[end:]
	}
	return s.chunkCache
}

func chunkEnd(words []word, level int) int {
	mask := uint64(1)<<(chunkBits+level) - 1
	plain := 0
	for i, w := range words {
		if w.number {
			if i-plain >= chunkNumbers<<level {
				return i + 1
			}
			continue
		}
		plain++
		if w.hash>>40&mask == 0 || plain == chunkWords<<level {
			return i + 1
		}
	}
	return len(words)
}

func newChunk(words []word) chunk {
	c := chunk{words: words}
	wording, anyNumber := uint64(0), false
	for i := range words {
		w := &words[i]
		if w.number {
			anyNumber = true
			if !w.inURL {
				c.numbers++
			}
			continue
		}
		wording = mix(wording ^ w.hash)
		if !w.inURL {
			c.plain++
		}
	}
	c.wording = entryHash(wording)
	if anyNumber {
		full := uint64(0)
		for i := range words {
			full = mix(full ^ words[i].hash)
		}
		c.full = entryHash(full)
	}
	return c
}

// entryHash cuts a hash to the bits that a Memory stores. Only 0 becomes 0.
func entryHash(h uint64) uint32 {
	if h == 0 {
		return 0
	}
	return max(uint32(h>>40), 1)
}

// hashOf returns a short hash of a URL; 0 for an empty URL.
func hashOf(url string) uint32 {
	if url == "" {
		return 0
	}
	h := uint64(0)
	for i := range len(url) {
		h = mix(h ^ uint64(url[i]))
	}
	return max(uint32(h), 1)
}
