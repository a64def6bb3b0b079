package terms

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// wordRunesMax caps a word, in characters.
	wordRunesMax = 40
	// textBytesMax caps the terms of a text, in bytes. A tsvector holds 1 MiB, positions included.
	textBytesMax = 600 << 10
	// foreignMax caps the bytes normalized at once. It exceeds any word of wordRunesMax.
	foreignMax = 4 << 10
)

// Cutter cuts texts into terms. Its memory is reused for the next text. It is not safe for
// concurrent use. The zero value is ready.
type Cutter struct {
	// Whole omits the single character at the end of a run without blanks if it is part of a pair,
	// so that a query also matches within a run.
	Whole bool
	out   []byte
	left  int // terms that may still be added
	// at is the position of the last term, and positions are the positions of all terms.
	at        int
	positions []int
	// extraTerms holds additional terms at the position of another term.
	extraTerms []PlacedTerm
	joint      joint

	word  []byte
	runes int // in word
	// hasMarks is set if word or the run has marks that may be composed with a letter.
	hasMarks bool
	// before and pending are the last two characters of a run without blanks, with their marks.
	before, pending []byte
}

// Cut appends the terms of a text to dst, separated by blanks, and returns their number, which is
// at most limit. Invalid UTF-8 separates words.
func (c *Cutter) Cut(dst []byte, text string, limit int) ([]byte, int) {
	if dst == nil { // the terms of most texts take as much memory as the text
		dst = make([]byte, 0, min(len(text), textBytesMax))
	}
	c.out, c.left = dst, limit
	c.word, c.runes, c.hasMarks, c.before, c.pending = c.word[:0], 0, false, c.before[:0], c.pending[:0]
	c.at, c.positions, c.extraTerms, c.joint = 0, c.positions[:0], c.extraTerms[:0], joint{}
	for i := 0; i < len(text) && c.left > 0; {
		b := text[i]
		switch {
		case plainAlphanumeric(b):
			if j := &c.joint; !j.begun && !j.hasNonASCII {
				j.begun, j.from, j.at = true, i, c.at+1
			}
			c.letter(rune(b | 0x20)) // digits and lower case letters stay unchanged
			i++
		case b < utf8.RuneSelf:
			c.end()
			c.join(text, i)
			i++
		case typographic(text[i:]) != 0:
			c.end()
			c.join(text, i)
			i += typographicBytes
		default:
			c.joint = joint{hasNonASCII: true}
			i += c.readNonASCII(text[i:])
		}
	}
	c.end()
	if c.left > 0 {
		c.join(text, len(text))
	}
	out := c.out
	c.out = nil
	return out, limit - c.left
}

// readNonASCII reads non-ASCII text and returns its length. It decomposes letters with accents.
func (c *Cutter) readNonASCII(s string) int {
	if n := c.readPlain(s); n > 0 {
		return n
	}
	end := 0
	for end < len(s) && end < foreignMax && s[end] >= utf8.RuneSelf {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	var base rune
	composed := norm.NFKC.String(s[:end])
	for i, r := range composed {
		if plain, letter := cyrillic(r); letter {
			c.letter(plain)
			base = r
		} else if digit, isDigit := decimal(r); isDigit {
			c.letter(digit)
			base = digit
		} else if isPaired(r) && !unicode.In(r, unicode.Mn, unicode.Mc) {
			c.pair(r)
			base = r
		} else if decomposed := norm.NFD.PropertiesString(composed[i:]).Decomposition(); decomposed != nil {
			for _, part := range string(decomposed) {
				base = c.character(base, part)
			}
		} else {
			base = c.character(base, r)
		}
	}
	return end
}

// readPlain reads the letters at the start of a text whose terms depend on no other character: they
// are in plainLetters and no mark follows. It returns their length.
func (c *Cutter) readPlain(s string) int {
	end := 0
	letter, size := plainLetter(s)
	for letter != 0 {
		rest := s[end+size:]
		next, nextSize := plainLetter(rest)
		if next == 0 && rest != "" && rest[0] >= utf8.RuneSelf {
			return end // possibly a mark
		}
		if base, isShort := breveBase(letter); !isShort {
			c.letter(letter)
		} else if c.runes+2 > wordRunesMax {
			c.letter(base)
		} else {
			c.letter(letter)
			c.runes++ // count its breve
		}
		end += size
		letter, size = next, nextSize
	}
	return end
}

// plainLetter returns the entry of plainLetters for the first character of a text.
func plainLetter(s string) (letter rune, size int) {
	if s == "" || s[0] < utf8.RuneSelf {
		return 0, 0
	}
	r, size := utf8.DecodeRuneInString(s)
	if r < plainFirst || r > plainLast {
		return 0, size
	}
	return plainLetters[r-plainFirst], size
}

// The first letter of Latin-1 and the last modern letter of Cyrillic.
const plainFirst, plainLast = 0xc0, 0x45f

// plainLetters maps the letters from plainFirst on to lower case without their omitted marks. It
// has 0 for other characters and for letters with another compatibility form.
var plainLetters = func() (letters [plainLast - plainFirst + 1]rune) {
	for r := rune(plainFirst); r <= plainLast; r++ {
		text := string(r)
		if !unicode.IsLetter(r) || r == modifierApostrophe || !norm.NFKC.IsNormalString(text) {
			continue
		}
		letter := unicode.ToLower(r)
		if _, isShort := breveBase(letter); !isShort {
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(text))
			letter = unicode.ToLower(base)
		}
		letters[r-plainFirst] = letter
	}
	return letters
}()

