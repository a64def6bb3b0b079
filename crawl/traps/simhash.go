package traps

import (
	"crypto/sha256"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// HashContent returns the hash of a content, even if empty.
func HashContent(content []byte) crawl.ContentHash {
	sum := sha256.Sum256(content)
	return crawl.ContentHash(sum[:len(crawl.ContentHash{})])
}

const (
	// NearDuplicate is the largest number of different bits in the fingerprints of equal texts, the
	// best value for web pages according to Manku, Jain and Das Sarma ("Detecting Near-Duplicates
	// for Web Crawling", WWW 2007).
	NearDuplicate = 3
	// SimHashWordsMin is the least number of words for a meaningful fingerprint: in a shorter text
	// each word decides too many bits.
	SimHashWordsMin = 20
	// shingleWords is the number of consecutive words hashed together, so that their order counts.
	shingleWords = 3
)

type fingerprint struct {
	votes votes
	last  [shingleWords]uint64
	count int
}

func (f *fingerprint) add(word uint64) {
	f.last = [shingleWords]uint64{f.last[1], f.last[2], word}
	if f.count++; f.count >= shingleWords {
		f.votes.add(shingleHash(f.last))
	}
}

func (f *fingerprint) addAll(words []word) {
	for i := range words {
		f.add(words[i].hash)
	}
}

func (f *fingerprint) simHash() crawl.SimHash {
	if f.count > 0 && f.count < shingleWords {
		f.votes.add(shingleHash(f.last))
	}
	return f.votes.result()
}

func shingleHash(words [shingleWords]uint64) (hash uint64) {
	for _, w := range words {
		hash = mix(hash ^ w)
	}
	return hash
}

// votes counts for each bit the hashes that have it set.
type votes struct {
	hashes int
	sums   [64]int
	// lanes are counters of eight bits that are not in sums yet: lane i counts the bits i, i+8, i+16,
	// … So a hash costs eight additions, not 64.
	lanes [8]uint64
	// laneHashes is the number of hashes that they have counted.
	laneHashes uint8
}

func (v *votes) add(hash uint64) {
	const lowBits = 0x0101010101010101
	for i := range v.lanes {
		v.lanes[i] += hash >> i & lowBits
	}
	v.hashes++
	if v.laneHashes++; v.laneHashes == math.MaxUint8 {
		v.flushLanes()
	}
}

// flushLanes adds the counts of the lanes to the sums.
func (v *votes) flushLanes() {
	for i, lane := range v.lanes {
		for octet := range 8 {
			v.sums[8*octet+i] += int(lane >> (8 * octet) & math.MaxUint8)
		}
	}
	v.lanes, v.laneHashes = [8]uint64{}, 0
}

// result returns the bits that more than half of the hashes have.
func (v *votes) result() (h crawl.SimHash) {
	v.flushLanes()
	for i, sum := range v.sums {
		if 2*sum > v.hashes {
			h |= 1 << i
		}
	}
	return h
}

// FNV-1a.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// lowerWordRunes holds the lower case of word characters, and 0 for others, up to the last Latin,
// Greek and Cyrillic letters in use today.
var lowerWordRunes = func() (lower [0x460]rune) {
	for c := range lower {
		lower[c], _ = lowerWordRune(rune(c))
	}
	return lower
}()

// lowerWordRune returns a word character in lower case, or 0, and whether it is a word by itself.
func lowerWordRune(r rune) (lower rune, isWholeWord bool) {
	const first = 0xe00 // of Thai, the lowest of scripts without spaces
	switch {
	case r >= first && unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return unicode.ToLower(r), true
	case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
		return unicode.ToLower(r), false
	}
	return 0, false
}

// appendWords appends the lower-case words of a text, as FNV-1a hashes, and marks numbers.
func appendWords(words []word, text string) []word {
	hash, inWord, number := uint64(fnvOffset), false, true
	var encoded [utf8.UTFMax]byte
	for _, r := range text {
		var lower rune
		var isWholeWord bool
		if int(r) < len(lowerWordRunes) {
			lower = lowerWordRunes[r]
		} else {
			lower, isWholeWord = lowerWordRune(r)
		}
		if inWord && (lower == 0 || isWholeWord) {
			words = append(words, word{hash: mix(hash), number: number})
			hash, inWord, number = fnvOffset, false, true
		}
		if lower == 0 {
			continue
		}
		for _, b := range utf8.AppendRune(encoded[:0], lower) {
			hash = (hash ^ uint64(b)) * fnvPrime
		}
		inWord, number = true, number && lower <= '9'
		if isWholeWord {
			words = append(words, word{hash: mix(hash)})
			hash, inWord, number = fnvOffset, false, true
		}
	}
	if inWord {
		words = append(words, word{hash: mix(hash), number: number})
	}
	return words
}

// mix spreads a hash over all bits (MurmurHash3's finalizer): FNV alone does not.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
