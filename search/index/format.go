package index

import (
	"encoding/binary"
	"math"

	"github.com/mosey-web/mosey/crawl"
)

// Kinds of chunks. KindTerms is the dictionary.
const (
	KindTerms crawl.ChunkKind = iota + 1
	kindPostings
	kindNorms
	kindIDs
	kindLanguages
	kindDates
)

const (
	// maxChunkBytes caps the bytes of a chunk, so that it fits into one page of Postgres with its key.
	maxChunkBytes = 7_800
	// maxInlineBytes caps the bytes of postings in an entry of the dictionary.
	maxInlineBytes = 1_000
)

// The bytes of a page in each column, and the pages of a chunk.
const (
	normBytes, normPages = 3, 2_500
	idBytes, idPages     = 20, 380
	langBytes, langPages = 1, 7_600
	dateBytes, datePages = 2, 3_800
)

// Prefixes of keys.
const (
	wordPrefix     = "w"
	stemPrefix     = "s"
	domainPrefix   = "d"
	languagePrefix = "l"
)

// Word returns the key of a word as written.
func Word(term string) string { return wordPrefix + term }

// Stem returns the key of a stem by a text search configuration: a stem of another language is
// another word.
func Stem(config, stem string) string { return stemPrefix + config + ":" + stem }

// Domain returns the key of the pages of a domain.
func Domain(domain string) string { return domainPrefix + domain }

// Language returns the key of the pages in a language, by the first subtag of its tag.
func Language(base string) string { return languagePrefix + base }

// feature has a bit for each text of a page that contains the term.
type feature uint8

// The bits of a feature. The count of the term in the main text follows them.
const (
	inAddress feature = 1 << iota
	inDescription
	inHeading
	inAnchor
	inTitle
	// countShift leaves one bit free.
	countShift = iota + 1
	fieldsMask = inTitle<<1 - 1
	// maxCodedCount is the largest code of a count. A byte with the rest of the count follows it.
	maxCodedCount = 3
	maxCount      = 255
)

// isWord reports whether a key belongs to a word, whose postings have buckets.
func isWord[T string | []byte](key T) bool { return len(key) > 0 && key[0] == wordPrefix[0] }

func blockKey[T string | []byte](term T, n int) string {
	return string(binary.BigEndian.AppendUint32(append([]byte(term), 0), uint32(n))) //nolint:gosec // some thousand
}

func blockRefs[T string | []byte](segment int64, term T, blocks []int) []crawl.ChunkRef {
	refs := make([]crawl.ChunkRef, len(blocks))
	for i, n := range blocks {
		refs[i] = crawl.ChunkRef{Segment: segment, Kind: kindPostings, Key: blockKey(term, n)}
	}
	return refs
}

func columnKey(n int) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(n))) //nolint:gosec // some thousand
}

// lengths decodes meta.words.
var lengths = func() (l [256]float32) {
	for i := range l {
		l[i] = float32(math.Exp2(float64(i)/8) - 1)
	}
	return l
}()

// worthCode encodes a worth as a byte.
func worthCode(worth float32) byte { return byte(min(255, max(0, math.Round(float64(worth)*255)))) }