// breveBase returns the base of a letter in plainLetters that is distinguished by a breve.
func breveBase(letter rune) (base rune, ok bool) {
	switch letter {
	case 'й':
		return 'и', true
	case 'ў':
		return 'у', true
	}
	return 0, false
}

// character reads a character and returns the base of the marks that follow it.
func (c *Cutter) character(base, r rune) rune {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Mc):
		c.mark(base, r)
		return base
	case r != zeroWidthSpace && unicode.Is(unicode.Cf, r), r == tatweel:
		return base // joiners, soft hyphens and the Arabic tatweel are not part of a word
	case isEmoji(r):
		c.end()
		c.letter(r)
		c.end()
		return 0
	case r == utf8.RuneError || r == modifierApostrophe || !unicode.IsLetter(r) && !unicode.IsNumber(r):
		c.end()
		return 0
	default:
		c.letter(unicode.ToLower(r))
	}
	return r
}

// cyrillic returns the lower case of a common letter without an accent, avoiding Unicode's tables.
func cyrillic(r rune) (lower rune, ok bool) {
	const (
		upperA, lowerA, lowerYa = 0x410, 0x430, 0x44f
		upperShortI             = 0x419
		lowerShortI             = upperShortI + lowerA - upperA
	)
	if r < upperA || r > lowerYa || r == upperShortI || r == lowerShortI {
		return 0, false
	}
	if r < lowerA {
		r += lowerA - upperA
	}
	return r, true
}

const (
	breve              = 0x306
	tatweel            = 0x640
	zeroWidthSpace     = 0x200b
	modifierApostrophe = 0x2bc
)

// decimal returns the ASCII digit for a digit of another script.
func decimal(r rune) (digit rune, ok bool) {
	const first, hanFirst, hanLast, hangulFirst, hangulLast = 0x660, 0x3000, 0x9fff, 0xac00, 0xd7a3
	if r < first || hanFirst <= r && r <= hanLast || hangulFirst <= r && r <= hangulLast || !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	value := 0
	for unicode.Is(unicode.Nd, r-1) && value < 9 { // the digits of a script follow each other, from zero on
		r, value = r-1, value+1
	}
	return '0' + rune(value), true
}

// isEmoji reports whether a character is a picture, which is a term by itself. Skin tones are not.
func isEmoji(r rune) bool {
	const first, last, symbolsFirst, symbolsLast = 0x1f000, 0x1faff, 0x2600, 0x27bf
	return (first <= r && r <= last || symbolsFirst <= r && r <= symbolsLast) && unicode.Is(unicode.So, r)
}

