package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxProseBytes caps Page.Prose, but for a line more: several hundred bytes of each part
	// suffice to tell its language.
	maxProseBytes = 8 << 10
	// pieceLeast is how much of a block is taken at once, in bytes, and up to twice as much.
	pieceLeast = 128
	// proseHead is how much of a block shows whether it is prose.
	proseHead = 512
)

// sample takes as much of each block of prose as the block is of all prose, spread over
// the page: a language of the page gets its share of the sample.
type sample struct {
	all    int // bytes of prose
	credit int // what was not taken so far of what is due
	// drawn varies how much is due before some is taken: languages may alternate as regularly
	// as the pieces would.
	drawn uint32
}

// weigh marks a block of the main text that is prose, and counts it.
func (m *builder) weigh(text string, bl *block) {
	bl.place &^= ofProse
	if bl.place&(inHeading|inPre) == 0 && isProse(prefix(strings.TrimSpace(text[bl.start:bl.end]), proseHead), *bl) {
		bl.place |= ofProse
		m.sample.all += bl.end - bl.start
	}
}

// of is the part of a block that is taken; it may be empty.
func (s *sample) of(text string) string {
	if s.all <= maxProseBytes {
		return text
	}
	s.credit += len(text)
	due := s.credit * maxProseBytes / s.all
	if due < pieceLeast+int(s.drawn>>16)%pieceLeast {
		return ""
	}
	s.drawn = s.drawn*1_664_525 + 1_013_904_223
	piece := cutWords(text, due)
	s.credit -= len(piece) * s.all / maxProseBytes
	return piece
}

// isProse reports whether a block is sentences, which show the language.
func isProse(text string, bl block) bool {
	const (
		wordsLeast = 8
		linksMost  = 3 // one byte of so many
	)
	if bl.code*2 > bl.end-bl.start || bl.links*linksMost > bl.end-bl.start || words(text) < wordsLeast {
		return false
	}
	return sentences(text)
}

// sentences reports whether a text reads like sentences rather than like code, tables
// or lists of names: most of it letters, and few signs that programs are made of.
func sentences(text string) bool {
	letters, digits, signs, all := 0, 0, 0, 0
	for _, r := range text {
		switch {
		case r == ' ' || r == '\n':
			continue
		case 'a' <= r|0x20 && r|0x20 <= 'z', r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsMark(r)):
			letters++
		case '0' <= r && r <= '9':
			digits++
		case strings.ContainsRune("{}()[]<>=_/\\|&*#$@;~^+`", r):
			signs++
		}
		all++
	}
	const lettersOf, signsOf, digitsOf = 75, 6, 12 // percent
	return letters*100 >= all*lettersOf && signs*100 <= all*signsOf && digits*100 <= all*digitsOf
}
