package terms

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// wordRunesMax is how much of a word counts, in characters.
	wordRunesMax = 40
	// textBytesMax is how long the terms of a text may be together, in bytes: a tsvector
	// holds 1 MiB, positions included.
	textBytesMax = 600 << 10
	// foreignMax is how much is normalized at once, in bytes. A piece only ends
	// within a word if that is longer than any word may be.
	foreignMax = 4 << 10
)

// Cutter cuts texts into terms. It keeps its memory for the next text; one is for one
// goroutine. The zero value is ready.
type Cutter struct {
	// Whole leaves out the single character at the end of a run without blanks, if
	// it is part of a pair: a query need not match at the end of a run.
	Whole bool
	out   []byte
	left  int // terms that may still be added
	// at is the place of the last term, places those of all of them.
	at     int
	places []int
	// side are further terms that have the place of another one.
	side  []Placed
	joint joint

	word  []byte
	runes int // in word
	// marked is set if word, or the run, has marks that may be composed with a letter.
	marked bool
	// The last two characters of a run without blanks, with their marks.
	before, pending []byte
}

// Cut appends the terms of a text to dst, a blank between two, and returns how many they
// are: at most limit. What is no UTF-8 separates words.
func (c *Cutter) Cut(dst []byte, text string, limit int) ([]byte, int) {
	if dst == nil { // the terms of most texts take as much as the text
		dst = make([]byte, 0, min(len(text), textBytesMax))
	}
	c.out, c.left = dst, limit
	c.word, c.runes, c.marked, c.before, c.pending = c.word[:0], 0, false, c.before[:0], c.pending[:0]
	c.at, c.places, c.side, c.joint = 0, c.places[:0], c.side[:0], joint{}
	for i := 0; i < len(text) && c.left > 0; {
		b := text[i]
		switch {
		case plainAlphanumeric(b):
			if j := &c.joint; !j.begun && !j.spoiled {
				j.begun, j.from, j.at = true, i, c.at+1
			}
			c.letter(rune(b | 0x20)) // which leaves digits and lower case
			i++
		case b < utf8.RuneSelf:
			c.end()
			c.join(text, i)
			i++
		default:
			c.joint = joint{spoiled: true}
			i += c.foreign(text[i:])
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

// foreign takes what follows that is not ASCII, and returns how much that is. Letters
// are taken apart from their accents.
func (c *Cutter) foreign(s string) int {
	if n := c.plain(s); n > 0 {
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
		} else if paired(r) && !unicode.In(r, unicode.Mn, unicode.Mc) {
			c.pair(r)
			base = r
		} else if apart := norm.NFD.PropertiesString(composed[i:]).Decomposition(); apart != nil {
			for _, part := range string(apart) {
				base = c.character(base, part)
			}
		} else {
			base = c.character(base, r)
		}
	}
	return end
}

// plain takes the letters that a text begins with as far as nothing but themselves decides
// which terms they make: they are in plainLetters, and no mark follows. It returns how
// much that is.
func (c *Cutter) plain(s string) int {
	end := 0
	letter, size := plainLetter(s)
	for letter != 0 {
		rest := s[end+size:]
		next, nextSize := plainLetter(rest)
		if next == 0 && rest != "" && rest[0] >= utf8.RuneSelf {
			return end // it may be a mark
		}
		if base, isShort := short(letter); !isShort {
			c.letter(letter)
		} else if c.runes+2 > wordRunesMax {
			c.letter(base)
		} else {
			c.letter(letter)
			c.runes++ // its breve counts
		}
		end += size
		letter, size = next, nextSize
	}
	return end
}

// plainLetter is what plainLetters has of the character that a text begins with.
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

// Latin-1's letters are the first, and those of Cyrillic that are used today the last.
const plainFirst, plainLast = 0xc0, 0x45f

// plainLetters is the lower case, without what is left out of it, of a letter from
// plainFirst on; 0 of what is no letter, or is another in compatibility form.
var plainLetters = func() (letters [plainLast - plainFirst + 1]rune) {
	for r := rune(plainFirst); r <= plainLast; r++ {
		text := string(r)
		if !unicode.IsLetter(r) || !norm.NFKC.IsNormalString(text) {
			continue
		}
		letter := unicode.ToLower(r)
		if _, isShort := short(letter); !isShort {
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(text))
			letter = unicode.ToLower(base)
		}
		letters[r-plainFirst] = letter
	}
	return letters
}()

// short is the letter that has a breve to be another, of those that plainLetters has.
func short(letter rune) (base rune, is bool) {
	switch letter {
	case 'й':
		return 'и', true
	case 'ў':
		return 'у', true
	}
	return 0, false
}

// character takes a character, and returns which one marks that follow belong to.
func (c *Cutter) character(base, r rune) rune {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Mc):
		c.mark(base, r)
		return base
	case r != zeroWidthSpace && unicode.Is(unicode.Cf, r), r == tatweel:
		return base // joiners, soft hyphens and the stretching of Arabic are no part of a word
	case r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsNumber(r):
		c.end()
		return 0
	default:
		c.letter(unicode.ToLower(r))
	}
	return r
}