// letter adds a lower case letter or a digit.
func (c *Cutter) letter(r rune) {
	if len(c.pending) > 0 {
		c.endRun()
	}
	if c.runes >= wordRunesMax {
		return
	}
	c.runes++
	if r < utf8.RuneSelf {
		c.word = append(c.word, byte(r)) //nolint:gosec // ASCII
		return
	}
	if lower, _ := cyrillic(r); lower != r {
		if plain, ok := spellings[r]; ok {
			c.word = append(c.word, plain...)
			return
		}
	}
	c.word = utf8.AppendRune(c.word, r)
}

// spellings maps letters that do not decompose into an accent and a letter to their usual spelling.
var spellings = map[rune]string{
	'æ': "ae", 'œ': "oe", 'ø': "o", 'ß': "ss", 'đ': "d", 'ð': "d", 'ħ': "h", 'ı': "i", 'ł': "l", 'ŋ': "n", 'þ': "th", 'ŧ': "t",
	'ς': "σ", 'ٱ': "ا", 'ى': "ي", 'ی': "ي", 'ک': "ك",
}

// mark adds an accent, a vowel sign or a tone to the previous character. It omits marks that people
// do not type.
func (c *Cutter) mark(base, mark rune) {
	switch {
	case len(c.pending) > 0:
		c.pending = utf8.AppendRune(c.pending, mark)
		c.hasMarks = true
		return
	case len(c.word) == 0:
		return
	case base < utf8.RuneSelf || unicode.In(base, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew):
		return
	case unicode.Is(unicode.Cyrillic, base) && mark != breve:
		return // only the breve makes another letter of и, unlike a stress or the dots of ё
	}
	if c.runes < wordRunesMax {
		c.word = utf8.AppendRune(c.word, mark)
		c.runes++
		c.hasMarks = true
	}
}

// pair adds a character of a script that is cut into pairs.
func (c *Cutter) pair(r rune) {
	c.endWord()
	c.endPair()
	c.before, c.pending = c.pending, c.before[:0]
	c.pending = utf8.AppendRune(c.pending, r)
}

// endPair adds the pair of the last two characters, and beside it the first of them.
func (c *Cutter) endPair() {
	if len(c.before) > 0 && len(c.pending) > 0 {
		first := len(c.before)
		c.before = append(c.before, c.pending...)
		if c.add(c.before, c.hasMarks); !c.Whole && c.left > 0 {
			c.extraTerms = append(c.extraTerms, PlacedTerm{Term: norm.NFC.String(string(c.before[:first])), At: c.at})
		}
	}
}

func (c *Cutter) end() {
	c.endWord()
	c.endRun()
}

func (c *Cutter) endWord() {
	if len(c.word) > 0 {
		c.add(c.word, c.hasMarks)
		c.word, c.runes, c.hasMarks = c.word[:0], 0, false
	}
}

func (c *Cutter) endRun() {
	isSingle := len(c.before) == 0
	c.endPair()
	if len(c.pending) > 0 {
		if isSingle || !c.Whole {
			c.add(c.pending, c.hasMarks)
		} else {
			c.at++ // leave its position free
		}
	}
	c.hasMarks = false
	c.before, c.pending = c.before[:0], c.pending[:0]
}

// add appends a term, in composed form if compose is set.
func (c *Cutter) add(term []byte, compose bool) {
	if c.left <= 0 || len(c.out)+len(term) > textBytesMax {
		return
	}
	c.left--
	c.at++
	c.positions = append(c.positions, c.at)
	if len(c.out) > 0 {
		c.out = append(c.out, ' ')
	}
	if !compose {
		c.out = append(c.out, term...)
		return
	}
	c.out = norm.NFC.Append(c.out, term...)
}

// isPaired reports whether a character is cut into pairs, as in Hangul and scripts without blanks.
func isPaired(r rune) bool {
	const (
		first       = 0xe00 // Thai, the lowest of these scripts
		prolong     = 0x30fc
		hanFirst    = 0x4e00
		hanLast     = 0x9fff
		hangulFirst = 0xac00
		hangulLast  = 0xd7a3
	)
	switch {
	case r < first:
		return false
	case hanFirst <= r && r <= hanLast, hangulFirst <= r && r <= hangulLast, r == prolong:
		return true
	}
	return unicode.In(
		r, unicode.Hiragana, unicode.Katakana, unicode.Han, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	)
}
