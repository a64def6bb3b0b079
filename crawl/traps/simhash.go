package traps

import (
	"crypto/sha256"
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

// HashContent is the hash of a content, of an empty one too.
func HashContent(content []byte) crawl.ContentHash {
	sum := sha256.Sum256(content)
	return crawl.ContentHash(sum[:len(crawl.ContentHash{})])
}

const (
	// NearDuplicate is how many bits may differ between the fingerprints of texts
	// that count as the same, as Manku et al. found best for pages of the web.
	NearDuplicate = 3
	// SimHashWordsLeast is how many words a text needs for its fingerprint to mean
	// something: in a shorter one each word decides too many bits.
	SimHashWordsLeast = 20
	// shingle is how many words in a row are hashed together, so that their order
	// counts.
	shingle = 3
)

// SimHashOf fingerprints a text and counts its words. Words are runs of letters
// and digits, in whatever case; a character of a script that writes no spaces
// is a word. It takes time linear in the text, which the caller bounds. A text
// without words has the fingerprint 0.
//
// Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC
// 2002; Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling",
// WWW 2007. Every three words in a row weigh the same, as often as they occur.
func SimHashOf(text string) (h crawl.SimHash, count int) {
	var f fingerprint
	for word := range wordHashes(text) {
		f.add(word)
	}
	return f.simHash(), f.count
}

// fingerprint makes a SimHash of words.
type fingerprint struct {
	votes [64]int
	last  [shingle]uint64
	count int
}

func (f *fingerprint) add(word uint64) {
	copy(f.last[:], f.last[1:])
	f.last[shingle-1] = word
	if f.count++; f.count >= shingle {
		vote(&f.votes, f.last)
	}
}

func (f *fingerprint) simHash() (h crawl.SimHash) {
	if f.count > 0 && f.count < shingle {
		vote(&f.votes, f.last)
	}
	for i, v := range f.votes {
		if v > 0 {
			h |= 1 << i
		}
	}
	return h
}

// vote adds a shingle to the sums, one for each bit of its hash.
func vote(votes *[64]int, words [shingle]uint64) {
	hash := uint64(0)
	for _, w := range words {
		hash = mix(hash ^ w)
	}
	for i := range votes {
		votes[i] += int(hash>>i&1)*2 - 1
	}
}

// wordHashes yields the hash of each word (FNV-1a), and whether it is a number.
func wordHashes(text string) iter.Seq2[uint64, bool] {
	const offset, prime = 14695981039346656037, 1099511628211
	return func(yield func(uint64, bool) bool) {
		hash, inWord, number := uint64(offset), false, true
		end := func() bool {
			word, found, isNumber := mix(hash), inWord, number
			hash, inWord, number = offset, false, true
			return !found || yield(word, isNumber)
		}
		for _, r := range text {
			isWord, alone := wordRune(r)
			if (!isWord || alone) && !end() {
				return
			}
			if !isWord {
				continue
			}
			inWord = true
			number = number && '0' <= r && r <= '9'
			var buf [utf8.UTFMax]byte
			for _, b := range buf[:utf8.EncodeRune(buf[:], unicode.ToLower(r))] {
				hash = (hash ^ uint64(b)) * prime
			}
			if alone && !end() {
				return
			}
		}
		end()
	}
}

// wordRune reports whether a character is part of a word, and whether it is a word
// alone.
func wordRune(r rune) (part, alone bool) {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9', false
	}
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
		return true, true
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r), false
}

// mix spreads a hash over all bits (the finalizer of MurmurHash3), which FNV
// does not: each bit is to vote by itself.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