// cyrillic is the lower case of a letter that has no accent, of those that most texts in
// Cyrillic are made of: a short way past Unicode's tables.
func cyrillic(r rune) (lower rune, is bool) {
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
	breve          = 0x306
	tatweel        = 0x640
	zeroWidthSpace = 0x200b
)

// letter adds a lower case letter, or a digit.
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
		if plain, ok := spelled[r]; ok {
			c.word = append(c.word, plain...)
			return
		}
	}
	c.word = utf8.AppendRune(c.word, r)
}

// spelled are letters that are no other with an accent, as they are typed without.
var spelled = map[rune]string{
	'æ': "ae", 'œ': "oe", 'ø': "o", 'ß': "ss", 'đ': "d", 'ð': "d", 'ħ': "h", 'ı': "i", 'ł': "l", 'ŋ': "n", 'þ': "th", 'ŧ': "t",
	'ς': "σ", 'ٱ': "ا", 'ى': "ي",
}

// mark adds an accent, a vowel sign or a tone to the character before it. Marks that
// people leave out when they type a word are left out.
func (c *Cutter) mark(base, mark rune) {
	switch {
	case len(c.pending) > 0:
		c.pending = utf8.AppendRune(c.pending, mark)
		c.marked = true
		return
	case len(c.word) == 0:
		return
	case base < utf8.RuneSelf || unicode.In(base, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew):
		return
	case unicode.Is(unicode.Cyrillic, base) && mark != breve:
		return // the breve makes another letter of и; a stress does not, nor the dots of ё
	}
	if c.runes < wordRunesMax {
		c.word = utf8.AppendRune(c.word, mark)
		c.runes++
		c.marked = true
	}
}

// pair adds a character of a script that is cut into pairs.
func (c *Cutter) pair(r rune) {
	c.endWord()
	c.endPair()
	c.before, c.pending = c.pending, c.before[:0]
	c.pending = utf8.AppendRune(c.pending, r)
}

// endPair adds the pair that the last two characters are, and beside it the first of them.
func (c *Cutter) endPair() {
	if len(c.before) > 0 && len(c.pending) > 0 {
		first := len(c.before)
		c.before = append(c.before, c.pending...)
		if c.add(c.before, c.marked); !c.Whole && c.left > 0 {
			c.side = append(c.side, Placed{Term: norm.NFC.String(string(c.before[:first])), At: c.at})
		}
	}
}

func (c *Cutter) end() {
	c.endWord()
	c.endRun()
}

func (c *Cutter) endWord() {
	if len(c.word) > 0 {
		c.add(c.word, c.marked)
		c.word, c.runes, c.marked = c.word[:0], 0, false
	}
}

func (c *Cutter) endRun() {
	alone := len(c.before) == 0
	c.endPair()
	if len(c.pending) > 0 {
		if alone || !c.Whole {
			c.add(c.pending, c.marked)
		} else {
			c.at++ // its place stays free
		}
	}
	c.marked = false
	c.before, c.pending = c.before[:0], c.pending[:0]
}

// add appends a term, composed if it may have to be.
func (c *Cutter) add(term []byte, compose bool) {
	if c.left <= 0 || len(c.out)+len(term) > textBytesMax {
		return
	}
	c.left--
	c.at++
	c.places = append(c.places, c.at)
	if len(c.out) > 0 {
		c.out = append(c.out, ' ')
	}
	if !compose {
		c.out = append(c.out, term...)
		return
	}
	c.out = norm.NFC.Append(c.out, term...)
}

// paired reports whether a character is cut into pairs: of scripts that are written
// without blanks, and Hangul.
func paired(r rune) bool {
	const (
		first       = 0xe00 // that of Thai, the lowest of them
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
