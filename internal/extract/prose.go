package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// maxProseBytes caps Page.Prose, except for one line. Hundreds of bytes identify a language.
	maxProseBytes = 8 << 10
	// minPieceBytes is the least sample of a block, in bytes. A sample is up to twice as large.
	minPieceBytes = 128
	// proseHeadBytes is the length of the sample that decides whether a block is prose.
	proseHeadBytes = 512
)

// sample takes a share of each block of prose in proportion to its length. Each language of the
// page thus gets its share of the sample.
type sample struct {
	total  int // bytes of prose
	credit int // bytes of prose not sampled yet
	// sequence varies the size of the samples, because languages may alternate regularly.
	sequence uint32
}

// markProse marks and counts a block of the main text that is prose.
func (m *builder) markProse(text string, bl *block) {
	bl.place &^= inProse
	if bl.place&(inHeading|inPre) == 0 && isProse(prefix(strings.TrimSpace(text[bl.start:bl.end]), proseHeadBytes), *bl) {
		bl.place |= inProse
		m.sample.total += bl.end - bl.start
	}
}

// draw returns the sample of a block, which may be empty.
func (s *sample) draw(text string) string {
	if s.total <= maxProseBytes {
		return text
	}
	s.credit += len(text)
	due := s.credit * maxProseBytes / s.total
	if due < minPieceBytes+int(s.sequence>>16)%minPieceBytes {
		return ""
	}
	s.sequence = s.sequence*1_664_525 + 1_013_904_223
	piece := crawl.CutWords(text, due)
	s.credit -= len(piece) * s.total / maxProseBytes
	return piece
}

// isProse reports whether a block consists of sentences, which show the language.
func isProse(text string, bl block) bool {
	const (
		minWords = 8
		maxLinks = 3 // one byte in so many
	)
	if bl.code*2 > bl.end-bl.start || bl.links*maxLinks > bl.end-bl.start || countWords(text) < minWords {
		return false
	}
	return areSentences(text)
}

// areSentences reports whether a text consists of sentences rather than code, tables or lists of
// names: mostly letters, and few signs of program code.
func areSentences(text string) bool {
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
	const minLetters, maxSigns, maxDigits = 75, 6, 12 // percent
	return letters*100 >= all*minLetters && signs*100 <= all*maxSigns && digits*100 <= all*maxDigits
}
