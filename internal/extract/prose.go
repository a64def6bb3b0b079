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
	// pieceLeast is the least sample of a block, in bytes. A sample is up to twice as large.
	pieceLeast = 128
	// proseHead is the length of the sample that decides whether a block is prose.
	proseHead = 512
)

// sample takes a share of each block of prose in proportion to its length. Each language of the
// page thus gets its share of the sample.
type sample struct {
	all    int // bytes of prose
	credit int // bytes of prose not sampled yet
	// drawn varies the size of the samples, because languages may alternate regularly.
	drawn uint32
}

// weigh marks and counts a block of the main text that is prose.
func (m *builder) weigh(text string, bl *block) {
	bl.place &^= ofProse
	if bl.place&(inHeading|inPre) == 0 && isProse(prefix(strings.TrimSpace(text[bl.start:bl.end]), proseHead), *bl) {
		bl.place |= ofProse
		m.sample.all += bl.end - bl.start
	}
}

// of returns the sample of a block, which may be empty.
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
	piece := crawl.CutWords(text, due)
	s.credit -= len(piece) * s.all / maxProseBytes
	return piece
}

// isProse reports whether a block consists of sentences, which show the language.
func isProse(text string, bl block) bool {
	const (
		wordsLeast = 8
		linksMost  = 3 // one byte in so many
	)
	if bl.code*2 > bl.end-bl.start || bl.links*linksMost > bl.end-bl.start || words(text) < wordsLeast {
		return false
	}
	return sentences(text)
}

// sentences reports whether a text consists of sentences rather than code, tables or lists of
// names: mostly letters, and few signs of program code.
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
