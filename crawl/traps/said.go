package traps

import (
	"net/url"

	"github.com/mosey-web/mosey/crawl/urls"
)

// Said is what a page says, word for word as hashes: enough to tell whether another
// says it too.
type Said struct {
	// title is a hash of what the title says beyond the URL; 0 where that is nothing.
	title uint32
	words []word

	// cut is the text in chunks of a level, once it was asked for
	cut   []chunk
	level int
}

// word is a word of a text. What the URL says already (echo) is no news of the page,
// wherever it stands.
type word struct {
	hash         uint64
	number, echo bool
}

// Read reads a page's title and text, which the caller bounds, in time linear in
// both.
func Read(u urls.URL, title, text string) *Said {
	named := make(map[uint64]bool)
	plain, err := url.PathUnescape(u.String())
	if err != nil {
		plain = u.String()
	}
	for hash := range wordHashes(plain) {
		named[hash] = true
	}
	said := &Said{words: make([]word, 0, len(text)/8)}
	var rest uint64
	for hash := range wordHashes(title) {
		if !named[hash] {
			rest = mix(rest ^ hash)
		}
	}
	said.title = uint32(rest)
	for hash, number := range wordHashes(text) {
		said.words = append(said.words, word{hash, number, named[hash]})
	}
	return said
}

// chunk is some words in a row. Where one ends is decided by its words alone, so that
// what is written between two chunks leaves them as they are.
type chunk struct {
	words []word
	// wording is a hash of the words that are no numbers, and full of all; 0 where there
	// are none, or all words are in wording.
	wording, full uint32
	// plain and numbers count the words of each sort that are no echo.
	plain, numbers int
}

const (
	// chunkBits makes chunks of four words on average at level 0, each level doubles
	// them.
	chunkBits = 2
	// chunkWords and chunkNumbers end a chunk at level 0.
	chunkWords, chunkNumbers = 8, 24
)

// chunks cuts what a page says. Numbers do not decide where.
func (s *Said) chunks(level int) []chunk {
	if s.cut != nil && s.level == level {
		return s.cut
	}
	s.cut, s.level = make([]chunk, 0, len(s.words)>>(chunkBits+level)*5/4+1), level
	for rest := s.words; len(rest) > 0; {
		end := chunkEnd(rest, level)
		s.cut = append(s.cut, newChunk(rest[:end]))
		rest = rest[end:]
	}
	return s.cut
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
	wording, full, anyNumber := uint64(0), uint64(0), false
	for _, w := range words {
		full = mix(full ^ w.hash)
		switch {
		case w.number:
			anyNumber = true
			c.numbers += one(!w.echo)
		default:
			wording = mix(wording ^ w.hash)
			c.plain += one(!w.echo)
		}
	}
	c.wording = entryHash(wording)
	if anyNumber {
		c.full = entryHash(full)
	}
	return c
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// entryHash cuts a hash to what a Memory keeps of it; 0 stays 0, and nothing else is.
func entryHash(h uint64) uint32 {
	if h == 0 {
		return 0
	}
	return max(uint32(h>>40), 1)
}

// hashOf is a short hash of a URL; 0 is of none.
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
